"""Where an update belongs: authority first, then threads, then quoted messages; never a guess."""

from typing import Any

import pytest

from actors.plans.routing import Known, created_topic, route

OWNER, BOT, CHAT = 1001, 77, 1001
KNOWN = Known(
    bot_id=BOT, owner_id=OWNER, chat_id=CHAT, by_thread={5: "manual:a"}, by_message={40: "manual:b"}
)


def message(**fields: Any) -> dict[str, Any]:
    """A private message of the owner, changed as told."""
    plain = {"message_id": 9, "date": 100, "chat": {"id": CHAT}, "from": {"id": OWNER}, "text": "x"}
    return {"update_id": 1, "message": {**plain, **fields}}


IN_THREAD = {"message_thread_id": 5, "is_topic_message": True}
CASES = {
    "bound thread": (message(**IN_THREAD), "pending", "", "manual:a"),
    "unknown thread": (message(message_thread_id=6, is_topic_message=True), "chooser", "", None),
    "no thread": (message(), "chooser", "", None),
    "General says 1": (message(message_thread_id=1), "chooser", "", None),
    "reply chain is no topic": (
        message(message_thread_id=5, is_topic_message=False), "chooser", "", None,
    ),
    "quotes a message": (message(reply_to_message={"message_id": 40}), "pending", "", "manual:b"),
    "quotes what was said in a thread": (
        message(reply_to_message={"message_id": 3, "message_thread_id": 5, "is_topic_message": True}),
        "pending", "", "manual:a",
    ),
    "stranger": (message(**IN_THREAD, **{"from": {"id": 2}}), "done", "stranger", None),
    "bot of the same id": (
        message(**IN_THREAD, **{"from": {"id": OWNER, "is_bot": True}}), "done", "stranger", None,
    ),
    "nobody": (message(**IN_THREAD, **{"from": None}), "done", "stranger", None),
    "our own service message": (
        message(**{"from": {"id": BOT}}), "done", "own-service-message", None,
    ),
    "owner in another chat": (message(**IN_THREAD, chat={"id": 8}), "done", "other-chat", None),
    "owner closes a topic": (
        message(**IN_THREAD, forum_topic_closed={}), "done", "service-message", None,
    ),
    "unknown kind": ({"update_id": 1, "poll": {}}, "done", "not-ours", None),
}


@pytest.mark.parametrize(("update", "fate", "reason", "binding"), CASES.values(), ids=CASES)
def test_messages(update: dict[str, Any], fate: str, reason: str, binding: str | None) -> None:
    """Each kind of message has one place."""
    routed = route(update, KNOWN)
    assert (routed.fate, routed.reason, routed.binding_key) == (fate, reason, binding)


def test_an_edit_without_an_owner_asks_nothing() -> None:
    """Only new messages are worth a question."""
    edit = {"update_id": 1, "edited_message": message()["message"]}
    assert route(edit, KNOWN).reason == "no-owner"


def test_a_reaction_belongs_to_the_owner_of_its_message() -> None:
    """Reactions carry no thread: the message decides."""
    reaction = {
        "update_id": 1,
        "message_reaction": {"chat": {"id": CHAT}, "message_id": 40, "user": {"id": OWNER}},
    }
    assert route(reaction, KNOWN).binding_key == "manual:b"
    reaction["message_reaction"]["user"] = {"id": 3}
    assert route(reaction, KNOWN).reason == "stranger"


def test_a_button_belongs_to_its_thread_and_a_choice_to_the_inbox() -> None:
    """A press is routed by the message it hangs on; chooser buttons are our own."""
    query = {"id": "q", "from": {"id": OWNER}, "data": "s:stop", "message": message(**IN_THREAD)["message"]}
    press = {"update_id": 1, "callback_query": query}
    assert route(press, KNOWN).binding_key == "manual:a"
    query["data"] = "c:12:A"
    assert route(press, KNOWN).reason == "choice"
    query["from"] = {"id": 4}
    assert route(press, KNOWN).reason == "stranger"


@pytest.mark.parametrize(("date", "fate"), [(99, "pending"), (98, "held"), (100, "pending")])
@pytest.mark.case("F77")
def test_what_is_older_than_the_first_start_is_held(date: int, fate: str) -> None:
    """Telegram tells whole seconds: the second of the start itself is not older."""
    known = Known(
        bot_id=BOT, owner_id=OWNER, chat_id=CHAT, by_thread={5: "manual:a"}, by_message={},
        held_before_ms=99_500,
    )
    assert route(message(**IN_THREAD, date=date), known).fate == fate


def test_classic_mode_has_one_recipient() -> None:
    """Without topics a plain message needs no choice."""
    known = Known(OWNER, OWNER, CHAT, {}, {}, sole_binding="manual:only")
    assert route(message(), known).fate == "done"  # bot and owner differ in reality
    known = Known(BOT, OWNER, CHAT, {}, {}, sole_binding="manual:only")
    assert route(message(), known).binding_key == "manual:only"


def test_a_topic_that_the_bot_created_is_recognised() -> None:
    """That settles a creation whose answer never came."""
    update = message(
        message_thread_id=12, forum_topic_created={"name": "api"}, **{"from": {"id": BOT}}
    )
    assert created_topic(update, BOT) == (CHAT, 12, "api")
    assert created_topic(update, BOT + 1) is None
    assert created_topic(message(), BOT) is None
