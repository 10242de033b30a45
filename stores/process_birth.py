"""Which process a pid meant: proof that a process is dead, or is still the same one.

A pid is reused; a pid with the moment of its birth is not. On Linux the birth is the boot id and
the start ticks since boot, never a wall-clock time; elsewhere it is what psutil tells. Silence
proves nothing: a live pid whose birth cannot be read counts as alive.
"""

from __future__ import annotations

import enum
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
# Fields of /proc/<pid>/stat after the last ')', which ends the (arbitrary) program name.
_STATE_FIELD = 0
_START_TICKS_FIELD = 19
_DEAD_STATES = ("Z", "X", "x")


class Liveness(enum.Enum):
    """What is known about a process named by pid and birth."""

    ALIVE = "alive"
    DEAD = "dead"
    UNVERIFIABLE = "unverifiable"


@dataclass(frozen=True, slots=True)
class ProcessBirth:
    """One process, named so that no later process can be taken for it."""

    pid: int
    boot_id: str
    ticks: str

    @property
    def wire(self) -> str:
        """The text other instances and the database know it by."""
        return f"{self.pid}:start:{self.ticks}"

    @classmethod
    def of(cls, pid: int) -> ProcessBirth | None:
        """The birth of a live process; None when there is none or it cannot be read."""
        glimpse = _glimpse(pid)
        return None if glimpse is None else cls(pid, boot_id(), glimpse[1])

    @classmethod
    def current(cls) -> ProcessBirth:
        """The birth of the calling process."""
        birth = cls.of(os.getpid())
        if birth is None:
            raise OSError("the birth of this process cannot be read")
        return birth


@cache
def boot_id() -> str:
    """The id of this boot; empty where the system has none, and then proves nothing."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def liveness(pid: int, boot: str, wire: str) -> Liveness:
    """Whether the process with this pid, boot id and birth text still runs.

    Dead is said only with proof: no such pid, a zombie, another boot, or another birth.
    """
    if pid <= 0 or (boot and boot_id() and boot != boot_id()):
        return Liveness.DEAD
    glimpse = _glimpse(pid)
    if glimpse is None:
        return Liveness.UNVERIFIABLE if _answers_signals(pid) else Liveness.DEAD
    state, ticks = glimpse
    if state in _DEAD_STATES:
        return Liveness.DEAD
    named_pid, kind, named_ticks = (*wire.split(":", 2), "", "")[:3]
    if kind != "start" or not named_pid.isdigit():
        return Liveness.UNVERIFIABLE
    same = int(named_pid) == pid and named_ticks == ticks
    return Liveness.ALIVE if same else Liveness.DEAD


def _answers_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # Somebody else's process (EPERM) is a process.
        return True
    return True


def _glimpse(pid: int) -> tuple[str, str] | None:
    """State letter and birth ticks of a pid, or None when they cannot be read."""
    if sys.platform == "linux":
        try:
            line = (_PROC / str(pid) / "stat").read_bytes()
        except OSError:
            return None
        return parse_stat(line)
    return _glimpse_by_psutil(pid)


def parse_stat(line: bytes) -> tuple[str, str] | None:
    """State letter and start ticks out of a /proc/<pid>/stat line."""
    fields = line[line.rfind(b")") + 1 :].split()
    if len(fields) <= _START_TICKS_FIELD or not fields[_START_TICKS_FIELD].isdigit():
        return None
    return fields[_STATE_FIELD].decode("ascii"), fields[_START_TICKS_FIELD].decode("ascii")


def _glimpse_by_psutil(pid: int) -> tuple[str, str] | None:
    import psutil

    try:
        process = psutil.Process(pid)
        state = "Z" if process.status() == psutil.STATUS_ZOMBIE else "R"
        return state, f"{process.create_time():.6f}"
    except (psutil.Error, OSError):
        return None
