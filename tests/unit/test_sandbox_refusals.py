"""Every refusal about threads, messages, buttons and commands, in Telegram's words."""

import pytest

from actors.sandbox import refusals
from actors.sandbox.errors import EDIT_NOT_MODIFIED, QUERY_TOO_OLD, BotApiError
from actors.sandbox.reactions import reaction_refusal
from stores.practice_chat import Callback, Message, Thread

BOT, CHAT, NOW = 77, 1001, 10**12
HOURS = 3600 * 1000
LIVE = Thread(5, CHAT, "t", 0, None, NOW)
GONE = Thread(5, CHAT, "t", 0, None, NOW, deleted_at=NOW)
ELSEWHERE = Thread(5, 2, "t", 0, None, NOW)


def message(**more):
    return Message(**{"message_id": 9, "chat_id": CHAT, "thread_id": None, "from_id": BOT,
                      "sent_at": NOW, "text": "x", **more})


def told(refusal):
    return None if refusal is None else refusal.description.removeprefix("Bad Request: ")


@pytest.mark.parametrize(
    ("thread", "send", "change"),
    [
        (LIVE, None, None),
        (GONE, "message thread not found", "TOPIC_ID_INVALID"),
        (ELSEWHERE, "message thread not found", "TOPIC_ID_INVALID"),
        (None, "message thread not found", "TOPIC_ID_INVALID"),
    ],
)
def test_threads(thread, send, change):
    assert told(refusals.thread_refusal(thread, CHAT)) == send
    assert told(refusals.thread_change_refusal(True, thread, CHAT)) == change
    assert told(refusals.thread_change_refusal(False, thread, CHAT)) == "the chat is not a forum"


@pytest.mark.parametrize(
    ("name", "clean"),
    [("a", "a"), ("  a \n b ", "a b"), (" \t", ""), ("x" * 129, "x" * 128)],
)
def test_thread_names_are_cleaned_and_cut(name, clean):
    assert refusals.clean_thread_name(name) == clean


@pytest.mark.parametrize(
    ("target", "edit", "delete"),
    [
        (message(), None, None),
        (None, "message to edit not found", "message to delete not found"),
        (message(deleted_at=NOW), "message to edit not found", "message to delete not found"),
        (message(chat_id=2), "message to edit not found", "message to delete not found"),
        (message(from_id=CHAT), "message can't be edited", None),
        (
            message(service={"forum_topic_created": {}}),
            "message can't be edited",
            "message can't be deleted",
        ),
        (message(service={"forum_topic_edited": {}}), "message can't be edited", None),
        (
            message(sent_at=NOW - 49 * HOURS),
            None,
            "message can't be deleted for everyone",
        ),
    ],
)
def test_messages(target, edit, delete):
    assert told(refusals.edit_refusal(target, CHAT, BOT)) == edit
    assert told(refusals.delete_refusal(target, CHAT, NOW)) == delete


def test_an_edit_must_change_something():
    keys = {"inline_keyboard": [[{"text": "a", "callback_data": "b"}]]}
    same = refusals.not_modified_refusal(message(), message(edited_at=NOW))
    assert told(same) == EDIT_NOT_MODIFIED
    assert refusals.not_modified_refusal(message(), message(text="y")) is None
    assert refusals.not_modified_refusal(message(), message(reply_markup=keys)) is None


@pytest.mark.parametrize(
    ("callback", "text", "expected"),
    [
        (Callback("1", 9, CHAT, "d", NOW), "ok", None),
        (Callback("1", 9, CHAT, "d", NOW), "x" * 201, "MESSAGE_TOO_LONG"),
        (Callback("1", 9, CHAT, "d", NOW - 151_000), "", QUERY_TOO_OLD),
        (Callback("1", 9, CHAT, "d", NOW, answered_at=NOW), "", QUERY_TOO_OLD),
        (None, "", QUERY_TOO_OLD),
    ],
)
def test_answers_to_buttons(callback, text, expected):
    assert told(refusals.answer_refusal(callback, text, NOW)) == expected


@pytest.mark.parametrize(
    ("given", "description"),
    [
        ({}, "expected an Array of BotCommand"),
        ([{"command": "Stop", "description": "x"}], "BOT_COMMAND_INVALID"),
        ([{"command": "", "description": "x"}], "command must be non-empty"),
        ([{"command": "a" * 33, "description": "x"}], "command length must not exceed 32"),
        ([{"command": "a", "description": " "}], "command description must be non-empty"),
        (
            [{"command": "a", "description": "x" * 257}],
            "command description length must not exceed 256",
        ),
        ([{"command": "a", "description": "x"}] * 101, "BOT_COMMANDS_TOO_MUCH"),
    ],
)
def test_bad_commands(given, description):
    with pytest.raises(BotApiError) as refusal:
        refusals.checked_commands(given)
    assert told(refusal.value) == description


def test_good_commands():
    given = [{"command": "/stop_1", "description": "Stop"}]
    assert refusals.checked_commands(given) == [{"command": "stop_1", "description": "Stop"}]


@pytest.mark.parametrize(
    ("emoji", "expected"),
    [
        ([], None),
        (["👍"], None),
        (["❤\ufe0f"], None),
        (["🦖"], "REACTION_INVALID"),
        (["👍", "👎"], "REACTIONS_TOO_MANY"),
    ],
)
def test_reactions_of_bots(emoji, expected):
    assert told(reaction_refusal(emoji)) == expected
