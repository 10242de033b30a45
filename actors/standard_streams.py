"""The three standard streams of a process that was started without some of them.

A closed descriptor is the next one that is given out: a database or a socket there would be written
to by whoever prints. Called before anything else is opened.
"""

import os
import sys
from typing import TextIO, cast


def fill_standard_streams() -> None:
    """Put /dev/null wherever standard input, output or error is closed."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free one is this one; it is inheritable like those that a shell gives.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or _text(0, "r")
    sys.stdout = sys.stdout or _text(1, "w")
    sys.stderr = sys.stderr or _text(2, "w")


def _text(descriptor: int, mode: str) -> TextIO:
    # Whoever needs them reports about trouble of its own with them; the descriptor stays open.
    stream = open(descriptor, mode, encoding="utf-8", errors="replace", closefd=False)
    return cast(TextIO, stream)
