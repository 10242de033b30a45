"""The smaller stores of `bus.db`: intents, reservations, ownership, observations, settings."""

import pytest

from stores.bus_settings import BotFacts, BusSettings
from stores.errors import Deposed, StoreInconsistent, UnknownRecord
from stores.lease import Lease
from stores.message_ownership import MessageOwnership
from stores.observations import Observations
from stores.pending_cleanups import PendingCleanups
from stores.pending_provisions import PendingProvisions
from stores.reservations import Reservations
from tests.support.stores import BEN, CHAT, led_bus_database


@pytest.fixture
def database(tmp_path):
    with led_bus_database(tmp_path) as (database, _):
        yield database


def depose(database):
    lease = Lease(database)
    assert lease.campaign(lease.read(), BEN, 9_000, "secret-2").epoch == 2


# -- pending provisions --------------------------------------------------------------------------


@pytest.fixture
def provisions(database):
    provisions = PendingProvisions(database)
    provisions.begin("p1", "manual:a", "i1", "api", "A", CHAT, epoch=1, now=100)
    return provisions


def test_a_creation_is_written_before_and_settled_after(provisions):
    begun = provisions.for_binding("manual:a")
    assert (begun.status, begun.thread_id, begun.epoch) == ("in-flight", None, 1)
    provisions.record_target("p1", 11, epoch=1)
    assert provisions.by_target(CHAT, 11) == provisions.for_binding("manual:a")
    assert provisions.finish("p1", epoch=1)
    assert not provisions.finish("p1", epoch=1)
    assert provisions.all() == ()


def test_the_same_attempt_twice_is_one_and_a_second_attempt_is_refused(provisions):
    provisions.begin("p1", "manual:a", "i1", "api", "A", CHAT, epoch=1, now=100)
    with pytest.raises(StoreInconsistent):
        provisions.begin("p2", "manual:a", "i1", "api", "B", CHAT, epoch=1, now=200)
    assert [record.id for record in provisions.all()] == ["p1"]


def test_an_unclear_creation_stays(provisions):
    provisions.mark_ambiguous("p1", epoch=1)
    assert provisions.for_binding("manual:a").status == "ambiguous"
    with pytest.raises(UnknownRecord):
        provisions.mark_ambiguous("p2", epoch=1)


def test_a_deposed_creator_leaves_word_of_its_thread_and_nothing_else(provisions, database):
    depose(database)
    for write in (
        lambda: provisions.begin("p2", "manual:b", "i1", "x", "B", CHAT, epoch=1, now=1),
        lambda: provisions.record_target("p1", 11, epoch=1),
        lambda: provisions.mark_ambiguous("p1", epoch=1),
        lambda: provisions.finish("p1", epoch=1),
    ):
        with pytest.raises(Deposed):
            write()
    assert not provisions.record_orphan("p1", "i2", 1, 11)
    assert not provisions.record_orphan("p1", "i1", 2, 11)
    assert provisions.record_orphan("p1", "i1", 1, 11)
    left = provisions.for_binding("manual:a")
    assert (left.status, left.thread_id) == ("ambiguous", 11)


# -- pending cleanups ----------------------------------------------------------------------------


def test_a_deletion_is_written_before_and_settled_after(database):
    cleanups = PendingCleanups(database)
    wanted = cleanups.request("i1", "g1", CHAT, 11, epoch=1, now=100, binding_key="manual:a")
    assert wanted == f"cleanup:i1:g1:{CHAT}:11"
    assert cleanups.request("i1", "g1", CHAT, 11, epoch=1, now=100) == wanted
    assert [one.id for one in cleanups.all()] == [wanted]
    depose(database)
    with pytest.raises(Deposed):
        cleanups.finish(wanted, epoch=1)
    with pytest.raises(Deposed):
        cleanups.request("i1", "g1", CHAT, 12, epoch=1, now=100)
    assert cleanups.finish(wanted, epoch=2) and cleanups.all() == ()


# -- reservations --------------------------------------------------------------------------------


@pytest.mark.case("L13")
def test_reservations_end_and_give_way(database):
    reservations = Reservations(database)
    reservations.reserve(CHAT, 11, "A", "restore", epoch=1, now=100)
    reservations.reserve(CHAT, 12, "B", "restore", epoch=1, now=100, lifetime_ms=50)
    assert [one.slot for one in reservations.live(149)] == ["A", "B"]
    assert [one.slot for one in reservations.live(150)] == ["A"]
    reservations.reserve(CHAT, 13, "A", "restore", epoch=1, now=200)
    assert [one.thread_id for one in reservations.live(200)] == [13]
    reservations.cancel(CHAT, 13, epoch=1)
    assert reservations.live(200) == ()
    with pytest.raises(Deposed):
        reservations.reserve(CHAT, 11, "A", "restore", epoch=2, now=300)


# -- message ownership ---------------------------------------------------------------------------


@pytest.fixture
def ownership(database):
    ownership = MessageOwnership(database)
    for number in (1, 2, 3):
        ownership.record(
            CHAT, number, "manual:a", 11, "i1", "g1", epoch=1, now=number * 100
        )
    return ownership


def test_whose_a_message_is(ownership):
    found = ownership.find(CHAT, 2)
    assert (found.binding_key, found.thread_id, found.instance_id) == ("manual:a", 11, "i1")
    assert ownership.find(CHAT, 9) is None and ownership.find(CHAT + 1, 2) is None
    assert set(ownership.find_many(CHAT, [1, 3, 9])) == {1, 3}


def test_a_message_keeps_the_time_it_was_first_seen(ownership):
    ownership.record(CHAT, 1, "manual:b", 12, "i2", "g2", epoch=1, now=900)
    found = ownership.find(CHAT, 1)
    assert (found.binding_key, found.created_ms, found.updated_ms) == ("manual:b", 100, 900)


def test_messages_follow_their_binding_to_another_instance(ownership):
    assert ownership.rebind("manual:a", "i2", "g2", epoch=1, now=500) == 3
    assert ownership.find(CHAT, 1).instance_id == "i2"
    assert ownership.rebind("manual:a", "i2", "g2", epoch=1, now=600) == 0
    assert ownership.rebind("manual:a", "i2", None, epoch=1, now=600) == 3


def test_old_ones_and_too_many_are_forgotten(ownership):
    assert ownership.prune(150, keep_newest=10, epoch=1) == 1
    assert ownership.prune(0, keep_newest=1, epoch=1) == 1
    assert set(ownership.find_many(CHAT, [1, 2, 3])) == {3}


def test_a_thread_takes_its_messages_along(ownership):
    assert ownership.forget_target(CHAT, 11, epoch=1) == 3


def test_ownership_is_the_leaders_to_write(ownership, database):
    depose(database)
    for write in (
        lambda: ownership.record(CHAT, 1, "manual:b", 12, "i2", "g2", epoch=1, now=900),
        lambda: ownership.rebind("manual:a", "i2", "g2", epoch=1, now=500),
        lambda: ownership.prune(900, keep_newest=0, epoch=1),
        lambda: ownership.forget_target(CHAT, 11, epoch=1),
    ):
        with pytest.raises(Deposed):
            write()
    assert len(ownership.find_many(CHAT, [1, 2, 3])) == 3


# -- observations --------------------------------------------------------------------------------


def test_the_last_thing_seen_of_a_thread(database):
    observations = Observations(database)
    observations.record(CHAT, 11, "closed", epoch=1, now=100, error="topic closed")
    observations.record(CHAT, 11, "open", epoch=1, now=200)
    observations.record(CHAT, 12, "deleted", epoch=1, now=150, slot="B", action="mark-stale")
    assert [one.thread_id for one in observations.all()] == [12, 11]
    assert (observations.get(CHAT, 11).sync_status, observations.get(CHAT, 11).error) == (
        "open",
        None,
    )
    with pytest.raises(Deposed):
        observations.settle(CHAT, 11, epoch=2)
    observations.settle(CHAT, 11, epoch=1)
    assert observations.forget_before(151, epoch=1) == 1
    assert observations.all() == ()


# -- settings ------------------------------------------------------------------------------------


def test_what_is_known_of_a_bot_and_its_past(database):
    settings = BusSettings(database)
    assert (settings.bot(), settings.led_before(), settings.first_started_ms()) == (
        None, False, None
    )
    settings.record_bot(username="work_bot", topics=True, epoch=1)
    settings.record_first_start(epoch=1, now=100)
    settings.record_first_start(epoch=1, now=200)
    settings.record_led(epoch=1, now=300)
    settings.record_led(epoch=1, now=400)
    assert settings.bot() == BotFacts("work_bot", True)
    assert settings.led_before()
    assert (settings.first_started_ms(), settings.first_led_ms(), settings.last_led_ms()) == (
        100, 300, 400
    )
