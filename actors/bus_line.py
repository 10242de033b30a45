"""Framing of the bus: lines out of a stream, and never more memory than one line may take."""

import asyncio
import collections
import dataclasses

from messages.bus import MAX_LINE

CHUNK = 64 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class LineTooLong:
    """A line that was thrown away as it arrived; `length` in bytes."""

    length: int


Line = bytes | LineTooLong


class LineSplitter:
    """Makes lines, without their newline, of the portions in which a stream comes."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._begun = bytearray()
        self._discarded = 0

    @property
    def kept(self) -> int:
        """Bytes of a line that is not complete."""
        return len(self._begun)

    def feed(self, portion: bytes) -> list[Line]:
        """The lines that are complete now."""
        first, *others = portion.split(b"\n")
        self._keep(first)
        if not others:
            return []
        *whole, begun = others
        lines = [self._completed()]
        for line in whole:
            lines.append(line if len(line) < self._max_line else LineTooLong(len(line) + 1))
        self._keep(begun)
        return lines

    def end(self) -> LineTooLong | None:
        """The stream is over: an unfinished line is lost, one that was too long already is told."""
        length, self._discarded = self._discarded, 0
        self._begun.clear()
        return LineTooLong(length) if length else None

    def _keep(self, part: bytes) -> None:
        if self._discarded or len(self._begun) + len(part) >= self._max_line:
            self._discarded += len(self._begun) + len(part)
            self._begun.clear()
        else:
            self._begun += part

    def _completed(self) -> Line:
        length, self._discarded = self._discarded + len(self._begun) + 1, 0
        line = bytes(self._begun)
        self._begun.clear()
        return line if length <= self._max_line else LineTooLong(length)


class LineReader:
    """Reads the lines of one stream."""

    def __init__(self, reader: asyncio.StreamReader, max_line: int = MAX_LINE) -> None:
        self._reader = reader
        self._splitter = LineSplitter(max_line)
        self._lines: collections.deque[Line] = collections.deque()

    @property
    def kept(self) -> int:
        """Bytes of a line that is not complete."""
        return self._splitter.kept

    async def next(self) -> Line | None:
        """The next line without its newline; None at the end, where an unfinished line is lost."""
        while not self._lines:
            portion = await self._reader.read(CHUNK)
            if not portion:
                return self._splitter.end()
            self._lines.extend(self._splitter.feed(portion))
        return self._lines.popleft()
