"""A silent owner of the lease: what it left suspended in the middle of a write does not stand in the way."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from actors import orphans
from actors.plans.election import Standing
from actors.silent_owner import end_suspended_writers, make_way, suspended_writer
from actors.tree_stores import open_ingress
from stores.lease import VACANT, LeaseRecord, Owner
from stores.process_birth import ProcessBirth
from tests.support.ended import ended
from tests.support.eventually import eventually
from tests.support.forked import start_forked


NEVER_GRANTED = LeaseRecord(0, None, None, None, None, VACANT)


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
def writer(path: Path, does: Callable[[], None], *steps: Callable[[], None]) -> Iterator[tuple[Owner, psutil.Process]]:
    """A process that does this in the middle of a write, a fork for each step below the owner; and that owner.

    A step is what the forked process does before it forks the next.
    """
    heard, told = os.pipe()

    def descend(left: Sequence[Callable[[], None]]) -> None:
        if left:
            start_forked(lambda: (left[0](), descend(left[1:])))
        else:
            with open_ingress({"bot_directory": path.parent}).transaction():
                os.write(told, b"%d" % os.getpid())
                does()
        signal.pause()

    top = start_forked(lambda: descend(steps))
    os.close(told)
    below = psutil.Process(int(os.read(heard, 16)))
    os.close(heard)
    try:
        yield owner_with(top), below
    finally:
        first = psutil.Process(top)
        for process in (*first.children(recursive=True), first):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        os.waitpid(top, 0)


def owner_with(pid: int) -> Owner:
    birth = ProcessBirth.of(pid)
    assert birth is not None
    return Owner(birth.pid, birth.boot_id, birth.wire, f"{pid}:1")


def become_launcher() -> None:
    orphans.name_process(orphans.LAUNCHER_NAME)


def become_another() -> None:
    """Whatever main executes has a name of its own, and whatever a launcher forks."""
    orphans.name_process("another")


def stopped(process: psutil.Process) -> bool:
    return process.status() == psutil.STATUS_STOPPED


def test_an_actor_that_is_suspended_while_it_writes_is_ended(ingress: Path) -> None:
    with writer(ingress, suspend_oneself, become_launcher, become_another) as (owner, below):
        eventually(lambda: stopped(below))
        assert suspended_writer(ingress) == below.pid
        end_suspended_writers(owner, (ingress.with_name("bus.db"), ingress))
        eventually(lambda: ended(below))
        assert suspended_writer(ingress) is None
        assert psutil.pid_exists(owner.pid)


LEFT_ALONE = {
    "the owner itself": (suspend_oneself,),
    "a child of the owner": (suspend_oneself, become_another),
    "what it executed in turn": (suspend_oneself, become_another, become_another),
    "a launcher further below": (suspend_oneself, become_another, become_launcher, become_another),
}


@pytest.mark.parametrize("does", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_whoever_else_is_suspended_while_it_writes_is_only_named(
    ingress: Path, does: tuple[Callable[[], None], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Forks of a test all have the command line of the test.
    monkeypatch.setattr(psutil.Process, "cmdline", lambda process: [str(process.pid)])
    with writer(ingress, *does) as (owner, below):
        eventually(lambda: stopped(below))
        end_suspended_writers(owner, (ingress,))
        assert suspended_writer(ingress) == below.pid


def test_an_actor_that_runs_is_left_alone(ingress: Path) -> None:
    with writer(ingress, signal.pause, become_launcher, become_another) as (owner, below):
        end_suspended_writers(owner, (ingress,))
        assert suspended_writer(ingress) is None
        assert not ended(below)


def test_an_actor_of_another_owner_is_left_alone(ingress: Path) -> None:
    """An owner of another birth had this pid before."""
    stranger = start_forked(signal.pause)
    try:
        with writer(ingress, suspend_oneself, become_launcher, become_another) as (owner, below):
            eventually(lambda: stopped(below))
            earlier = dataclasses.replace(owner, birth=f"{owner.pid}:start:1")
            for other in (owner_with(stranger), earlier):
                end_suspended_writers(other, (ingress,))
            assert suspended_writer(ingress) == below.pid
    finally:
        os.kill(stranger, signal.SIGKILL)
        os.waitpid(stranger, 0)


@pytest.mark.parametrize("standing", [Standing.STALE, Standing.FRESH, Standing.OWNER_DEAD, Standing.OURS])
def test_way_is_made_only_for_who_wants_the_lease_of_a_silent_owner(ingress: Path, standing: Standing) -> None:
    with writer(ingress, suspend_oneself, become_launcher, become_another) as (owner, below):
        eventually(lambda: stopped(below))
        record = dataclasses.replace(NEVER_GRANTED, owner=owner)
        watch = types.SimpleNamespace(record=record, standing=standing)
        asyncio.run(make_way(watch, ingress.with_name("bus.db")))  # type: ignore[arg-type]
        if standing is Standing.STALE:
            eventually(lambda: ended(below))
        else:
            assert suspended_writer(ingress) == below.pid
