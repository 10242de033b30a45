"""Framing of the bus: lines out of a stream, and never more memory than one line may take."""

import asyncio
import dataclasses

from messages.bus import MAX_LINE

CHUNK = 64 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class LineTooLong:
    """A line that was thrown away as it arrived; `length` in bytes."""

    length: int


class LineReader:
    """Reads the lines of one connection."""

    def __init__(self, reader: asyncio.StreamReader, max_line: int = MAX_LINE) -> None:
        self._reader = reader
        self._max_line = max_line
        self._buffer = bytearray()
        self._searched = 0
        self._discarded = 0

    async def next(self) -> bytes | LineTooLong | None:
        """The next line without its newline; None at the end, where an unfinished line is lost."""
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end >= 0:
                return self._take(end)
            self._searched = len(self._buffer)
            if self._discarded or len(self._buffer) >= self._max_line:
                self._discarded += len(self._buffer)
                self._buffer.clear()
                self._searched = 0
            chunk = await self._reader.read(CHUNK)
            if not chunk:
                length, self._discarded = self._discarded, 0
                return LineTooLong(length) if length else None
            self._buffer += chunk

    def _take(self, end: int) -> bytes | LineTooLong:
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        length, self._discarded = self._discarded + end + 1, 0
        return line if length <= self._max_line else LineTooLong(length)
