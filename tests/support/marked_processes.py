"""Processes that a test can find again, wherever they went: by a mark in their environment."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

NAME = "MARKED_BY_TEST"


class Marked:
    """One mark, and the processes that carry it."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex

    @property
    def environment(self) -> dict[str, str]:
        """The environment to start a process with."""
        return {**os.environ, NAME: self.mark}

    def processes(self) -> list[psutil.Process]:
        """The living processes with the mark; zombies have ended."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.environ().get(NAME) == self.mark:
                    found.append(process)
        return found

    def none_left(self) -> bool:
        """Whether all of them have ended."""
        return not self.processes()


@contextmanager
def marked_processes() -> Iterator[Marked]:
    """A mark for one test; whatever still carries it afterwards is killed."""
    marked = Marked()
    try:
        yield marked
    finally:
        for process in marked.processes():
            with suppress(psutil.Error):
                process.kill()
