"""No orphans: every process forked below the launcher ends when the launcher does.

One at-fork hook does it. In each forked child it

* closes the descriptors registered with ``close_in_children``: a child that keeps a listening
  socket makes connects to a dead endpoint succeed, and one that keeps a connection hides its end;
* asks the kernel to SIGKILL the process when its parent dies, which also reaches a stopped one;
* starts a thread that waits for the end of the launcher and then SIGKILLs its own process, whatever
  the mailbox, the event loop or a handler is doing.

The launcher calls ``install`` once, before it forks anything. Without pidfds (macOS) the thread
waits with kqueue; without either it asks four times a second.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import select
import signal
import sys
import time

LAUNCHER_NAME = "sb-launcher"
"""The name of every launcher in process lists."""

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

_ASK_EVERY = 0.25
_ADOPTION_PAUSE = 0.002

# Loaded before any fork: a child only calls through it.
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

_to_close: set[int] = set()
_launcher_pid: int | None = None
_launcher_pidfd: int | None = None
_forking_pid = 0  # who called fork last, here or in the parent
_parent_pid = 0  # by whom this process was forked
_depth = 0  # forks between the launcher and this process


def prctl(option: int, value: int | bytes) -> bool:
    """Linux only; elsewhere, and when the kernel refuses, False."""
    if _libc is None:
        return False
    argument = ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
    zero = ctypes.c_ulong(0)
    return _libc.prctl(option, argument, zero, zero, zero) == 0


def become_subreaper() -> bool:
    """Orphaned descendants of this process become its children; so it can end and reap them."""
    return prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_on_parent_death(number: int) -> None:
    prctl(_PR_SET_PDEATHSIG, number)


def name_process(name: str) -> None:
    """The short name in process lists (15 bytes)."""
    prctl(_PR_SET_NAME, name.encode()[:15])


def open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where there is no such."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def close_in_children(fd: int) -> None:
    """From now on the children of this process close this descriptor as their first act."""
    _to_close.add(fd)


def forget(fd: int) -> None:
    """The descriptor was closed here, so its number may come to mean something else."""
    _to_close.discard(fd)


def install() -> None:
    """Makes this process the launcher: what is forked from here on does not outlive it."""
    global _launcher_pid, _launcher_pidfd, _depth
    first = _launcher_pid is None
    _launcher_pid = os.getpid()
    _launcher_pidfd = open_pidfd(_launcher_pid)
    _depth = 0
    if first:
        os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)


def _before_fork() -> None:
    global _forking_pid
    _forking_pid = os.getpid()


def _after_fork_in_child() -> None:
    global _depth, _parent_pid
    _depth += 1
    _parent_pid = _forking_pid
    drop_inherited()
    # Thespian's admin is forked twice and its parent leaves at once: signalled now it would die
    # with that parent. Its thread asks for the signal once it belongs to the launcher.
    adopted_later = _depth == 2
    if not adopted_later:
        _die_with(_parent_pid)
    _thread.start_new_thread(_watch, (adopted_later,))


def drop_inherited() -> None:
    """Lets go of what the descriptors meant but keeps their numbers taken.

    The objects that own them exist in this process too. If one is collected later it closes its
    number again, which must not by then belong to somebody else.
    """
    if not _to_close:
        return
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd in _to_close:
        os.dup2(null, fd, inheritable=False)
    os.close(null)
    _to_close.clear()


def _die_with(parent: int) -> None:
    signal_on_parent_death(signal.SIGKILL)
    # The parent may have died before the kernel was asked.
    if os.getppid() != parent:
        _end()


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _watch(adopted_later: bool) -> None:
    # Signals are the main thread's: one delivered here would not wake it.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    if adopted_later:
        await_adoption()
    while not _launcher_ended(None):
        pass
    _end()


def await_adoption() -> None:
    """In Thespian's admin, before it starts anything: until the launcher's end is its own end.

    Its thread would see to that as well, but until it has, a stopped admin would outlive the launcher.
    """
    while os.getppid() == _parent_pid and not _launcher_ended(_ADOPTION_PAUSE):
        pass
    if os.getppid() == _launcher_pid:
        _die_with(os.getppid())


def _launcher_ended(within: float | None) -> bool:
    """Waits for the end of the launcher, at most so many seconds (None: as long as it takes)."""
    if _launcher_pidfd is not None:
        poll = select.poll()
        poll.register(_launcher_pidfd, select.POLLIN)
        return bool(poll.poll(None if within is None else max(1, int(within * 1000))))
    assert _launcher_pid is not None
    if hasattr(select, "kqueue"):
        return _kqueue_reports_end(_launcher_pid, within)
    time.sleep(_ASK_EVERY if within is None else within)
    return not is_running(_launcher_pid)


def _kqueue_reports_end(pid: int, within: float | None) -> bool:
    queue = select.kqueue()  # type: ignore[attr-defined,unused-ignore]
    try:
        event = select.kevent(  # type: ignore[attr-defined,unused-ignore]
            pid, filter=select.KQ_FILTER_PROC,  # type: ignore[attr-defined,unused-ignore]
            flags=select.KQ_EV_ADD,  # type: ignore[attr-defined,unused-ignore]
            fflags=select.KQ_NOTE_EXIT)  # type: ignore[attr-defined,unused-ignore]
        return bool(queue.control([event], 1, within))
    except ProcessLookupError:
        return True
    except OSError:
        time.sleep(_ASK_EVERY)
        return not is_running(pid)
    finally:
        queue.close()


def is_running(pid: int) -> bool:
    """Whether there is such a process; only as good as pids are, for systems without pidfds."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
