"""Which process is in the middle of a write to a database file, or reads its log anew after a crash.

SQLite tells a writer that somebody else writes, and never who. The lock is one byte of the `-shm` file beside
the database (SQLite's WAL-mode file format, "Locking"), and the kernel knows its holder. It has to be asked by a
process that is not ours: whoever closes a file gives up all of its own locks on it, so to look from within
would end the locks of our own connections. Run as a program this file is that process.
"""

from __future__ import annotations

import fcntl
import struct
import subprocess
import sys
from pathlib import Path

_WRITE_LOCK_BYTE = 120
_ANSWERS_WITHIN_S = 1.0

if sys.platform == "darwin":
    # off_t start, off_t length, pid_t pid, short type, short whence
    _LOCK, _FIELDS = struct.Struct("qqihh"), ("start", "length", "pid", "type", "whence")
else:
    # short type, short whence, off_t start, off_t length, pid_t pid, and the padding of C
    _LOCK, _FIELDS = struct.Struct("hhqqi0q"), ("type", "whence", "start", "length", "pid")


def holder(database: Path) -> int | None:
    """The pid of the process that holds the write lock now; None when there is none, or it cannot be told."""
    looking = [sys.executable, "-I", "-S", __file__, f"{database}-shm"]
    try:
        told = subprocess.run(
            looking, capture_output=True, stdin=subprocess.DEVNULL, env={}, timeout=_ANSWERS_WITHIN_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return int(told) if told.strip().isdigit() else None


def _look(path: str) -> int | None:
    wanted = {"type": fcntl.F_WRLCK, "whence": 0, "start": _WRITE_LOCK_BYTE, "length": 1, "pid": 0}
    with open(path, "rb", buffering=0) as file:
        found = fcntl.fcntl(file, fcntl.F_GETLK, _LOCK.pack(*(wanted[name] for name in _FIELDS)))
    lock = dict(zip(_FIELDS, _LOCK.unpack(found), strict=True))
    # A holder in another pid namespace has no pid here.
    return lock["pid"] if lock["type"] != fcntl.F_UNLCK and lock["pid"] > 0 else None


if __name__ == "__main__":
    try:
        pid = _look(sys.argv[1])
    except OSError as problem:
        sys.exit(str(problem))
    if pid is not None:
        print(pid)
