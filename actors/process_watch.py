"""Notices the end of one process: by a pidfd in a selector, or by asking where there are none."""

from __future__ import annotations

import os
import select

from actors import orphans


class ProcessWatch:
    """Watches a process that is, at the time of asking, not yet reaped by anybody."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pidfd = orphans.open_pidfd(pid)
        if self._pidfd is not None:
            orphans.close_in_children(self._pidfd)

    @property
    def pidfd(self) -> int | None:
        """Readable once the process has ended; None: ask `ended` now and then."""
        return self._pidfd

    def ended(self, within_ms: int = 0) -> bool:
        """Whether it has ended, or does so within that time (with a pidfd; without, now)."""
        if self._pidfd is not None:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            return bool(poll.poll(within_ms))
        return not orphans.is_running(self.pid)

    def close(self) -> None:
        if self._pidfd is not None:
            orphans.forget(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
