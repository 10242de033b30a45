"""A non-blocking stream socket that speaks lines, for a selectors loop: it never waits.

What the peer does not take at once is kept until ``flush``; a peer that takes nothing, or sends a line
longer than allowed, counts as gone.
"""

from __future__ import annotations

import socket

from messages.launcher import MAX_LINE

MAX_UNSENT = 4 * MAX_LINE
_CHUNK = 64 * 1024


class LineSocket:
    """One end of a socketpair."""

    def __init__(self, stream: socket.socket) -> None:
        stream.setblocking(False)
        self._stream = stream
        self._received = bytearray()
        self._unsent = bytearray()
        self.ended = False

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent) and not self.ended

    def receive(self) -> list[bytes]:
        """All whole lines that have come; ``ended`` tells when there will be no more."""
        while not self.ended:
            try:
                chunk = self._stream.recv(_CHUNK)
            except BlockingIOError:
                break
            except OSError:
                chunk = b""
            self.ended = not chunk
            self._received += chunk
            if len(self._received) > MAX_LINE and b"\n" not in self._received:
                self.ended = True
        *lines, rest = bytes(self._received).split(b"\n")
        self._received = bytearray(rest)
        return lines

    def send(self, line: bytes) -> None:
        self._unsent += line
        self.flush()
        if len(self._unsent) > MAX_UNSENT:
            self.ended = True

    def flush(self) -> None:
        while self.has_unsent:
            try:
                sent = self._stream.send(self._unsent)
            except BlockingIOError:
                return
            except OSError:
                # What the peer said before it left is still to be read; that read finds the end.
                self._unsent.clear()
                return
            del self._unsent[:sent]

    def close(self) -> None:
        self.ended = True
        self._stream.close()
