"""Who still uses the practice chat: every instance holds a shared lock, the server looks for one.

A lock ends with its holder, however that dies. Once the server decides to end it keeps the lock
for itself, so nobody can join a server that is about to go.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import BinaryIO

from stores.private_files import FILE_MODE

LOCK_NAME = "users.lock"


def attend(directory: Path) -> BinaryIO:
    """Count as a user until the file is closed; waits for a server that is about to end."""
    return _shared(directory, fcntl.LOCK_SH)


def attend_at_once(directory: Path) -> BinaryIO:
    """The same without waiting; BlockingIOError when a server is about to end."""
    return _shared(directory, fcntl.LOCK_SH | fcntl.LOCK_NB)


class Attendance:
    """The server's look at it."""

    def __init__(self, directory: Path, idle_ms: int, now_ms: int) -> None:
        self._lock = _opened(directory)
        self._idle_ms = idle_ms
        self._last_seen = now_ms

    def note(self, now_ms: int) -> None:
        """Somebody is here, by other evidence."""
        self._last_seen = now_ms

    def is_over(self, now_ms: int) -> bool:
        """Whether nobody has been here for the whole time; from then on nobody can come."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._last_seen = now_ms
            return False
        if now_ms - self._last_seen >= self._idle_ms:
            return True
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        return False


def _shared(directory: Path, how: int) -> BinaryIO:
    lock = _opened(directory)
    try:
        fcntl.flock(lock, how)
    except BaseException:
        lock.close()
        raise
    return lock


def _opened(directory: Path) -> BinaryIO:
    path = directory / LOCK_NAME
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    os.fchmod(descriptor, FILE_MODE)
    return os.fdopen(descriptor, "r+b", buffering=0)
