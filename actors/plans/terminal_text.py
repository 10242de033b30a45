"""What a program printed, as text to read: pure, incremental, and bounded however much is printed.

Bytes that are no UTF-8 become replacement characters before they arrive here. Escape sequences are
dropped, a line that redraws itself with carriage returns or backspaces is kept in its last state,
other control characters vanish. Of a long output only the beginning and the end are held.
"""

import dataclasses
import re

from actors.plans.output import MESSAGE_LIMIT, MESSAGES_PER_ANSWER, tail_of

HEAD_CHARACTERS = MESSAGE_LIMIT * MESSAGES_PER_ANSWER
"""More of the beginning than an answer can show is never needed: a character is a unit or two."""

TAIL_CHARACTERS = MESSAGE_LIMIT * 2
"""Enough of the end to fill one message from a line's start."""

_LONGEST_LINE = 32_768
"""A line without an end is taken as finished at this length: it cannot grow without bound."""

_LONGEST_ESCAPE = 2_048
"""An escape sequence that is not finished by then was none."""

# None of these looks past the next escape character, so that no output takes quadratic time.
_ESCAPE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement, erasing
    "|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)"  # OSC and its like: window titles, links
    "|\x1b[ -/]*[0-OQ-WYZ`-~\\\\]"  # the short ones
)
_UNFINISHED = re.compile("\x1b(?:\\[[0-?]*[ -/]*|[\\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\\Z")
_CONTROL = re.compile("[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TRAILING = re.compile("[ \t]+\n")


@dataclasses.dataclass(frozen=True, slots=True)
class TerminalText:
    """The output so far."""

    head: str = ""
    tail: str = ""
    line: str = ""
    """The last line, not finished yet, as it was printed but for its escape sequences."""

    escape: str = ""
    """The beginning of an escape sequence whose end has not arrived."""

    dropped: bool = False
    """Whether something between `head` and `tail` is no longer held."""

    def fed(self, printed: str) -> "TerminalText":
        """The text after `printed` was printed too."""
        pending = self.escape + printed
        unfinished = _UNFINISHED.search(pending, max(0, len(pending) - _LONGEST_ESCAPE))
        escape = unfinished.group() if unfinished else ""
        pending = pending.removesuffix(escape)
        text = (self.line + _ESCAPE.sub("", pending)).replace("\r\n", "\n")
        finished, newline, line = text.rpartition("\n")
        done = _all_settled(finished + newline)
        line = _bounded(line)
        if len(line) > _LONGEST_LINE:
            done, line = done + _settled(line), ""
        return dataclasses.replace(self, line=line, escape=escape)._kept(done)

    @property
    def is_whole(self) -> bool:
        """Whether everything printed is still held."""
        return not self.dropped

    @property
    def is_blank(self) -> bool:
        """Whether nothing was printed that could be shown."""
        return not (self.head.strip() or self.tail.strip() or _settled(self.line).strip())

    def beginning(self) -> str:
        """The beginning: all of it while `is_whole`."""
        if self.dropped:
            return self.head
        return self.head + self.tail + _settled(self.line)

    def end(self, limit: int) -> str:
        """The end of it, at most `limit` units."""
        held = self.tail if self.dropped else self.head + self.tail
        return tail_of((held + _settled(self.line)).rstrip(), limit)

    def _kept(self, done: str) -> "TerminalText":
        """With `done` added to what is held."""
        room = HEAD_CHARACTERS - len(self.head)
        if self.tail or self.dropped:
            room = 0
        head, tail = self.head + done[:room], self.tail + done[room:]
        dropped = self.dropped or len(tail) > 2 * TAIL_CHARACTERS
        # Cut rarely, at twice the size, so that long output is not copied for each line.
        if len(tail) > 2 * TAIL_CHARACTERS:
            tail = tail[-TAIL_CHARACTERS:]
        return dataclasses.replace(self, head=head, tail=tail, dropped=dropped)


def _bounded(line: str) -> str:
    """An unfinished line without the states that it has already drawn over."""
    before, _, after = line.rpartition("\r")
    if not before:
        return line
    # The end of the state before the last is kept while nothing has been drawn over it yet.
    return after if after.strip() else f"{_last_state(before)}\r{after}"


def _all_settled(lines: str) -> str:
    """Finished lines as they stand on the screen in the end."""
    if _CONTROL.search(lines) or "\r" in lines or "\x08" in lines:
        return "".join(f"{_settled(line)}\n" for line in lines.split("\n")[:-1])
    # Plain text is most of what is printed, and a line at a time would be thirty times slower.
    return _TRAILING.sub("\n", lines)


def _settled(line: str) -> str:
    """A line as it stands on the screen in the end."""
    line = _last_state(line)
    if "\x08" in line:
        line = _rubbed_out(line)
    return _CONTROL.sub("", line).rstrip()


def _rubbed_out(line: str) -> str:
    """A line after each backspace took the character before it along."""
    kept: list[str] = []
    for character in line:
        if character != "\x08":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)


def _last_state(line: str) -> str:
    states = line.split("\r")
    return next((state for state in reversed(states) if state.strip()), states[-1])
