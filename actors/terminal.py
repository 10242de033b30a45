"""What people and programs see of a running process: `ready` and `role` lines, and sentences.

Standard output carries the lines alone, so that programs can rely on it; sentences go to standard
error, without secrets. A closed pipe or a vanished terminal never ends the process.
"""

import contextlib
import os
import shlex
import sys
from collections.abc import Callable
from typing import TextIO

from actors.event_log import redacted

_SUBJECT_TO_SHELL = "$`"


def quoted(value: str) -> str:
    """The value in double quotes, or in single ones where the shell would read more into it.

    `shlex.split` and a shell both give back exactly the value.
    """
    if any(character in value for character in _SUBJECT_TO_SHELL):
        return shlex.quote(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def place_line(prefix: str, role: str, thread: str, slot: str | None, pid: int) -> str:
    """`ready role=follower thread="api · claude" slot=B pid=4311`; `prefix` may be empty."""
    fields = f"role={role} thread={quoted(thread)} slot={slot or quoted('')} pid={pid}"
    return f"{prefix} {fields}" if prefix else fields


class Terminal:
    """Writes to the two streams and remembers what it need not say again."""

    def __init__(self, out: TextIO | None = None, errors: TextIO | None = None) -> None:
        self._out = out if out is not None else sys.stdout
        self._errors = errors if errors is not None else sys.stderr
        self._told: set[str] = set()
        self.above: Callable[[str], None] | None = None
        """Prints above the line that is being typed, while somebody types in this terminal."""

    def say(self, line: str) -> None:
        """One line for programs."""
        self._put(self._out, line)

    def tell(self, sentence: str) -> None:
        """One sentence for people."""
        self._put(self._errors, redacted(sentence))

    def _put(self, stream: TextIO, line: str) -> None:
        if self.above is not None and stream.isatty():
            self.above(line)
        else:
            _write(stream, line)

    def tell_once(self, sentence: str) -> None:
        """The same sentence only the first time."""
        if sentence not in self._told:
            self._told.add(sentence)
            self.tell(sentence)

    def forget(self, sentence: str) -> None:
        """What it was about is over; next time it is news again."""
        self._told.discard(sentence)


def _write(stream: TextIO, line: str) -> None:
    try:
        stream.write(line + "\n")
        stream.flush()
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        plain = line.encode(encoding, "replace").decode(encoding)
        with contextlib.suppress(OSError, ValueError):
            stream.write(plain + "\n")
            stream.flush()
    except (OSError, ValueError):
        # Nobody reads any more. What is buffered must not raise again when the process ends.
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
