"""Bindings: one thread, one letter and one live instance for each, and only the leader writes."""

import pytest

from stores.bindings import Bindings
from stores.bus_settings import BusSettings
from stores.errors import Deposed, SlotTaken, UnknownRecord
from stores.observations import Observations
from stores.pending_provisions import PendingProvisions
from stores.remembered_names import RememberedNames
from tests.support.stores import CHAT, led_bus_database


@pytest.fixture
def database(tmp_path):
    with led_bus_database(tmp_path) as (database, _):
        yield database


@pytest.fixture
def bindings(database):
    return Bindings(database)


def activate(bindings, key="manual:a", thread=11, slot="A", instance="i1", now=100, name="api"):
    bindings.record_active(key, CHAT, thread, slot, name, instance, epoch=1, now=now)


def test_a_thread_is_made_and_announced(bindings):
    bindings.record_starting("manual:a", CHAT, 11, "A", "api", "i1", epoch=1, now=100)
    assert bindings.by_target(CHAT, 11).status == "starting"
    activate(bindings, now=300)
    active = bindings.by_instance("i1")
    assert (active.status, active.created_ms, active.updated_ms) == ("active", 100, 300)
    assert (active.sync_status, active.thread_name) == ("open", "api")
    assert bindings.all() == (active,)


@pytest.mark.case("L14", "L15")
def test_a_write_without_the_reigning_epoch_changes_nothing(bindings):
    activate(bindings)
    before = bindings.all()
    for write in (
        lambda: bindings.record_starting("manual:b", CHAT, 12, "B", "x", "i2", epoch=2, now=200),
        lambda: bindings.record_active("manual:b", CHAT, 12, "B", "x", "i2", epoch=2, now=200),
        lambda: bindings.preserve_after_death("manual:a", "i1", epoch=2, now=200),
        lambda: bindings.mark_target_gone(CHAT, 11, epoch=2, now=200),
        lambda: bindings.rename("manual:a", "other", epoch=2, now=200),
        lambda: bindings.give_up_slot("manual:a", epoch=2, now=200),
        lambda: bindings.remove("manual:a", epoch=2, now=200),
    ):
        with pytest.raises(Deposed):
            write()
    assert bindings.all() == before


def test_a_thread_has_one_binding_the_later_one(bindings, database):
    activate(bindings)
    activate(bindings, key="manual:b", slot="B", instance="i2", name="web")
    assert [binding.binding_key for binding in bindings.all()] == ["manual:b"]
    assert RememberedNames(database).get("manual:a").slot == "A"


def test_a_letter_has_one_binding_and_is_never_taken_away(bindings):
    activate(bindings)
    with pytest.raises(SlotTaken):
        activate(bindings, key="manual:b", thread=12, instance="i2")
    assert [(one.binding_key, one.slot) for one in bindings.all()] == [("manual:a", "A")]


@pytest.mark.case("L12")
def test_an_instance_has_one_thread_and_the_cursor_follows(bindings, database):
    activate(bindings)
    activate(bindings, key="manual:b", thread=12, slot="B")
    assert [binding.thread_id for binding in bindings.all()] == [12]
    assert BusSettings(database).last_slot() == "B"
    activate(bindings, key="manual:b", thread=13, slot="C", now=200)
    assert BusSettings(database).last_slot() == "C"


def test_the_cursor_stays_where_nothing_moved(bindings, database):
    activate(bindings)
    activate(bindings, key="manual:b", thread=12, slot="B", instance="i2")
    activate(bindings, now=200)
    assert BusSettings(database).last_slot() == "B"


def test_plain_chats_without_a_thread(bindings):
    activate(bindings, thread=None)
    assert bindings.by_target(CHAT, None).binding_key == "manual:a"
    assert bindings.by_target(CHAT, 11) is None


def test_a_dead_process_leaves_thread_letter_and_name(bindings):
    activate(bindings)
    assert bindings.preserve_after_death("manual:a", "i1", epoch=1, now=500)
    left = bindings.get("manual:a")
    assert (left.instance_id, left.inactive_since_ms) == (None, 500)
    assert (left.thread_id, left.slot, left.thread_name) == (11, "A", "api")


def test_the_death_of_an_earlier_process_does_not_touch_a_later_one(bindings):
    activate(bindings)
    activate(bindings, instance="i2", now=300)
    before = bindings.get("manual:a")
    assert not bindings.preserve_after_death("manual:a", "i1", epoch=1, now=500)
    assert bindings.get("manual:a") == before


def test_a_returning_process_gets_its_thread_back(bindings):
    activate(bindings)
    bindings.preserve_after_death("manual:a", "i1", epoch=1, now=500)
    activate(bindings, instance="i2", now=700)
    back = bindings.get("manual:a")
    assert (back.status, back.instance_id, back.inactive_since_ms) == ("active", "i2", None)
    assert (back.last_error, back.last_sync_error) == (None, None)


@pytest.mark.case("L11")
def test_a_thread_that_is_gone_leaves_a_name_and_an_observation(bindings, database):
    activate(bindings)
    assert bindings.mark_target_gone(
        CHAT, 11, epoch=1, now=500, sync_status="deleted", error="thread not found"
    )
    assert bindings.all() == ()
    remembered = RememberedNames(database).get("manual:a")
    assert (remembered.thread_name, remembered.slot) == ("api", "A")
    (seen,) = Observations(database).all()
    assert (seen.sync_status, seen.error, seen.instance_id) == ("deleted", "thread not found", "i1")
    assert not bindings.mark_target_gone(CHAT, 11, epoch=1, now=600)


def test_a_deleted_thread_takes_its_unfinished_provision_along(bindings, database):
    provisions = PendingProvisions(database)
    provisions.begin("p1", "manual:a", "i1", "api", "A", CHAT, epoch=1, now=100)
    provisions.record_target("p1", 11, epoch=1)
    assert bindings.mark_target_gone(CHAT, 11, epoch=1, now=500, sync_status="deleted")
    assert provisions.all() == ()


def test_renaming_and_giving_up_a_letter(bindings, database):
    activate(bindings)
    bindings.rename("manual:a", "shop", epoch=1, now=200)
    bindings.give_up_slot("manual:a", epoch=1, now=300)
    found = bindings.get("manual:a")
    assert (found.thread_name, found.slot, found.thread_id) == ("shop", None, 11)
    remembered = RememberedNames(database).get("manual:a")
    assert (remembered.thread_name, remembered.slot) == ("shop", "A")
    with pytest.raises(UnknownRecord):
        bindings.rename("manual:z", "x", epoch=1, now=200)


def test_removing_and_forgetting(bindings, database):
    names = RememberedNames(database)
    activate(bindings)
    assert bindings.remove("manual:a", epoch=1, now=200)
    assert not bindings.remove("manual:a", epoch=1, now=200)
    assert names.get("manual:a") is not None
    names.forget("manual:a", epoch=1)
    assert names.get("manual:a") is None


def test_several_writes_of_a_step_are_one(bindings, database):
    with pytest.raises(UnknownRecord), bindings.transaction():
        activate(bindings)
        bindings.rename("manual:z", "x", epoch=1, now=200)
    assert bindings.all() == ()
