"""Which Bot API calls a follower may make through the leader, and what its markers mean.

A follower acts in its own thread. Edits and deletions need a message that this very follower is
recorded to own. Everything not named here is refused, getUpdates above all.
"""

from collections.abc import Mapping
from typing import Any

from messages.bus_parts import Target

AGGREGATE_MARKER = "__piTelegramAggregateDelivery"
CROSS_TARGET_MARKER = "__piTelegramCrossTargetDelivery"

ANYWHERE = frozenset({"answerCallbackQuery", "answerGuestQuery", "getMe"})
OWN_MESSAGE = frozenset({"deleteMessage", "editMessageText", "editMessageReplyMarkup"})
OWN_TARGET = frozenset(
    {
        "closeForumTopic",
        "deleteForumTopic",
        "editForumTopic",
        "sendMessage",
        "sendMessageDraft",
        "sendRichMessage",
        "sendRichMessageDraft",
    }
)
OWN_TARGET_MULTIPART = frozenset(
    {"sendAudio", "sendDocument", "sendMediaGroup", "sendPhoto", "sendRichMessage", "sendVoice"}
)
RECORDED = frozenset(
    {"sendMessage", "sendRichMessage", "sendPhoto", "sendDocument", "sendVoice", "sendMediaGroup"}
)
"""Successful calls whose messages become the follower's own."""


def whole_number(value: Any) -> int | None:
    """An id as a number or as its decimal text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        return int(value)
    return None


def own_message_of(method: str, args: list[Any]) -> tuple[int, int] | None:
    """(chat, message) whose ownership decides about the call; None where it does not matter."""
    if method != "call" or len(args) < 2 or not isinstance(args[0], str):
        return None
    if args[0] not in OWN_MESSAGE:
        return None
    body = args[1] if isinstance(args[1], Mapping) else {}
    chat_id, message_id = whole_number(body.get("chat_id")), whole_number(body.get("message_id"))
    return None if chat_id is None or message_id is None else (chat_id, message_id)


def allows(method: str, args: list[Any], target: Target | None, owns_message: bool) -> bool:
    """Whether a follower with this target may make the call; `owns_message`: see `own_message_of`."""
    if method == "downloadFile":
        return True
    if method not in ("call", "callMultipart") or not args or not isinstance(args[0], str):
        return False
    body = args[1] if len(args) > 1 and isinstance(args[1], Mapping) else {}
    if method == "callMultipart":
        return args[0] in OWN_TARGET_MULTIPART and _is_own_target(body, target)
    return _allows_call(args[0], body, target, owns_message)


def _allows_call(
    name: str,
    body: Mapping[str, Any],
    target: Target | None,
    owns_message: bool,
) -> bool:
    if name in ANYWHERE:
        return True
    if name == "setMyCommands":
        return _are_commands(body.get("commands"))
    if target is None:
        return False
    chat_id = whole_number(body.get("chat_id"))
    thread_id = whole_number(body.get("message_thread_id"))
    if chat_id != target.chat_id:
        return False
    if name == "sendChatAction":
        return True
    if name == "sendMessage" and body.get(AGGREGATE_MARKER) is True:
        return "message_thread_id" not in body
    if name in ("sendMessage", "sendRichMessage") and body.get(CROSS_TARGET_MARKER) is True:
        if "message_thread_id" not in body:
            return target.thread_id is not None
        return thread_id is not None and thread_id != target.thread_id
    if name in OWN_MESSAGE:
        return owns_message and whole_number(body.get("message_id")) is not None
    return name in OWN_TARGET and _is_own_target(body, target)


def _is_own_target(body: Mapping[str, Any], target: Target | None) -> bool:
    if target is None or whole_number(body.get("chat_id")) != target.chat_id:
        return False
    if target.thread_id is None:
        return True
    return whole_number(body.get("message_thread_id")) == target.thread_id


def _are_commands(commands: Any) -> bool:
    return isinstance(commands, list) and all(
        isinstance(item, Mapping)
        and isinstance(item.get("command"), str)
        and isinstance(item.get("description"), str)
        for item in commands
    )


def without_markers(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body for Telegram; the very same object when it carries no marker."""
    if AGGREGATE_MARKER not in body and CROSS_TARGET_MARKER not in body:
        return body
    return {
        name: value
        for name, value in body.items()
        if name not in (AGGREGATE_MARKER, CROSS_TARGET_MARKER)
    }


def sent_messages(
    method: str, body: Mapping[str, Any], result: Any, target: Target
) -> tuple[tuple[int, int, int | None], ...]:
    """(chat, message, thread) of every message that a successful call made."""
    if method not in RECORDED:
        return ()
    chat_id = whole_number(body.get("chat_id"))
    thread_id = whole_number(body.get("message_thread_id"))
    results = result if isinstance(result, list) else [result]
    return tuple(
        (
            target.chat_id if chat_id is None else chat_id,
            item["message_id"],
            target.thread_id if thread_id is None else thread_id,
        )
        for item in results
        if isinstance(item, Mapping) and isinstance(item.get("message_id"), int)
    )


STALE_EVIDENCE = (
    "topic_id_invalid",
    "message thread not found",
    "thread not found",
    "topic not found",
    "topic deleted",
    "topic_deleted",
    "topic closed",
    "thread closed",
    "forum topic closed",
    "message thread closed",
)


def is_stale_evidence(description: str, error_code: int | None) -> bool:
    """Whether Telegram says that the thread itself is gone; only a 400 can say that."""
    if error_code not in (None, 400):
        return False
    lowered = description.lower()
    return any(evidence in lowered for evidence in STALE_EVIDENCE)


def priority_of(method: str) -> str:
    """The rank of a follower's call in the rate budget of its chat."""
    if method == "sendChatAction":
        return "typing"
    if method in ("editMessageText", "editMessageReplyMarkup"):
        return "edit"
    if method in ("answerCallbackQuery", "deleteMessage", "setMyCommands", "getMe"):
        return "control"
    return "final"
