"""Watching the lease: real rows, real processes."""

import asyncio
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
from stores.process_birth import ProcessBirth


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
