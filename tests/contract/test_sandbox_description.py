"""The practice chat against the published description of the Bot API, where that is at hand.

Set SWITCHBOARD_BOTAPI_SPEC to the JSON of github.com/PaulSonOfLars/telegram-bot-api-spec for 10.0.
"""

import json
import os
from dataclasses import dataclass, field

import pytest

from actors.sandbox.bot_methods import GET_UPDATES, METHODS
from actors.sandbox.chat import PracticeChat
from actors.sandbox.errors import BotApiError
from actors.sandbox.parameters import Parameters
from actors.sandbox.person_side import PersonSide
from actors.sandbox.updates import UpdateQueue
from stores.practice_chat import PracticeChatStore
from tests.support.manual_clock import ManualClock

OWNER = 1001
# Older spellings that the Bot API still takes, and names that belong to reply_parameters.
OLD_NAMES = {"reply_to_message_id", "allow_sending_without_reply"}
# Required there, of no consequence here.
UNREAD = {"editMessageText": {"inline_message_id"}}


@dataclass(frozen=True)
class Noted(Parameters):
    """Parameters that note what was looked at."""

    seen: set[str] = field(default_factory=set)

    def text(self, name):
        self.seen.add(name)
        return super().text(name)

    def has(self, name):
        self.seen.add(name)
        return super().has(name)


@pytest.fixture(scope="module")
def description():
    path = os.environ.get("SWITCHBOARD_BOTAPI_SPEC")
    if not path:
        pytest.skip("SWITCHBOARD_BOTAPI_SPEC names no description of the Bot API")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@pytest.fixture
def chat(tmp_path):
    clock = ManualClock()
    store = PracticeChatStore(tmp_path / "chat.db")
    yield PracticeChat(store, 4_000_000_000, lambda: clock.wall)
    store.close()


def examples(chat):
    """A set of parameters for every method with which it gets as far as it can."""
    people = PersonSide(chat)
    thread = people.open_thread("t")["thread_id"]
    here = Parameters.of({"chat_id": OWNER, "text": "x"})
    sent = METHODS["sendMessage"](chat, here)["message_id"]
    pressed = people.press(sent, "d", OWNER)["callback_id"]
    common = {"chat_id": OWNER, "message_id": sent, "message_thread_id": thread}
    return {
        "sendMessage": {"chat_id": OWNER, "text": "y"},
        "editMessageText": {**common, "text": "y"},
        "setMessageReaction": {**common, "reaction": []},
        "deleteMessages": {"chat_id": OWNER, "message_ids": [sent]},
        "sendChatAction": {**common, "action": "typing"},
        "answerCallbackQuery": {"callback_query_id": pressed},
        "createForumTopic": {"chat_id": OWNER, "name": "t"},
        "setMyCommands": {"commands": []},
    }.get, common


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_parameter_read_is_described_and_every_required_one_read(method, description, chat):
    special, common = examples(chat)
    parameters = Noted.of(special(method, common))
    noted = Noted(parameters.values)
    try:
        METHODS[method](chat, noted)
    except BotApiError as refusal:
        assert "supergroup" in refusal.description or "not modified" in refusal.description
    described = {each["name"]: each for each in description["methods"][method].get("fields", [])}
    assert noted.seen - OLD_NAMES <= set(described)
    required = {name for name, each in described.items() if each["required"]}
    assert required - UNREAD.get(method, set()) - {"message_thread_id"} <= noted.seen


def test_get_updates_reads_what_is_described(description, chat):
    import asyncio

    noted = Noted({})
    asyncio.run(UpdateQueue(chat, lambda: 0).poll(noted))
    described = description["methods"][GET_UPDATES]["fields"]
    assert noted.seen == {each["name"] for each in described}


def test_every_field_of_a_message_is_described(description, chat):
    known = {each["name"] for each in description["types"]["Message"]["fields"]}
    PersonSide(chat).open_thread("t")
    keys = {"inline_keyboard": [[{"text": "a", "callback_data": "b"}]]}
    first = METHODS["sendMessage"](chat, Parameters.of({"chat_id": OWNER, "text": "x"}))
    second = METHODS["sendMessage"](
        chat,
        Parameters.of(
            {
                "chat_id": OWNER,
                "text": "<b>x</b>",
                "parse_mode": "HTML",
                "reply_markup": keys,
                "reply_parameters": {"message_id": first["message_id"]},
            }
        ),
    )
    announced = chat.store.updates(chat.now_ms())[0].body
    assert set(first) | set(second) | set(announced) <= known
    users = {each["name"] for each in description["types"]["User"]["fields"]}
    assert set(METHODS["getMe"](chat, Parameters({}))) <= users
