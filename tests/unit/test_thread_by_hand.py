"""What operators do with threads: another name, and deletion where no process is left."""

import pytest

from messages.target_provisioner import (
    CloseTarget,
    RenameTarget,
    TargetRefused,
    TargetRemoved,
    TargetRenamed,
)
from stores.errors import Deposed
from tests.support.stores import led_bus_database
from tests.support.thread_desk import NOT_FOUND, NOT_MODIFIED, ThreadDesk


@pytest.fixture
def desk(tmp_path):
    """A provisioner of the leading instance, and one connected follower."""
    with led_bus_database(tmp_path) as (database, epoch):
        desk = ThreadDesk(database, epoch)
        desk.connected()
        yield desk


def rename(desk, name="better", key="manual:a"):
    return desk.say(RenameTarget(binding_key=key, thread_name=name))


def close(desk, key="manual:a"):
    return desk.say(CloseTarget(binding_key=key))


# -- names --------------------------------------------------------------------------------------


def test_a_name_is_telegrams_first_and_ours_then(desk):
    command = rename(desk, " better ")
    assert desk.params() == {"chat_id": desk.chat_id, "message_thread_id": 10, "name": "better"}
    assert desk.binding().thread_name == "name of manual:a"
    desk.answer()
    assert desk.replies[command] == TargetRenamed(thread_name="better")
    assert desk.binding().thread_name == "better"
    assert desk.log[-2:] == [("write", "rename"), ("reply", command)]


def test_a_name_that_telegram_has_already_counts(desk):
    command = rename(desk)
    desk.refuse(NOT_MODIFIED)
    assert desk.replies[command] == TargetRenamed(thread_name="better")


@pytest.mark.parametrize(("text", "reason"), [("no connection", "telegram"), (NOT_FOUND, "telegram")])
def test_what_telegram_refuses_is_not_written_down(desk, text, reason):
    command = rename(desk)
    desk.refuse(text)
    assert desk.replies[command] == TargetRefused(reason=reason, text=text)
    assert desk.binding().thread_name == "name of manual:a"


def test_nobody_gets_the_name_of_another(desk):
    desk.connected("manual:b", "2:1", thread=11)
    command = rename(desk, "NAME of manual:b")
    assert desk.replies[command].reason == "name-taken"
    assert desk.calls == []


def test_an_unknown_thread_has_no_name(desk):
    command = rename(desk, key="manual:x")
    assert desk.replies[command].reason == "superseded"


def test_a_deposed_leader_renames_nothing(desk):
    rename(desk)
    desk.depose()
    with pytest.raises(Deposed):
        desk.answer()
    assert desk.binding().thread_name == "name of manual:a"


def test_the_name_survives_the_next_registration(desk):
    rename(desk)
    desk.answer()
    command = desk.provision(instance="1:1", thread_name="name of manual:a")
    assert desk.replies[command].thread_name == "better"


# -- deletion -----------------------------------------------------------------------------------


@pytest.mark.parametrize("preserved", [True, False])
def test_whoever_stood_behind_it_a_thread_goes(desk, preserved):
    if preserved:
        desk.preserve()
        assert desk.binding().instance_id is None
    command = close(desk)
    assert len(desk.intents()) == 1
    while desk.calls:
        desk.answer()
    assert desk.replies[command] == TargetRemoved()
    assert desk.binding() is None and desk.intents() == ()
    assert desk.methods[-1] == "deleteForumTopic"


def test_a_deletion_that_failed_is_taken_up_by_the_next_leader(desk):
    desk.preserve()
    close(desk)
    while desk.calls:
        desk.refuse("no connection", "unavailable", None)
    assert len(desk.intents()) == 1 and desk.binding() is not None
    desk.succeed()
    desk.replay()
    while desk.calls:
        desk.answer()
    assert desk.intents() == () and desk.binding() is None


def test_one_that_came_back_in_between_keeps_its_thread(desk):
    desk.preserve()
    close(desk)
    while desk.calls:
        desk.refuse("no connection", "unavailable", None)
    desk.provision(instance="1:2")
    desk.sent(10)
    desk.succeed()
    desk.replay()
    assert desk.calls == [] and desk.intents() == ()
    assert desk.binding().instance_id == "1:2"


def test_closing_what_is_gone_is_done_at_once(desk):
    command = close(desk, "manual:x")
    assert desk.replies[command] == TargetRemoved() and desk.calls == []
