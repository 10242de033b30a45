"""Everything this process has started, directly or not: to list it, end it and reap it.

On Linux a subreaper (``orphans.become_subreaper``) stays the ancestor of whatever its descendants leave
behind, so having no child left means having no descendant left; nothing escapes between two looks. Only
descendants are ever signalled: through a pidfd opened before the descent is read again, so that a reused
pid is nobody else's misfortune. Elsewhere psutil does what can be done.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from actors import orphans

_PAUSE = 0.002
_LOOK_EVERY = 0.05


def descendants() -> set[int]:
    """Pids of the living descendants of this process, as one look at a moving thing shows them."""
    if sys.platform != "linux":
        import psutil

        return {each.pid for each in psutil.Process().children(recursive=True)}
    children: dict[int, list[int]] = {}
    for pid, parent in _parents().items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    open_ends = [os.getpid()]
    while open_ends:
        below = children.get(open_ends.pop(), [])
        found.update(below)
        open_ends.extend(below)
    return found


def end_descendants(within: float = 5.0) -> bool:
    """SIGKILLs and reaps all descendants; whether none is left."""
    if sys.platform != "linux":
        return _end_by_psutil(within)
    deadline = time.monotonic() + within
    look_at = 0.0
    while reap():
        now = time.monotonic()
        if now > deadline:
            return False
        if now >= look_at:
            # A look reads every process of the machine; dying takes them some milliseconds.
            signalled = [_kill_descendant(pid) for pid in descendants()]
            # One that moved under the eye is looked for again at once.
            look_at = now + _LOOK_EVERY if all(signalled) else now
        time.sleep(_PAUSE)
    return True


def reap() -> bool:
    """Collects every child of this process that has ended; whether there are others."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not pid:
            return True


def _kill_descendant(pid: int) -> bool:
    """Whether it was signalled, or has ended."""
    pidfd = orphans.open_pidfd(pid)
    try:
        if not _descends(pid):
            return False
        if pidfd is None:
            os.kill(pid, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        if pidfd is not None:
            os.close(pidfd)
    return True


def _descends(pid: int) -> bool:
    ancestor = _parent(pid)
    while ancestor and ancestor != os.getpid():
        ancestor = _parent(ancestor)
    return ancestor is not None and ancestor != 0


def _parents() -> dict[int, int]:
    """The parent of every living process that can be read."""
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return {pid: parent for pid in pids if (parent := _parent(pid)) is not None}


def _parent(pid: int) -> int | None:
    """None when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The command's name may hold anything, a ")" too.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]) if fields and fields[0] not in (b"Z", b"X") else None


def _end_by_psutil(within: float) -> bool:
    import psutil

    # What loses its parent is no longer found, so everything is listed before anything is killed.
    doomed = psutil.Process().children(recursive=True)
    for process in doomed:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            pass
    _, left = psutil.wait_procs(doomed, timeout=within)
    reap()
    return not left
