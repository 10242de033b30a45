"""One connection of the bus at the leader's end: its lines in and out, and how much of either may wait.

Requests wait here until the endpoint takes them, one at a time and in turn with those of other connections. A
peer with many unanswered requests, or with much unread, is not read from until that is less; one that still
fills its bounded buffer is dropped. It knows nothing of what the lines say.
"""

import asyncio
import collections
from typing import Any, Protocol

from actors.bus_line import Line, LineSplitter
from actors.event_log import log_event
from actors.orphans import close_in_children, forget

MOST_UNANSWERED = 1_024
"""Requests of one connection that may wait for their answers before no more are read."""
MUCH_UNREAD = 1024 * 1024
"""With so many bytes unread by a peer, nothing more is read from it."""
MAX_UNSENT_BYTES = 4 * 1024 * 1024
"""What may wait for a peer that does not read before it is dropped."""


class Owner(Protocol):
    """Whoever has the connections."""

    def admits(self, connection: "BusConnection") -> bool:
        """Whether it may stay."""

    def wants_turn(self, connection: "BusConnection") -> None:
        """It has lines, or it is over."""

    def is_gone(self, connection: "BusConnection") -> None:
        """Nothing can be written to it any more."""


class BusConnection(asyncio.Protocol):
    """One peer."""

    def __init__(self, number: int, owner: Owner) -> None:
        self.number = number
        self.has_turn = False
        self.is_told = False
        """The end of it was reported."""
        self.peer_pid: int | None = None
        self.transport: Any = None
        self.lines: collections.deque[Line] = collections.deque()
        self.unanswered = 0
        self.is_over = False
        """The peer says nothing more, or is gone."""
        self._owner = owner
        self._splitter = LineSplitter()
        self._descriptor = -1
        self._is_reading = True
        self._reads_us = True

    # -- what asyncio tells ---------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._descriptor = transport.get_extra_info("socket").fileno()
        close_in_children(self._descriptor)
        transport.set_write_buffer_limits(high=MUCH_UNREAD)
        if not self._owner.admits(self):
            transport.abort()

    def data_received(self, data: bytes) -> None:
        lines = self._splitter.feed(data)
        if lines:
            self._queue(lines)

    def eof_received(self) -> bool:
        """The peer may still read: it is answered before the connection is closed."""
        unfinished = self._splitter.end()
        if unfinished is not None:
            self._queue([unfinished])
        self._end()
        return self.unanswered > 0 or bool(self.lines)

    def connection_lost(self, exc: Exception | None) -> None:
        """What it said before is still heard: receipts above all."""
        forget(self._descriptor)
        self._end()
        self._owner.is_gone(self)

    def pause_writing(self) -> None:
        self._reads_us = False
        self._mind()

    def resume_writing(self) -> None:
        self._reads_us = True
        self._mind()

    # -- what the endpoint does -----------------------------------------------------------------

    def take(self) -> Line:
        """The next line; it counts as unanswered until `write` says otherwise."""
        self.unanswered += 1
        return self.lines.popleft()

    def settled(self, count: int = 1) -> None:
        """So many of the lines taken were answered, or need no answer."""
        self.unanswered -= count
        self._mind()
        if self.is_over and not self.unanswered and not self.lines:
            self.transport.close()

    def write(self, lines: list[bytes]) -> None:
        """Send these lines; a peer that never reads is dropped."""
        if self.transport.is_closing():
            return
        self.transport.write(lines[0] if len(lines) == 1 else b"".join(lines))
        if self.transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            log_event("bus.never_reads", "WARNING", connection=self.number)
            self.transport.abort()

    def drop(self) -> None:
        """End the connection now."""
        self.transport.abort()

    def _queue(self, lines: list[Line]) -> None:
        self.lines.extend(lines)
        self._mind()
        self._owner.wants_turn(self)

    def _end(self) -> None:
        if not self.is_over:
            self.is_over = True
            self._owner.wants_turn(self)

    def _mind(self) -> None:
        """Read from this peer, or do not."""
        waiting = self.unanswered + len(self.lines)
        if self._is_reading:
            wanted = self._reads_us and waiting < MOST_UNANSWERED
        else:
            wanted = self._reads_us and waiting <= MOST_UNANSWERED // 2
        if wanted != self._is_reading and not self.is_over:
            self._is_reading = wanted
            if wanted:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()
