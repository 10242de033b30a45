"""A campaign for the lease, and what goes before it when the owner is silent and not dead.

A process that is suspended in the middle of a transaction keeps the write lock of the database: by SIGSTOP, by
Ctrl-Z, in a frozen container. Nobody could take its lease then, nor lead after having taken it. So an actor of
a silent leader that is found like that is killed, as its launcher would do if it were not suspended as
well. SQLite rolls its transaction back, and the tree it belonged to is void once the lease is taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from actors.clock import boot_ms
from actors.event_log import log_event
from actors.lease_watch import LeaseWatch
from actors.plans.election import Standing
from actors.tree_stores import open_bus, open_ingress
from stores import write_lock
from stores.lease import Lease, LeaseRecord, Owner
from stores.process_birth import Liveness, liveness

_SUSPENDED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


async def campaign(
    lease: Lease,
    watch: LeaseWatch,
    candidate: Owner,
    secret: str,
    settings: Callable[[], Mapping[str, Any]],
) -> LeaseRecord | None:
    """Take the lease if it still is as the watch saw it; None: somebody was faster, or its owner spoke.

    `settings` are those of the tree that would lead then: they tell which databases it needs.
    """
    seen, owner = watch.record, watch.record.owner
    if watch.standing is Standing.STALE and owner is not None:
        needed = settings()
        databases = (open_bus(needed).path, open_ingress(needed).path)
        await asyncio.to_thread(end_suspended_writers, owner, databases)
    return lease.campaign(seen, candidate, boot_ms(), secret)


def end_suspended_writers(owner: Owner, databases: Sequence[Path]) -> None:
    """Kill the actors of this silent leader that are suspended while they write to one of these files."""
    for database in databases:
        pid = write_lock.holder(database)
        if pid is not None and pid != owner.pid:
            _end(pid, owner, database)


def suspended_writer(database: Path) -> int | None:
    """The pid of a suspended process in the middle of a write to this file, if there is one."""
    pid = write_lock.holder(database)
    try:
        return pid if pid is not None and psutil.Process(pid).status() in _SUSPENDED else None
    except psutil.Error:
        return None


def _end(pid: int, owner: Owner, database: Path) -> None:
    try:
        writer = psutil.Process(pid)
        if writer.status() not in _SUSPENDED or not _is_below(writer, owner):
            return
        # By pid and birth: another process with its pid is not meant.
        writer.kill()
    except psutil.Error:
        return
    log_event("campaign.suspended_writer_killed", "WARNING", writer=pid, database=database.name)


def _is_below(process: psutil.Process, owner: Owner) -> bool:
    if liveness(owner.pid, owner.boot_id, owner.birth) is not Liveness.ALIVE:
        return False
    return any(ancestor.pid == owner.pid for ancestor in process.parents())
