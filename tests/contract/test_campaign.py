"""A campaign against a silent owner: what it left suspended in the middle of a write does not stand in the way."""

import asyncio
import contextlib
import os
import signal
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from actors.campaign import campaign, end_suspended_writers, suspended_writer
from actors.plans.election import Standing
from actors.tree_stores import open_bus, open_ingress
from stores.lease import Lease, Owner
from stores.process_birth import ProcessBirth
from tests.support.eventually import eventually
from tests.support.forked import start_forked
from tests.support.stores import BEN


@pytest.fixture
def ingress(tmp_path: Path) -> Path:
    """An `ingress.db` that nobody has open."""
    database = open_ingress({"bot_directory": tmp_path})
    database.open()
    database.close()
    return database.path


def suspend_oneself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@contextlib.contextmanager
def writer(path: Path, depth: int, does: Callable[[], None]) -> Iterator[tuple[Owner, psutil.Process]]:
    """A process that does this in the middle of a write, so many forks below the first one; the first, as an owner."""
    heard, told = os.pipe()

    def descend(left: int) -> None:
        if left:
            start_forked(lambda: descend(left - 1))
        else:
            with open_ingress({"bot_directory": path.parent}).transaction():
                os.write(told, b"%d" % os.getpid())
                does()
        signal.pause()

    top = start_forked(lambda: descend(depth))
    os.close(told)
    below = psutil.Process(int(os.read(heard, 16)))
    os.close(heard)
    birth = ProcessBirth.of(top)
    assert birth is not None
    try:
        yield Owner(birth.pid, birth.boot_id, birth.wire, f"{top}:1"), below
    finally:
        first = psutil.Process(top)
        for process in (*first.children(recursive=True), first):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        os.waitpid(top, 0)


def stopped(process: psutil.Process) -> bool:
    return process.status() == psutil.STATUS_STOPPED


def ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_who_is_below_the_owner_and_suspended_while_it_writes_is_ended(ingress: Path) -> None:
    with writer(ingress, 2, suspend_oneself) as (owner, below):
        eventually(lambda: stopped(below))
        assert suspended_writer(ingress) == below.pid
        end_suspended_writers(owner, (ingress.with_name("bus.db"), ingress))
        eventually(lambda: ended(below))
        assert suspended_writer(ingress) is None
        assert psutil.pid_exists(owner.pid)


@pytest.mark.parametrize("depth, does", [(1, signal.pause), (0, suspend_oneself)], ids=["runs", "is-the-owner"])
def test_who_runs_and_the_owner_itself_are_left_alone(
    ingress: Path, depth: int, does: Callable[[], None]
) -> None:
    with writer(ingress, depth, does) as (owner, below):
        eventually(lambda: stopped(below) or does is signal.pause)
        end_suspended_writers(owner, (ingress,))
        assert suspended_writer(ingress) == (below.pid if does is suspend_oneself else None)
        assert not ended(below)


def test_who_is_not_below_the_owner_is_left_alone(ingress: Path) -> None:
    """An owner of another birth is nobody's ancestor either."""
    with writer(ingress, 1, suspend_oneself) as (owner, below):
        eventually(lambda: stopped(below))
        stranger = psutil.Process(start_forked(signal.pause))
        birth = ProcessBirth.of(stranger.pid)
        assert birth is not None
        later = Owner(owner.pid, owner.boot_id, f"{owner.pid}:start:1", owner.instance_id)
        for other in (Owner(birth.pid, birth.boot_id, birth.wire, "other"), later):
            end_suspended_writers(other, (ingress,))
        assert stopped(below)
        stranger.kill()
        os.waitpid(stranger.pid, 0)


@pytest.mark.parametrize("standing", [Standing.STALE, Standing.OWNER_DEAD])
def test_a_campaign_ends_them_only_when_the_owner_is_silent(ingress: Path, standing: Standing) -> None:
    settings = {"bot_directory": ingress.parent}
    with writer(ingress, 1, suspend_oneself) as (owner, below):
        eventually(lambda: stopped(below))
        bus = open_bus(settings)
        lease = Lease(bus)
        watch = types.SimpleNamespace(record=lease.campaign(lease.read(), owner, 1, "secret"), standing=standing)
        won = asyncio.run(campaign(lease, watch, BEN, "secret", lambda: settings))  # type: ignore[arg-type]
        bus.close()
        assert won is not None and won.owner == BEN
        if standing is Standing.STALE:
            eventually(lambda: ended(below))
        assert ended(below) is (standing is Standing.STALE)
