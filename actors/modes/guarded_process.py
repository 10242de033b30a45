"""One command under its guard, as seen from the loop of `run.py`.

The report pipe is held by the guard alone, so its end is the guard's end: no child watcher and no
signal handler is needed, and output that somebody still holds open cannot delay it.
"""

import asyncio
import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from actors.modes import guard

GUARD = Path(guard.__file__)
CHUNK = 65_536


@dataclasses.dataclass(frozen=True, slots=True)
class Exit:
    """The end of a command."""

    status: int
    """As a shell reports it."""

    refused: int | None = None
    """The error number, when the system would not execute the command."""

    guard_killed: bool = False
    """The guard did not live to see the end."""


class GuardedProcess:
    """A command that is running, or has ended."""

    def __init__(
        self,
        guard_process: subprocess.Popen[bytes],
        output: asyncio.StreamReader,
        report: asyncio.StreamReader,
        transports: Sequence[asyncio.BaseTransport],
        stdin: asyncio.StreamWriter,
    ) -> None:
        self._guard = guard_process
        self._output = output
        self._report = report
        self._transports = transports
        self._stdin = stdin
        self._begun = False
        self._asked: list[signal.Signals] = []

    @classmethod
    async def start(
        cls, command: Sequence[str], environment: Mapping[str, str]
    ) -> "GuardedProcess":
        """Start the guard of a command; raises OSError when there cannot be one more process."""
        report_reader, report_writer = os.pipe()
        try:
            guard_process = subprocess.Popen(
                _guard_line(command, report_writer),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(report_writer,),
                env=dict(environment),
                # The terminal's Ctrl-C is for run.py alone, from the first instant.
                start_new_session=True,
            )
        except BaseException:
            os.close(report_reader)
            raise
        finally:
            os.close(report_writer)
        assert guard_process.stdin is not None and guard_process.stdout is not None
        loop = asyncio.get_running_loop()
        output, output_transport = await _reading(loop, guard_process.stdout)
        report, report_transport = await _reading(loop, os.fdopen(report_reader, "rb", 0))
        stdin_transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, guard_process.stdin
        )
        stdin = asyncio.StreamWriter(stdin_transport, protocol, None, loop)
        transports = (output_transport, report_transport, stdin_transport)
        return cls(guard_process, output, report, transports, stdin)

    async def feed(self, text: bytes) -> None:
        """Give the command its whole input; one that does not read it is not waited for."""
        with contextlib.suppress(OSError):
            self._stdin.write(text)
            self._stdin.close()
            await self._stdin.wait_closed()

    async def read(self) -> bytes:
        """Some more output, empty at its end."""
        return await self._output.read(CHUNK)

    async def wait(self) -> Exit:
        """The end of the command."""
        refused = None
        async for line in self._report:
            word, _, number = line.decode().partition(" ")
            if word == "refused":
                refused = int(number)
            self._begun = True
            for request in self._asked:
                self._guard.send_signal(request)
        # Its last descriptor is closed, so it is gone or about to be.
        status = await asyncio.get_running_loop().run_in_executor(None, self._guard.wait)
        return Exit(abs(status), refused, guard_killed=status < 0)

    def stop(self) -> None:
        """TERM, and KILL after five seconds."""
        self._ask(signal.SIGTERM)

    def kill_soon(self) -> None:
        """KILL, by the guard, which knows everything that belongs to the command."""
        self._ask(signal.SIGQUIT)

    def kill_guard(self) -> None:
        """KILL a guard that does nothing any more; the command goes with it."""
        self._guard.kill()

    def release(self) -> None:
        """Close what is still open between us and the command."""
        for transport in self._transports:
            transport.close()

    def _ask(self, request: signal.Signals) -> None:
        """Signal the guard; before it is ready the signal would end it and not the command."""
        if self._begun:
            self._guard.send_signal(request)
        else:
            self._asked.append(request)


def _guard_line(command: Sequence[str], report: int) -> list[str]:
    watched = os.getpid()
    birth = guard.start_ticks(watched)
    line = [sys.executable, "-I", "-S", str(GUARD), "--watch-pid", str(watched)]
    if birth is not None:
        line += ["--watch-birth", birth]
    return [*line, "--report-fd", str(report), "--", *command]


async def _reading(
    loop: asyncio.AbstractEventLoop, pipe: object
) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader(loop=loop)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader, loop=loop), pipe
    )
    return reader, transport
