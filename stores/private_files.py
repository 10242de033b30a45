"""Files and directories that belong to one user: 0600 and 0700 whatever the umask says.

Also the one file lock of the project. It is an flock, so the kernel releases it when its holder
is killed; and it is bounded, so that a stopped holder is a clear error and not a hang.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stores.errors import StoreBusy

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
LOCK_TRIES = 1000
LOCK_PAUSE_SECONDS = 0.01


def make_private_directory(path: Path) -> None:
    """Create the directory (and missing parents) and close it to everybody else."""
    # mkdir(parents=True) would leave new parents to the umask.
    for directory in reversed([path, *path.parents]):
        if not directory.exists():
            directory.mkdir(DIRECTORY_MODE, exist_ok=True)
            directory.chmod(DIRECTORY_MODE)
    if stat.S_IMODE(path.stat().st_mode) != DIRECTORY_MODE:
        path.chmod(DIRECTORY_MODE)


def create_private_file(path: Path) -> None:
    """Make sure the file exists with mode 0600, and that its name survives a power loss."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
    finally:
        os.close(descriptor)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make created, renamed and removed names in the directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_private_file(path: Path, content: bytes) -> None:
    """Write the whole file so that a reader, or a crash, sees the old or the new content only."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE
    )
    try:
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), FILE_MODE)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold the lock file exclusively. Not re-entrant; nobody forks inside."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)
        for _ in range(LOCK_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(LOCK_PAUSE_SECONDS)
        else:
            raise StoreBusy(f"({path})")
        yield
    finally:
        os.close(descriptor)
