"""The lease: one owner, an epoch that only grows, and writes that compare both."""

import dataclasses
import sqlite3
import time

import pytest

from stores.bus_settings import BusSettings
from stores.errors import Deposed
from stores.lease import Lease, LeaseRecord
from tests.support.stores import ANN, BEN, bus_database

NEVER = LeaseRecord(0, None, None, None, None, "vacant")


@pytest.fixture
def lease(tmp_path):
    with bus_database(tmp_path) as database:
        yield Lease(database)


@pytest.fixture
def anns(lease):
    return lease.campaign(lease.read(), ANN, 1_000, "secret-1")


def test_nobody_leads_at_first(lease):
    assert lease.read() == NEVER


def test_who_wins_is_written_with_a_new_epoch_and_no_endpoint(lease, anns):
    assert anns == LeaseRecord(1, ANN, 1_000, None, "secret-1", "starting")
    assert lease.read() == anns


@pytest.mark.case("L195")
def test_whoever_expected_nobody_loses_to_an_owner_that_came(lease, anns):
    assert lease.campaign(NEVER, BEN, 2_000, "secret-2") is None
    assert lease.read() == anns


@pytest.mark.case("L194")
def test_an_owner_that_refreshed_meanwhile_keeps_it(lease, anns):
    assert lease.refresh(ANN, anns.epoch, 3_000)
    assert lease.campaign(anns, BEN, 3_001, "secret-2") is None
    assert lease.read().owner == ANN


@pytest.mark.case("L196", "L197")
def test_the_superseded_owner_can_do_nothing_more(lease, anns):
    bens = lease.campaign(anns, BEN, 10_000, "secret-2")
    assert bens is not None and bens.epoch == 2
    assert not lease.refresh(ANN, 1, 10_001)
    assert not lease.publish_endpoint(ANN, 1, "/ann")
    assert not lease.release(ANN, 1)
    assert lease.renew_epoch(ANN, 1, 10_001, "secret-3") is None
    assert lease.read() == bens


@pytest.mark.parametrize("change", [{"pid": 1}, {"boot_id": "b"}, {"birth": "x"},
                                    {"instance_id": "i"}])
def test_the_owner_is_compared_in_every_part(lease, anns, change):
    almost = dataclasses.replace(ANN, **change)
    assert not lease.refresh(almost, 1, 2_000)
    assert not lease.release(almost, 1)
    assert not lease.epoch_holds(almost, 1, 1_000)


def test_the_holder_tells_where_it_listens(lease, anns):
    assert lease.publish_endpoint(ANN, 1, "/bus.sock")
    found = lease.read()
    assert (found.endpoint, found.state, found.heartbeat_ms) == ("/bus.sock", "starting", 1_000)


def test_refreshing_keeps_everything_else(lease, anns):
    assert lease.refresh(ANN, 1, 3_000)
    assert lease.read() == dataclasses.replace(anns, heartbeat_ms=3_000)


def test_a_fresh_tree_gets_a_new_epoch_and_secret(lease, anns):
    lease.publish_endpoint(ANN, 1, "/bus.sock")
    renewed = lease.renew_epoch(ANN, 1, 2_000, "secret-2")
    assert renewed == LeaseRecord(2, ANN, 2_000, None, "secret-2", "starting")
    assert not lease.refresh(ANN, 1, 2_001)


def test_a_release_leaves_the_epoch_and_no_secret(lease, anns):
    assert lease.release(ANN, 1)
    assert lease.read() == dataclasses.replace(NEVER, epoch=1)
    assert not lease.release(ANN, 1)
    assert lease.campaign(lease.read(), BEN, 5_000, "secret-2").epoch == 2


@pytest.mark.parametrize(
    ("epoch", "now", "holds"),
    [(1, 1_000, True), (1, 7_000, True), (1, 7_001, False), (2, 1_000, False), (0, 1_000, False)],
)
def test_a_call_needs_the_epoch_and_a_young_heartbeat(lease, anns, epoch, now, holds):
    assert lease.epoch_holds(ANN, epoch, now) is holds


def test_no_epoch_holds_after_a_release(lease, anns):
    lease.release(ANN, 1)
    assert not lease.epoch_holds(ANN, 1, 1_000)


def test_the_check_before_a_call_is_cheap(lease, anns):
    """One prepared read: a few times what SQLite alone takes for the row, and no transaction."""
    lease.epoch_holds(ANN, 1, 1_000)
    bare = sqlite3.connect(lease.database.path)
    row = "SELECT heartbeat_ms FROM lease WHERE epoch = ? AND instance_id = ?"

    def hundred(check):
        began = time.perf_counter()
        for _ in range(100):
            check()
        return time.perf_counter() - began

    # In turn and the best of many, since other tests may run beside this one.
    pairs = [
        (
            hundred(lambda: lease.epoch_holds(ANN, 1, 1_000)),
            hundred(lambda: bare.execute(row, (1, ANN.instance_id)).fetchone()),
        )
        for _ in range(20)
    ]
    bare.close()
    ours, floor = (min(times) for times in zip(*pairs, strict=True))
    assert ours < 25 * floor


def test_the_secret_is_in_no_text_of_the_record(lease, anns):
    assert "secret-1" not in repr(anns) + str(anns)


@pytest.mark.case("L198")
def test_a_leaders_write_needs_a_reigning_epoch(lease, anns):
    settings = BusSettings(lease.database)
    settings.put("key", "first", epoch=1)
    for epoch in (0, 2):
        with pytest.raises(Deposed):
            settings.put("key", "second", epoch=epoch)
    lease.release(ANN, 1)
    with pytest.raises(Deposed):
        settings.put("key", "second", epoch=1)
    assert settings.get("key") == "first"
