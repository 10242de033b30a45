"""A person at a terminal: a real pseudo-terminal, what stands on its screen, and keys that are pressed."""

import re
from collections.abc import Mapping
from pathlib import Path

import pexpect
import pyte

from tests.support.eventually import eventually

COLUMNS, ROWS = 80, 30
ENTER, NEW_LINE = "\r", "\x1b\r"
CTRL_C, CTRL_D, CTRL_Z = "\x03", "\x04", "\x1a"
UP = "\x1b[A"


class Typist:
    """One program in a terminal of 80 columns."""

    def __init__(self, line: list[str], cwd: Path, env: Mapping[str, str]) -> None:
        self.child = pexpect.spawn(
            line[0],
            line[1:],
            cwd=str(cwd),
            env={**env, "TERM": "xterm", "PS1": "$ "},
            dimensions=(ROWS, COLUMNS),
            encoding="utf-8",
        )
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)

    def press(self, *keys: str) -> None:
        """Type text, or press keys, one after another."""
        for key in keys:
            self.child.send(key)

    @property
    def lines(self) -> list[str]:
        """What stands on the screen now."""
        try:
            while True:
                self._stream.feed(self.child.read_nonblocking(65_536, timeout=0.02))
        except (pexpect.TIMEOUT, pexpect.EOF):
            pass
        return [line.rstrip() for line in self._screen.display]

    @property
    def typed(self) -> str:
        """The line that is being typed."""
        return self.lines[self._screen.cursor.y]

    def sees(self, pattern: str, within: float = 20.0) -> str:
        """Wait until a line of the screen matches; returns it."""

        def found() -> str | None:
            return next((line for line in self.lines if re.search(pattern, line)), None)

        try:
            return eventually(found, within) or ""
        except AssertionError:
            raise AssertionError(f"no {pattern!r} on:\n" + "\n".join(self.lines)) from None

    def text(self, masks: Mapping[str, str]) -> str:
        """The whole screen, with what differs from run to run masked."""
        shown = "\n".join(self.lines).rstrip("\n") + "\n"
        for pattern, mask in masks.items():
            shown = re.sub(pattern, mask, shown)
        return shown

    def wait_exit(self, within: float = 8.0) -> int | None:
        """Wait for the end; the exit status, or the negative number of the signal."""
        self.child.expect(pexpect.EOF, timeout=within)
        self.child.close()
        if self.child.signalstatus is not None:
            return -int(self.child.signalstatus)
        return self.child.exitstatus

    def hang_up(self) -> None:
        """The terminal vanishes, without a signal of ours."""
        self.child.ptyproc.fileobj.close()
        self.child.closed = self.child.ptyproc.closed = True

    def end(self) -> None:
        """Give the terminal up; whoever still runs in it is hung up on."""
        if not self.child.closed:
            self.child.close(force=True)
