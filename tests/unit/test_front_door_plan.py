"""Who becomes the owner, who is greeted, and who is told that the bot is private."""

import dataclasses

import pytest

from actors.plans.effects import Now, Send, Write
from actors.plans.front_door import REFUSE_EVERY_MS, FrontDoor
from actors.plans.pairing import MOST_TRIES
from actors.plans.routing import Known, route
from messages.owner_texts import CODE_NEEDS_TOPICS, CODE_WRONG
from stores.pairing import PairingRecord

OWNER, STRANGER, BOT, CODE = 1001, 5, 77, "KTRM-4827"
NOW = Now(wall=1_000_000, boot=1)
KNOWN = Known(bot_id=BOT, owner_id=OWNER, chat_id=OWNER, by_thread={5: "manual:a"}, by_message={})
OPEN = PairingRecord(CODE, "me", None, NOW.wall + 60_000)
DOOR = FrontDoor(epoch=3, owner_id=OWNER, pairing=OPEN)


def message(text, sender=STRANGER, chat=None, kind="message", **more):
    plain = {
        "message_id": 9, "date": 1_000, "text": text,
        "from": {"id": sender, "first_name": "Ann"},
        "chat": chat or {"id": sender, "type": "private"},
    }
    return {"update_id": 1, kind: {**plain, **more}}


def receive(door, update, known=KNOWN):
    door, place, effects = door.receive(route(update, known), update, NOW)
    writes = [(one.store, one.method) for one in effects if isinstance(one, Write)]
    said = [one.body.params for one in effects if isinstance(one, Send) and one.to == "telegram_gateway"]
    paired = [one.body for one in effects if isinstance(one, Send) and one.to == "leader"]
    return door, place, writes, said, paired


def test_the_code_makes_its_sender_the_owner_once():
    door, place, writes, said, paired = receive(DOOR, message(f"/start {CODE}"))
    assert (place.fate, place.reason) == ("done", "code")
    assert writes == [("pairing", "record_paired")]
    assert [(one.owner_id, one.owner_name, one.chat_id) for one in paired] == [(STRANGER, "Ann", STRANGER)]
    # The next sender of the same batch is too late.
    _, place, writes, said, paired = receive(door, message(CODE, sender=6))
    assert (place.reason, writes, paired) == ("stranger", [("refusals", "record")], [])
    assert said == [{"chat_id": 6, "text": "This bot is private. Your id: 6."}]


def test_a_forum_is_chosen_by_sending_the_code_there():
    forum = {"id": -100, "type": "supergroup", "is_forum": True}
    *_, paired = receive(DOOR, message(CODE, chat=forum))
    assert (paired[0].owner_id, paired[0].chat_id, paired[0].told_in) == (STRANGER, -100, -100)
    wanted = dataclasses.replace(DOOR, pairing=dataclasses.replace(OPEN, wanted_chat_id=-200))
    *_, paired = receive(wanted, message(CODE))
    assert (paired[0].owner_id, paired[0].chat_id) == (STRANGER, -200)


def test_a_group_without_topics_is_told_so():
    group = {"id": -100, "type": "supergroup"}
    door, place, writes, said, paired = receive(DOOR, message(CODE, chat=group))
    assert (place.fate, writes, paired) == ("done", [], [])
    assert said == [{"chat_id": -100, "text": CODE_NEEDS_TOPICS}]
    assert door == DOOR


def test_wrong_codes_are_limited():
    door = DOOR
    for _ in range(MOST_TRIES):
        door, place, writes, said, _ = receive(door, message("AAAA-0000"))
        assert (place.reason, writes) == ("wrong-code", [("pairing", "count_try")])
        assert said == [{"chat_id": STRANGER, "text": CODE_WRONG}]
    _, place, writes, said, paired = receive(door, message(CODE))
    assert (place.reason, paired) == ("stranger", [])
    assert said == [{"chat_id": STRANGER, "text": f"This bot is private. Your id: {STRANGER}."}]


@pytest.mark.parametrize(
    "update",
    [
        message(CODE, sender=STRANGER, kind="edited_message"),
        message(CODE, **{"from": {"id": STRANGER, "is_bot": True}}),
        message(CODE, sender_chat={"id": -100}),
        message(f"my code is {CODE}"),
    ],
    ids=["edited", "a bot", "an anonymous group", "among words"],
)
def test_what_never_pairs(update):
    door, place, _, _, paired = receive(DOOR, update)
    assert (place.fate, place.reason, paired) == ("done", "stranger", [])
    assert door.pairing == OPEN


def test_a_stranger_is_told_once_a_day():
    door, place, writes, said, _ = receive(DOOR, message("hello"))
    assert said == [{"chat_id": STRANGER, "text": "This bot is private. Your id: 5."}]
    assert writes == [("refusals", "record")]
    _, _, writes, said, _ = receive(door, message("hello?"))
    assert (writes, said) == ([], [])
    yesterday = dataclasses.replace(DOOR, refused={STRANGER: NOW.wall - REFUSE_EVERY_MS})
    assert receive(yesterday, message("hello"))[3]
    group = {"id": -100, "type": "supergroup"}
    assert receive(DOOR, message("hello", chat=group))[3] == []


def test_the_owner_is_greeted_where_it_was_said():
    thread = {"message_thread_id": 5, "is_topic_message": True}
    _, place, _, said, _ = receive(DOOR, message("/start", sender=OWNER, **thread))
    assert (place.fate, place.reason, place.binding_key) == ("done", "start", None)
    assert said == [{
        "chat_id": OWNER, "message_thread_id": 5,
        "text": "Hello Ann. Every process has its own thread here. Nothing is running. Start one: switchboard",
    }]
    running = dataclasses.replace(DOOR, thread_names=("api · claude", "web"))
    assert receive(running, message("/start", sender=OWNER))[3][0]["text"] == (
        "Hello Ann. Every process has its own thread here; write there to give it work. "
        "Running: api · claude, web."
    )


def test_a_message_of_the_owner_that_looks_like_a_code_is_a_message():
    _, place, writes, said, _ = receive(
        DOOR, message("AAAA-0000", sender=OWNER, message_thread_id=5, is_topic_message=True)
    )
    assert (place.fate, place.binding_key, writes, said) == ("pending", "manual:a", [], [])


def test_the_owner_of_now_may_take_the_code_as_well():
    *_, paired = receive(DOOR, message(CODE, sender=OWNER))
    assert paired[0].owner_id == OWNER


@pytest.mark.parametrize("text", ["/help", "/status", "/HELP@some_bot"])
def test_what_only_the_bot_can_answer_outside_of_every_thread_is_answered(text):
    door = dataclasses.replace(DOOR, thread_names=("api", "web"))
    _, place, writes, said, _ = receive(door, message(text, sender=OWNER))
    assert (place.fate, place.reason, writes) == ("done", "start", [])
    assert said[0]["text"].endswith("Running: api, web.")


@pytest.mark.parametrize("text, more", [("/stop", {}), ("help", {}), ("/help", {"message_thread_id": 5})])
def test_a_command_for_a_process_is_not(text, more):
    _, place, _, said, _ = receive(DOOR, message(text, sender=OWNER, is_topic_message=bool(more), **more))
    assert place.fate != "done" and said == []
