"""Whose is this update? Pure: an update and what is known, in; where it belongs, out.

Authority is by user id and comes before everything else. A thread that no binding holds is never guessed
and never adopted: the update waits for its owner to choose.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

FORWARD_KINDS: Mapping[str, str] = {
    "message": "leader.forwardMessage",
    "edited_message": "leader.forwardEditedMessage",
    "callback_query": "leader.forwardCallback",
    "message_reaction": "leader.forwardReaction",
}

CHOICE_PREFIX = "c:"
"""Callback data of a chooser's buttons: `c:<update id>:<slot>`, or `-` for dropping it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What routing may know: the owner, the chat, and which binding holds what."""

    bot_id: int
    owner_id: int
    chat_id: int
    by_thread: Mapping[int, str]
    by_message: Mapping[int, str]
    sole_binding: str | None = None
    held_before_ms: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Routed:
    """One update with its place; `fate` is pending, chooser, held or done, `reason` says why."""

    update_id: int
    kind: str
    fate: str
    reason: str
    chat_id: int | None = None
    thread_id: int | None = None
    message_id: int | None = None
    from_id: int | None = None
    binding_key: str | None = None


def kind_of(update: Mapping[str, Any]) -> str:
    """The kind of an update, `other` for what is not ours to handle."""
    return next((kind for kind in FORWARD_KINDS if isinstance(update.get(kind), dict)), "other")


def message_of(update: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message an update is or is about; empty where there is none."""
    carrier = update.get(kind_of(update)) or {}
    if kind_of(update) == "callback_query":
        return carrier.get("message") or {}
    return carrier


def sender_of(update: Mapping[str, Any]) -> int | None:
    """The user whose doing an update is."""
    kind = kind_of(update)
    carrier = update.get(kind) or {}
    sender = carrier.get("user" if kind == "message_reaction" else "from") or {}
    found = sender.get("id")
    return found if isinstance(found, int) else None


def messages_referred_to(update: Mapping[str, Any]) -> tuple[int, ...]:
    """Ids of messages whose owner would own this update too: its own, and a quoted one."""
    message = message_of(update)
    quoted = message.get("reply_to_message") or {}
    return tuple(
        found
        for found in (message.get("message_id"), quoted.get("message_id"))
        if isinstance(found, int)
    )


def thread_of(message: Mapping[str, Any]) -> int | None:
    """The topic of a message: a reply chain outside topics carries an id as well, General carries 1."""
    thread_id = message.get("message_thread_id")
    if not isinstance(thread_id, int) or thread_id == 1:
        return None
    return thread_id if message.get("is_topic_message", True) else None


def route(update: Mapping[str, Any], known: Known) -> Routed:
    """Decide where one update belongs."""
    kind = kind_of(update)
    message = message_of(update)
    carrier = update.get(kind) or {}
    sender = carrier.get("user" if kind == "message_reaction" else "from") or {}
    place = Routed(
        update_id=update["update_id"],
        kind=kind,
        fate="done",
        reason="",
        chat_id=(message.get("chat") or {}).get("id"),
        thread_id=thread_of(message),
        message_id=message.get("message_id"),
        from_id=sender.get("id"),
    )
    if kind == "other":
        return dataclasses.replace(place, reason="not-ours")
    if place.from_id == known.bot_id:
        return dataclasses.replace(place, reason="own-service-message")
    if place.from_id != known.owner_id or sender.get("is_bot"):
        return dataclasses.replace(place, reason="stranger")
    if place.chat_id != known.chat_id:
        return dataclasses.replace(place, reason="other-chat")
    if kind == "message" and _is_service(message):
        return dataclasses.replace(place, reason="service-message")
    if kind == "callback_query" and str(carrier.get("data", "")).startswith(CHOICE_PREFIX):
        return dataclasses.replace(place, reason="choice")
    binding_key = _owner_of(update, place, known)
    if _is_old(message, kind, known):
        return dataclasses.replace(
            place, fate="held", reason="before-first-start", binding_key=binding_key
        )
    if binding_key is not None:
        return dataclasses.replace(
            place, fate="pending", reason="", binding_key=binding_key
        )
    if kind == "message":
        return dataclasses.replace(place, fate="chooser", reason="")
    return dataclasses.replace(place, reason="no-owner")


def _owner_of(update: Mapping[str, Any], place: Routed, known: Known) -> str | None:
    if place.thread_id is not None and place.thread_id in known.by_thread:
        return known.by_thread[place.thread_id]
    quoted = message_of(update).get("reply_to_message") or {}
    if thread_of(quoted) in known.by_thread:
        # What the bot said there by itself, an announcement say, has no owner but its thread.
        return known.by_thread[quoted["message_thread_id"]]
    for message_id in messages_referred_to(update):
        if message_id in known.by_message:
            return known.by_message[message_id]
    return known.sole_binding if place.thread_id is None else None


def _is_service(message: Mapping[str, Any]) -> bool:
    return any(name.startswith(("forum_topic_", "general_forum_topic_")) for name in message)


def _is_old(message: Mapping[str, Any], kind: str, known: Known) -> bool:
    if known.held_before_ms is None or kind not in ("message", "edited_message"):
        return False
    sent = message.get("edit_date") or message.get("date") or 0
    # Telegram tells whole seconds, so the second in which we started is not older than we are.
    return (sent + 1) * 1000 <= known.held_before_ms


def created_topic(update: Mapping[str, Any], bot_id: int) -> tuple[int, int, str] | None:
    """(chat, thread, name) when the update reports a topic that the bot itself created."""
    message = update.get("message") or {}
    created = message.get("forum_topic_created")
    thread_id = message.get("message_thread_id") or message.get("message_id")
    chat_id = (message.get("chat") or {}).get("id")
    if not isinstance(created, dict) or (message.get("from") or {}).get("id") != bot_id:
        return None
    if not isinstance(thread_id, int) or not isinstance(chat_id, int):
        return None
    return chat_id, thread_id, str(created.get("name", ""))
