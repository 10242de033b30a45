"""Watching the lease: real rows, real processes."""

import asyncio
import dataclasses
import subprocess
import sys

import pytest

from actors import lease_watch
from actors.clock import boot_ms
from actors.lease_watch import LeaseWatch
from actors.plans.election import Standing
from stores.bus_schema import METADATA
from stores.database import Database
from stores.lease import Lease, Owner
from stores.process_birth import ProcessBirth, liveness
from tests.support.manual_clock import ManualClock


@pytest.fixture
def lease(tmp_path):
    database = Database(tmp_path / "bus.db", METADATA, "bus")
    yield Lease(database)
    database.close()


@pytest.fixture
def leader():
    """A process that can own a lease and be killed."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()
    process.stdin.close()


def owner_of(process):
    birth = ProcessBirth.of(process.pid)
    return Owner(birth.pid, birth.boot_id, birth.wire, f"{birth.pid}:1")


def grant(lease, owner):
    record = lease.campaign(lease.read(), owner, boot_ms(), "s" * 43)
    lease.publish_endpoint(owner, record.epoch, "/socket")
    return record


@pytest.fixture
def never_by_the_clock(monkeypatch):
    """What is known within a test was not found out by the usual look at the row."""
    monkeypatch.setattr(lease_watch, "LOOK_EVERY_S", 600.0)


def test_the_death_of_the_owner_is_known_at_once(lease, leader, never_by_the_clock):
    grant(lease, owner_of(leader))

    async def watching():
        watch = LeaseWatch(lease, "2:2")
        assert watch.standing is Standing.FRESH
        asyncio.get_running_loop().call_later(0.05, leader.kill)
        await asyncio.wait_for(watch.changed(), 10)
        watch.close()
        return watch.standing, watch.last_owner.pid

    standing, pid = asyncio.run(watching())
    assert standing is Standing.OWNER_DEAD
    assert pid == leader.pid


def test_a_death_while_nobody_waits_is_known_to_the_next_who_does(lease, leader, never_by_the_clock):
    grant(lease, owner_of(leader))

    async def watching():
        watch = LeaseWatch(lease, "2:2")
        leader.kill()
        leader.wait()
        # The loop hears of it once, now.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.wait_for(watch.changed(), 10)
        watch.close()
        return watch.standing

    assert asyncio.run(watching()) is Standing.OWNER_DEAD


def test_a_process_with_the_pid_of_the_owner_is_not_taken_for_it(lease, leader):
    true = owner_of(leader)
    reused = dataclasses.replace(true, birth=f"{true.pid}:start:1", instance_id="3:3")

    async def watching():
        seen = []
        grant(lease, reused)
        watch = LeaseWatch(lease, "2:2")
        for owner in (reused, true, reused):
            lease.release(lease.read().owner, lease.read().epoch)
            grant(lease, owner)
            seen += [watch.look(), watch.look()]
        watch.close()
        return seen

    dead, alive = [Standing.OWNER_DEAD] * 2, [Standing.FRESH] * 2
    assert asyncio.run(watching()) == [*dead, *alive, *dead]


def test_a_watched_owner_is_asked_for_its_birth_once(lease, leader):
    grant(lease, owner_of(leader))
    asked = []

    def alive(*process):
        asked.append(process)
        return liveness(*process)

    async def watching():
        watch = LeaseWatch(lease, "2:2", alive)
        has_pidfd = watch._watch.pidfd is not None
        seen = {watch.look() for _ in range(3)}
        watch.close()
        return seen, has_pidfd

    seen, has_pidfd = asyncio.run(watching())
    assert seen == {Standing.FRESH}
    assert len(asked) == (1 if has_pidfd else 4)


def test_a_change_of_the_row_is_seen_and_a_heartbeat_is_none(lease, leader):
    owner = owner_of(leader)
    record = grant(lease, owner)

    async def watching():
        watch = LeaseWatch(lease, "2:2")
        changed = asyncio.create_task(watch.changed())
        lease.refresh(owner, record.epoch, boot_ms() + 1)
        done, _ = await asyncio.wait({changed}, timeout=1.3)
        assert not done
        lease.release(owner, record.epoch)
        await asyncio.wait_for(changed, 2)
        watch.close()
        return watch.standing

    assert asyncio.run(watching()) is Standing.VACANT


def test_without_a_leader_it_looks_closely(lease, never_by_the_clock):
    async def watching():
        watch = LeaseWatch(lease, "2:2")
        changed = asyncio.create_task(watch.changed())
        birth = ProcessBirth.current()
        grant(lease, Owner(birth.pid, birth.boot_id, birth.wire, "1:1"))
        await asyncio.wait_for(changed, 10)
        watch.close()
        return watch.standing

    assert asyncio.run(watching()) is Standing.FRESH


def test_a_silent_owner_becomes_stale(lease, leader):
    grant(lease, owner_of(leader))
    late = boot_ms() + 8_100

    async def watching():
        watch = LeaseWatch(lease, "2:2", clock=lambda: late)
        watch.close()
        return watch.standing

    assert asyncio.run(watching()) is Standing.STALE


def test_the_own_lease_is_ours(lease):
    birth = ProcessBirth.current()
    grant(lease, Owner(birth.pid, birth.boot_id, birth.wire, "2:2"))

    async def watching():
        watch = LeaseWatch(lease, "2:2")
        watch.close()
        return watch.standing, watch.last_owner

    assert asyncio.run(watching()) == (Standing.OURS, None)


def test_a_machine_that_slept_deposes_nobody(lease, leader):
    """Every lease is stale when it wakes; an owner that stays silent is replaced a little later."""
    owner, now = owner_of(leader), boot_ms()
    record = grant(lease, owner)

    async def watching():
        clock = ManualClock(boot=now)
        watch = LeaseWatch(lease, "2:2", clock=lambda: clock.boot)
        clock.move(600_000)
        assert watch.look() is Standing.FRESH
        lease.refresh(owner, record.epoch, clock.boot)
        clock.move(2_000)
        assert watch.look() is Standing.FRESH
        clock.move(600_000)
        seen = []
        for _ in range(4):
            seen.append(watch.look())
            clock.move(1_000)
        assert seen == [Standing.FRESH] * 3 + [Standing.STALE]
        watch.close()

    asyncio.run(watching())
