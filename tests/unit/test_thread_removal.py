"""Deleting threads and keeping them without a process; on real stores, Telegram played by the test."""

import pytest

from messages.target_provisioner import CleanupsReplayed, TargetPreserved, TargetRemoved
from stores.errors import Deposed
from tests.support.stores import CHAT, led_bus_database
from tests.support.thread_desk import ID_INVALID, NOT_FOUND, ThreadDesk

GROUP = -100123


@pytest.fixture
def desk(tmp_path):
    """In the owner's private chat, with one connected follower."""
    with led_bus_database(tmp_path) as (database, epoch):
        desk = ThreadDesk(database, epoch)
        desk.connected()
        yield desk


@pytest.fixture
def group_desk(tmp_path):
    """In a supergroup, with one connected follower."""
    with led_bus_database(tmp_path) as (database, epoch):
        desk = ThreadDesk(database, epoch, chat_id=GROUP)
        desk.connected()
        yield desk


@pytest.mark.case("L67")
def test_in_a_group_the_intent_goes_first_then_close_then_delete_then_one_write(group_desk):
    desk = group_desk
    command = desk.remove()
    assert [intent.id for intent in desk.intents()] == [f"cleanup:1:1:g1:{GROUP}:10"]
    desk.answer(True)
    desk.answer(True)
    assert desk.log == [
        ("write", "request"),
        ("call", "closeForumTopic"),
        ("call", "deleteForumTopic"),
        ("write", "remove"),
        ("write", "finish"),
        ("event", "bus.thread-reconciler-graceful-shutdown-topic-delete"),
        ("reply", command),
    ]
    assert desk.replies[command] == TargetRemoved()
    assert desk.binding() is None
    assert desk.intents() == ()


def test_a_private_chat_cannot_close_and_is_not_asked_to(desk):
    command = desk.remove()
    desk.answer(True)
    assert desk.methods == ["deleteForumTopic"]
    assert desk.replies[command] == TargetRemoved()


@pytest.mark.case("L68")
def test_a_follower_without_a_thread_has_nothing_to_delete(desk):
    command = desk.remove("manual:unknown", "8:8")
    assert desk.replies[command] == TargetRemoved()
    assert desk.log == [("reply", command)]


@pytest.mark.case("L69")
def test_an_intent_that_cannot_be_written_stops_everything(desk):
    desk.depose()
    with pytest.raises(Deposed):
        desk.remove()
    assert desk.calls == []
    assert desk.binding().instance_id == "1:1"


FAILED = {
    "network": lambda desk: desk.refuse("no connection", "unavailable", None),
    "lost answer": lambda desk: desk.refuse("connection lost", "commit-unknown", None),
    "rights": lambda desk: desk.refuse("Bad Request: not enough rights to delete the topic"),
    "gateway gone": lambda desk: desk.leave_unanswered(),
}


@pytest.mark.case("L70")
@pytest.mark.parametrize("fail", FAILED.values(), ids=FAILED)
def test_an_unconfirmed_deletion_keeps_record_and_intent(desk, fail):
    command = desk.remove()
    fail(desk)
    assert desk.replies[command].reason == "telegram"
    assert desk.binding().thread_id == 10
    assert len(desk.intents()) == 1
    assert desk.event("bus.thread-reconciler-cleanup-incomplete")


@pytest.mark.case("L71")
@pytest.mark.parametrize("words", [NOT_FOUND, ID_INVALID])
def test_a_thread_that_is_missing_counts_as_deleted(desk, words):
    command = desk.remove()
    desk.refuse(words)
    assert desk.replies[command] == TargetRemoved()
    assert desk.intents() == ()


@pytest.mark.case("L72")
def test_closed_is_not_deleted(group_desk):
    desk = group_desk
    command = desk.remove()
    desk.answer(True)
    desk.refuse("Bad Request: topic closed")
    assert desk.replies[command].reason == "telegram"
    assert len(desk.intents()) == 1


def test_a_thread_that_cannot_be_closed_is_deleted_all_the_same(group_desk):
    desk = group_desk
    desk.remove()
    desk.refuse("Bad Request: not enough rights to close or open the topic")
    assert desk.methods == ["closeForumTopic", "deleteForumTopic"]


@pytest.mark.case("L73")
def test_after_the_deposition_nothing_is_deleted(group_desk):
    desk = group_desk
    command = desk.remove()
    desk.refuse("", "fenced", None)
    assert desk.methods == ["closeForumTopic"]
    assert desk.replies[command].reason == "deposed"
    assert len(desk.intents()) == 1


@pytest.mark.case("L74")
def test_a_deletion_that_was_not_written_down_in_time_leaves_its_intent(desk):
    desk.remove()
    desk.depose()
    with pytest.raises(Deposed):
        desk.answer(True)
    assert len(desk.intents()) == 1
    assert desk.binding().thread_id == 10


@pytest.mark.case("L81", "L84")
def test_a_thread_that_another_instance_took_over_is_kept(desk):
    desk.remove()
    desk.refuse("no connection", "unavailable", None)
    desk.provision(instance="2:2")
    desk.sent(10)
    desk.log.clear()
    command = desk.remove(instance="1:1")
    assert desk.replies[command].reason == "superseded"
    assert desk.methods == []
    assert desk.intents() == ()
    assert desk.binding().instance_id == "2:2"


@pytest.mark.case("L95", "L109")
def test_a_replacement_registers_after_the_deletion_has_settled(desk):
    desk.remove()
    registered = desk.provision(instance="2:2")
    assert desk.methods == ["deleteForumTopic"]
    desk.answer(True)
    desk.created(11)
    assert desk.replies[registered].thread_id == 11


# -- keeping ------------------------------------------------------------------------------------


@pytest.mark.case("L90")
def test_a_dead_process_leaves_thread_letter_and_name(desk):
    command = desk.preserve()
    binding = desk.binding()
    assert desk.replies[command] == TargetPreserved()
    assert (binding.instance_id, binding.inactive_since_ms) == (None, desk.clock.wall)
    assert (binding.thread_id, binding.slot, binding.thread_name) == (10, "A", "name of manual:a")
    assert desk.calls == []


@pytest.mark.parametrize("key, instance", [("manual:a", "7:7"), ("manual:unknown", "1:1")])
def test_there_is_nothing_to_keep_of_a_thread_that_is_not_the_dead_ones(desk, key, instance):
    before = desk.binding()
    command = desk.preserve(key, instance)
    assert desk.replies[command] == TargetPreserved()
    assert desk.binding() == before


# -- what an earlier leader left ----------------------------------------------------------------


def left_behind(desk):
    """An intent of an earlier leader, and its successor."""
    desk.remove()
    desk.depose()
    desk.succeed()
    desk.log.clear()


@pytest.mark.case("L79")
def test_a_successor_finishes_the_deletion_before_it_answers(desk):
    left_behind(desk)
    command = desk.replay()
    assert desk.methods == ["deleteForumTopic"]
    assert command not in desk.replies
    desk.answer(True)
    assert desk.replies[command] == CleanupsReplayed(pending=0)
    assert desk.intents() == ()
    assert desk.binding() is None


def test_without_intents_the_answer_comes_at_once(desk):
    command = desk.replay()
    assert desk.log == [("reply", command)]
    assert desk.replies[command] == CleanupsReplayed(pending=0)


@pytest.mark.case("L81")
def test_an_intent_whose_thread_somebody_has_is_cancelled(desk):
    desk.remove()
    held = desk.binding()
    desk.stores["bindings"].record_active(
        "manual:a", held.chat_id, held.thread_id, held.slot, held.thread_name, "2:2", desk.epoch, desk.clock.wall
    )
    desk.succeed()
    desk.log.clear()
    command = desk.replay()
    assert desk.methods == []
    assert desk.event("bus.thread-reconciler-cleanup-superseded")
    assert desk.replies[command] == CleanupsReplayed(pending=0)
    assert desk.binding().instance_id == "2:2"


@pytest.mark.case("L82")
def test_a_replay_that_fails_at_telegram_leaves_the_intent_for_later(desk):
    left_behind(desk)
    command = desk.replay()
    desk.refuse("no connection", "unavailable", None)
    assert desk.replies[command] == CleanupsReplayed(pending=1)
    assert len(desk.intents()) == 1


def test_a_start_waits_for_old_intents_only_so_long(desk):
    left_behind(desk)
    command = desk.replay()
    desk.ring("replay")
    assert desk.replies[command] == CleanupsReplayed(pending=1)
    desk.answer(True)
    assert desk.intents() == ()


def test_intents_of_one_binding_are_taken_up_one_after_the_other(desk):
    desk.stores["pending_cleanups"].request(
        "0:0", "g0", CHAT, 9, desk.epoch, desk.clock.wall, "manual:a"
    )
    left_behind(desk)
    command = desk.replay()
    assert desk.methods == ["deleteForumTopic"]
    desk.answer(True)
    desk.answer(True)
    assert desk.methods == ["deleteForumTopic"] * 2
    assert desk.replies[command] == CleanupsReplayed(pending=0)
