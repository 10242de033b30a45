"""One connection of the bus at the leader's end: its lines in and out, and how much of either may wait.

Requests wait here until the endpoint takes them, one at a time and in turn with those of other connections. A
peer with many unanswered requests, or with much unread, is not read from until that is less; one that still
fills its bounded buffer is dropped. It knows nothing of what the lines say, and never blocks.
"""

import collections
import selectors
import socket

from actors.bus_line import CHUNK, Line, LineSplitter
from actors.event_log import log_event

MOST_UNANSWERED = 1_024
"""Requests of one connection that may wait for their answers before no more are read."""
MUCH_WAITING = 4 * 1024 * 1024
"""Bytes of requests that may wait here; lines may be long, so their number alone bounds nothing."""
MUCH_UNREAD = 1024 * 1024
"""With so many bytes unread by a peer, nothing more is read from it until it has read most of them."""
MAX_UNSENT_BYTES = 4 * 1024 * 1024
"""What may wait for a peer that does not read before it is dropped."""


class BusConnection:
    """One peer."""

    def __init__(self, number: int, peer: socket.socket, peer_pid: int | None = None) -> None:
        peer.setblocking(False)
        self.number, self.peer_pid = number, peer_pid
        self.watched_for = 0
        """The events that the endpoint watches it for."""
        self.has_turn = False
        self.is_told = False
        """The end of it was reported."""
        self.lines: collections.deque[Line] = collections.deque()
        self.unanswered = 0
        self.is_over = False
        """The peer says nothing more, or is gone."""
        self._is_broken = False
        self._peer = peer
        self._splitter = LineSplitter()
        self._unsent = bytearray()
        self._waiting_bytes = 0
        self._is_reading = True

    def fileno(self) -> int:
        """For a selector."""
        return self._peer.fileno()

    @property
    def wanted(self) -> int:
        """The events that it waits for now."""
        reads = selectors.EVENT_READ if self._is_reading and not self.is_over else 0
        return reads | (selectors.EVENT_WRITE if self._unsent else 0)

    @property
    def is_done(self) -> bool:
        """Nothing can come of it any more. A peer that only stopped speaking is answered first."""
        waits = self.unanswered or self.lines or self._unsent
        return self._is_broken or (self.is_over and not waits)

    def read(self) -> None:
        """Take a portion of what the peer said."""
        try:
            portion = self._peer.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.drop()
            return
        if portion:
            for line in self._splitter.feed(portion):
                self.lines.append(line)
                self._waiting_bytes += _size(line)
        else:
            unfinished = self._splitter.end()
            if unfinished is not None:
                self.lines.append(unfinished)
            self.is_over = True
        self._mind()

    def take(self) -> Line:
        """The next line; it counts as unanswered until `settled` says otherwise."""
        self.unanswered += 1
        line = self.lines.popleft()
        self._waiting_bytes -= _size(line)
        return line

    def settled(self, count: int = 1) -> None:
        """So many of the lines taken were answered, or need no answer."""
        self.unanswered -= count
        self._mind()

    def write(self, lines: list[bytes]) -> None:
        """Send these lines, now or when the peer reads again; one that never does is dropped."""
        if self._is_broken:
            return
        said = lines[0] if len(lines) == 1 else b"".join(lines)
        sent = 0 if self._unsent else self._send(said)
        if sent < len(said):
            self._unsent += said[sent:]
            self._mind()
        if len(self._unsent) > MAX_UNSENT_BYTES:
            log_event("bus.never_reads", "WARNING", connection=self.number)
            self.drop()

    def flush(self) -> None:
        """The peer takes more."""
        sent = self._send(bytes(self._unsent[:MUCH_UNREAD]))
        del self._unsent[:sent]
        self._mind()

    def drop(self) -> None:
        """Give it up; what it said is still heard, receipts above all."""
        self._is_broken = self.is_over = True
        self._unsent.clear()

    def close(self) -> None:
        """Free the socket."""
        self.drop()
        self._peer.close()

    def _send(self, said: bytes) -> int:
        try:
            return self._peer.send(said)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self.drop()
            return len(said)

    def _mind(self) -> None:
        """Read from this peer, or do not."""
        waiting, unread = self.unanswered + len(self.lines), len(self._unsent)
        if self._is_reading:
            is_little = waiting < MOST_UNANSWERED and self._waiting_bytes < MUCH_WAITING
            self._is_reading = is_little and unread <= MUCH_UNREAD
        else:
            # Well below: not on and off with every single answer.
            is_little = waiting <= MOST_UNANSWERED // 2 and self._waiting_bytes < MUCH_WAITING // 2
            self._is_reading = is_little and unread <= MUCH_UNREAD // 4


def _size(line: Line) -> int:
    return len(line) if isinstance(line, bytes) else 0
