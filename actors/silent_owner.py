"""A lease owner that is silent and not dead, and what of it would stand in the way of the next one.

A process that is suspended in the middle of a transaction (SIGSTOP, a debugger) keeps the write lock of the
database. Nobody could take its lease then, nor lead after having taken it. So an actor of a silent leader that is
found like that is killed, as its launcher would do if it were not suspended as well. SQLite rolls its transaction
back, and the tree it belonged to is void once the lease is taken. Whatever else runs below the owner (an agent, a
command, a shell) is never touched. Without a subreaper (macOS) no actor can be told from other processes, and
none is killed: the next leader says then who is in its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from actors.event_log import log_event
from actors.lease_watch import LeaseWatch
from actors.orphans import LAUNCHER_NAME
from actors.plans.election import Standing
from stores import write_lock
from stores.home import INGRESS_FILE
from stores.lease import Owner
from stores.process_birth import Liveness, liveness

if TYPE_CHECKING:
    import psutil


async def make_way(watch: LeaseWatch, bus: Path) -> None:
    """Before a campaign for the lease in this `bus.db`: end what holds the locks of a silent owner."""
    owner = watch.record.owner
    if watch.standing is Standing.STALE and owner is not None:
        await asyncio.to_thread(end_suspended_writers, owner, (bus, bus.with_name(INGRESS_FILE)))


def end_suspended_writers(owner: Owner, databases: Sequence[Path]) -> None:
    """Kill the actors of this silent leader that are suspended while they write to one of these files."""
    for database in databases:
        writer = _suspended_writer(database)
        if writer is not None and _is_actor_of(owner, writer):
            _kill(writer, database)


def suspended_writer(database: Path) -> int | None:
    """The pid of a suspended process in the middle of a write to this file, if there is one."""
    writer = _suspended_writer(database)
    return None if writer is None else writer.pid


def _suspended_writer(database: Path) -> psutil.Process | None:
    import psutil

    pid = write_lock.holder(database)
    try:
        writer = None if pid is None else psutil.Process(pid)
        suspended = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
        return writer if writer is not None and writer.status() in suspended else None
    except psutil.Error:
        return None


def _is_actor_of(owner: Owner, process: psutil.Process) -> bool:
    """Whether it descends from the owner's launcher: whatever main executes is a child of main itself."""
    import psutil

    try:
        launchers = [each for each in process.parents() if each.ppid() == owner.pid]
        is_ours = any(
            # Where processes cannot be named: a copy of main has its command line.
            each.name() == LAUNCHER_NAME or each.cmdline() == psutil.Process(owner.pid).cmdline()
            for each in launchers
        )
    except psutil.Error:
        return False
    return is_ours and liveness(owner.pid, owner.boot_id, owner.birth) is Liveness.ALIVE


def _kill(writer: psutil.Process, database: Path) -> None:
    import psutil

    try:
        # By pid and birth: another process with its pid is not meant.
        writer.kill()
    except psutil.Error:
        return
    log_event("silent_owner.writer_killed", "WARNING", writer=writer.pid, database=database.name)
