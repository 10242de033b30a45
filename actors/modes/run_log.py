"""The full output of one run, in a file of its owner alone; the newest fifty are kept, and not more than fit.

A command that prints for ever must not fill the disk, or nobody could take a message any more.

A run does not fail because its output cannot be kept: the failure is remembered and told at the
end.
"""

import contextlib
import os
from pathlib import Path

from actors.plans.command_run import Kept
from stores.private_files import make_private_directory

KEPT_RUNS = 50
LARGEST_LOG = 64 << 20
"""Bytes of one run; what comes after them is not kept, and the file says so."""
MOST_KEPT = 256 << 20
"""Bytes of all runs that are over."""
_CUT = b"\n[The rest is not kept.]\n"


class RunLog:
    """Takes the output as it comes, byte for byte."""

    def __init__(self, directory: Path, run_id: str) -> None:
        self._path = directory / f"{run_id}.log"
        self._descriptor: int | None = None
        self._failure: str | None = None
        self._room = LARGEST_LOG
        self._is_cut = False
        try:
            make_private_directory(directory)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
        except OSError as failure:
            self._fail(failure)
        _keep_newest(directory)

    def write(self, printed: bytes) -> None:
        """Keep some more output."""
        if self._descriptor is None or self._is_cut:
            return
        kept = printed[: self._room]
        self._room -= len(kept)
        self._is_cut = len(kept) < len(printed)
        try:
            rest = memoryview(kept + _CUT if self._is_cut else kept)
            while rest:
                rest = rest[os.write(self._descriptor, rest):]
        except OSError as failure:
            self._fail(failure)

    def close(self) -> Kept:
        """The run is over; tells where its output is."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        return Kept(path=None if self._failure else str(self._path), failure=self._failure)

    def _fail(self, failure: OSError) -> None:
        self._failure = failure.strerror or type(failure).__name__
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


def _keep_newest(directory: Path) -> None:
    with contextlib.suppress(OSError):
        logs = [(log.stat().st_mtime_ns, log.stat().st_size, log) for log in directory.glob("*.log")]
        total = 0
        for number, (_, size, log) in enumerate(sorted(logs, reverse=True), 1):
            total += size
            if number > KEPT_RUNS or total > MOST_KEPT:
                log.unlink(missing_ok=True)
