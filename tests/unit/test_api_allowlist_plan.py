"""Which calls a follower may make (leader.md 8.2 and 8.3)."""

from typing import Any

import pytest

from actors.plans.api_allowlist import (
    AGGREGATE_MARKER,
    CROSS_TARGET_MARKER,
    allows,
    is_stale_evidence,
    own_message_of,
    sent_messages,
    without_markers,
)
from messages.bus_parts import Target

OWN = Target(chat_id=1, thread_id=5)
PLAIN = Target(chat_id=1)


def call(name: str, **body: Any) -> list[Any]:
    """The arguments of `call`."""
    return [name, body]


CASES: dict[str, tuple[str, list[Any], Target | None, bool, bool]] = {
    "own thread": ("call", call("sendMessage", chat_id=1, message_thread_id=5), OWN, False, True),
    "as decimal text": (
        "call", call("sendMessage", chat_id="1", message_thread_id="5"), OWN, False, True,
    ),
    "other thread": ("call", call("sendMessage", chat_id=1, message_thread_id=6), OWN, False, False),
    "no thread": ("call", call("sendMessage", chat_id=1), OWN, False, False),
    "other chat": ("call", call("sendMessage", chat_id=2, message_thread_id=5), OWN, False, False),
    "marked for another thread": (
        "call", call("sendMessage", chat_id=1, message_thread_id=6, **{CROSS_TARGET_MARKER: True}),
        OWN, False, True,
    ),
    "marked but own thread": (
        "call", call("sendMessage", chat_id=1, message_thread_id=5, **{CROSS_TARGET_MARKER: True}),
        OWN, False, False,
    ),
    "marked but other chat": (
        "call", call("sendMessage", chat_id=2, message_thread_id=6, **{CROSS_TARGET_MARKER: True}),
        OWN, False, False,
    ),
    "marker that is not true": (
        "call", call("sendMessage", chat_id=1, message_thread_id=6, **{CROSS_TARGET_MARKER: 1}),
        OWN, False, False,
    ),
    "aggregate": (
        "call", call("sendMessage", chat_id=1, **{AGGREGATE_MARKER: True}), OWN, False, True,
    ),
    "aggregate with a thread": (
        "call", call("sendMessage", chat_id=1, message_thread_id=5, **{AGGREGATE_MARKER: True}),
        OWN, False, False,
    ),
    "edit of an own message": (
        "call", call("editMessageText", chat_id=1, message_id=3), OWN, True, True,
    ),
    "edit of another's": ("call", call("editMessageText", chat_id=1, message_id=3), OWN, False, False),
    "getUpdates": ("call", call("getUpdates"), OWN, False, False),
    "getMe": ("call", call("getMe"), None, False, True),
    "commands": (
        "call", call("setMyCommands", commands=[{"command": "a", "description": "b"}]), OWN, False, True,
    ),
    "numeric description": (
        "call", call("setMyCommands", commands=[{"command": "a", "description": 1}]), OWN, False, False,
    ),
    "photo by call": ("call", call("sendPhoto", chat_id=1, message_thread_id=5), OWN, False, False),
    "photo by upload": (
        "callMultipart", call("sendPhoto", chat_id=1, message_thread_id=5), OWN, False, True,
    ),
    "without thread any thread": (
        "call", call("sendMessage", chat_id=1, message_thread_id=9), PLAIN, False, True,
    ),
    "without target nothing": ("call", call("sendMessage", chat_id=1), None, False, False),
    "typing anywhere in the chat": ("call", call("sendChatAction", chat_id=1), OWN, False, True),
    "download": ("downloadFile", [], None, False, True),
    "other top level": ("eval", call("sendMessage", chat_id=1), OWN, True, False),
    "no arguments": ("call", [], OWN, True, False),
    "name is no text": ("call", [["sendMessage"], {}], OWN, True, False),
    "truth is no id": ("call", call("sendMessage", chat_id=True), Target(chat_id=1), False, False),
}


@pytest.mark.case("L132", "L133", "L134", "L136", "L137", "L138")
@pytest.mark.parametrize(("method", "args", "target", "owns", "allowed"), CASES.values(), ids=CASES)
def test_allowlist(method: str, args: list[Any], target: Target | None, owns: bool, allowed: bool) -> None:
    """The table of what is allowed."""
    assert allows(method, args, target, owns) is allowed


def test_only_edits_and_deletions_need_an_own_message() -> None:
    """The registry looks the owner up only where it matters."""
    assert own_message_of("call", call("deleteMessage", chat_id="1", message_id=3)) == (1, 3)
    assert own_message_of("call", call("sendMessage", chat_id=1)) is None
    assert own_message_of("call", ["deleteMessage", None]) is None


@pytest.mark.case("L132")
def test_markers_never_reach_telegram() -> None:
    """A body without markers stays the very same object."""
    body = {"chat_id": 1, CROSS_TARGET_MARKER: True}
    assert without_markers(body) == {"chat_id": 1}
    plain = {"chat_id": 1}
    assert without_markers(plain) is plain


@pytest.mark.case("L123", "L124")
def test_messages_of_a_successful_call() -> None:
    """Each message of an album, with ids as numbers; edits and drafts record nothing."""
    album = [{"message_id": 1}, {"message_id": 2}, {"message_id": 3}]
    made = sent_messages("sendMediaGroup", {"chat_id": "1", "message_thread_id": "5"}, album, OWN)
    assert made == ((1, 1, 5), (1, 2, 5), (1, 3, 5))
    assert sent_messages("sendMessage", {}, {"message_id": 4}, OWN) == ((1, 4, 5),)
    assert sent_messages("editMessageText", {}, {"message_id": 4}, OWN) == ()
    assert sent_messages("sendAudio", {}, {"message_id": 4}, OWN) == ()


@pytest.mark.parametrize(
    ("text", "code", "stale"),
    [
        ("Bad Request: message thread not found", 400, True),
        ("Topic_id_invalid", None, True),
        ("Bad Request: TOPIC_DELETED", 400, True),
        ("Bad Request: chat not found", 400, False),
        ("message thread not found", 502, False),
    ],
)
def test_stale_evidence(text: str, code: int | None, stale: bool) -> None:
    """Only Telegram's own 400 says that a thread is gone."""
    assert is_stale_evidence(text, code) is stale
