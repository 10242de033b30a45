"""A selector for one look, which is how Thespian's transport uses every selector it makes.

An epoll object is worth its making when the same descriptors are looked at many times. Made anew for each
message it costs one system call to make, one for each descriptor and one to close; `poll` costs one in all,
and no descriptor of its own, of which a flood of connections may have left none.
"""

import errno
import math
import os
import select
import selectors
from typing import NamedTuple

_EVENTS = {selectors.EVENT_READ: select.POLLIN, selectors.EVENT_WRITE: select.POLLOUT}


class Seen(NamedTuple):
    """Stands for a `selectors.SelectorKey`."""

    fd: int


class PollOnce:
    """The part of a selector that Thespian's transport uses."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._wanted: dict[int, int] = {}

    def register(self, fd: int, events: int) -> None:
        """Look at this descriptor for `selectors.EVENT_READ` or `EVENT_WRITE`."""
        wanted = self._wanted[fd] = self._wanted.get(fd, 0) | _EVENTS[events]
        self._poll.register(fd, wanted)

    def select(self, timeout: float | None = None) -> list[tuple[Seen, int]]:
        """What is ready within `timeout` seconds (None: for ever), as `selectors` tells it.

        Raises OSError (EBADF) when a descriptor is none, as epoll does when it is registered.
        """
        ready = self._poll.poll(None if timeout is None else math.ceil(timeout * 1_000))
        seen = []
        for fd, event in ready:
            if event & select.POLLNVAL:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            # An error or a hang-up is told to whoever waits, for whatever it waits, and for nothing else.
            wanted = self._wanted[fd]
            reads = selectors.EVENT_READ if event & ~select.POLLOUT and wanted & select.POLLIN else 0
            writes = selectors.EVENT_WRITE if event & ~select.POLLIN and wanted & select.POLLOUT else 0
            seen.append((Seen(fd), reads | writes))
        return seen

    def close(self) -> None:
        """There is nothing to free."""


class Selectors:
    """Stands for the module `selectors` in Thespian's transport."""

    DefaultSelector = PollOnce
    EVENT_READ = selectors.EVENT_READ
    EVENT_WRITE = selectors.EVENT_WRITE
