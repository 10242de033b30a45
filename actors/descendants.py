"""Everything this process has started, directly or not: to list it, end it and reap it.

A process that is a subreaper (``orphans.become_subreaper``) stays the ancestor of whatever its
descendants leave behind, so on Linux the list is complete. Only descendants are ever signalled: the
signal goes through a pidfd opened before the descent is read again.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from actors import orphans

_PAUSE = 0.002


def descendants(ancestor: int | None = None) -> set[int]:
    """Pids of all living descendants of a process (of this one unless told); zombies are none."""
    ancestor = os.getpid() if ancestor is None else ancestor
    return _below(ancestor, _parents())


def end_descendants(spare: frozenset[int] | set[int] = frozenset(), within: float = 5.0) -> set[int]:
    """SIGKILLs all descendants until none is left and reaps them; what survived ``within`` comes back.

    ``spare`` are pids that are left alone with all that is below them.
    """
    deadline = time.monotonic() + within
    while True:
        parents = _parents()
        living = _below(os.getpid(), parents, spare)
        for pid in living:
            _kill_descendant(pid)
        reap()
        if not living or time.monotonic() > deadline:
            return living
        time.sleep(_PAUSE)


def reap() -> int:
    """Collects every child of this process that has ended; how many."""
    count = 0
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return count
        if not pid:
            return count
        count += 1


def _kill_descendant(pid: int) -> None:
    pidfd = orphans.open_pidfd(pid)
    try:
        if pid not in descendants():
            return
        if pidfd is None:
            os.kill(pid, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        if pidfd is not None:
            os.close(pidfd)


def _below(ancestor: int, parents: dict[int, int],
           spare: frozenset[int] | set[int] = frozenset()) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    open_ends = [ancestor]
    while open_ends:
        for pid in children.get(open_ends.pop(), ()):
            if pid not in spare and pid not in found:
                found.add(pid)
                open_ends.append(pid)
    return found


def _parents() -> dict[int, int]:
    """The parent of every living process that can be read."""
    if sys.platform != "linux":
        return _parents_by_psutil()
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The command's name may hold anything, a ")" too.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            parents[int(name)] = int(fields[1])
    return parents


def _parents_by_psutil() -> dict[int, int]:
    import psutil

    parents: dict[int, int] = {}
    for process in psutil.process_iter(["ppid", "status"]):
        if process.info["ppid"] is not None and process.info["status"] != psutil.STATUS_ZOMBIE:
            parents[process.pid] = process.info["ppid"]
    return parents
