"""Command: one run of the command line a prompt, the prompt on its standard input.

The command is executed directly, without a shell, under a guard that ends it with this process.
What it prints is shown while it runs and told whole when it ended; all of it is kept in a file.
"""

import asyncio
import codecs
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from actors.clock import system_now
from actors.modes import Interrupted, NotStarted, Prompt, Show
from actors.modes.child_environment import child_environment
from actors.modes.guarded_process import Exit, GuardedProcess
from actors.modes.leftovers import MARK, end_marked
from actors.modes.run_log import RunLog
from actors.plans.command_run import Ended, answer, could_not_start, preview
from actors.plans.effects import Now
from actors.plans.session_events import Traits
from actors.plans.terminal_text import TerminalText

Spawn = Callable[[Sequence[str], Mapping[str, str]], Awaitable[GuardedProcess]]

OUTPUT_GRACE = 1.0
"""Seconds that output is waited for after the end, when somebody else still holds it open."""

CLOSE_GRACE = 3.0
"""Seconds that a command has to end when this process ends."""

KILL_GRACE = 0.5

COMMAND_NOT_FOUND = 127


class RunLost(Exception):
    """The guard was killed: nobody knows how the command ended."""


class CommandMode:
    """Runs one command line, again for each prompt."""

    traits = Traits(repeats=False, stoppable=True, announces_queue=True)

    def __init__(
        self,
        command: Sequence[str],
        runs: Path,
        secrets: Callable[[], Iterable[str]],
        *,
        clock: Callable[[], Now] = system_now,
        spawn: Spawn = GuardedProcess.start,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._command = tuple(command)
        self._runs = runs
        self._secrets = secrets
        self._clock = clock
        self._spawn = spawn
        self._environment = environment
        self._process: GuardedProcess | None = None
        self._over = asyncio.Event()
        self._over.set()
        self._stopped = False
        self._closing = False

    async def run(self, prompt: Prompt, show: Show) -> tuple[str, ...]:
        """Run the command once; returns what the thread is told in the end."""
        if self._closing:
            raise Interrupted
        self._stopped = False
        self._over.clear()
        began = self._clock()
        run_id = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(began.wall / 1_000))}-{prompt.token}"
        log = RunLog(self._runs, run_id)
        try:
            text, ended = await self._watched(prompt, run_id, log, show)
        finally:
            kept = log.close()
            self._process = None
            self._over.set()
        if self._closing:
            raise Interrupted
        if ended.guard_killed:
            await self.clear(prompt.token)
            raise RunLost
        summary = Ended(
            status=ended.status,
            duration_ms=self._clock().boot - began.boot,
            stopped=self._stopped,
            sentence=self._sentence(ended),
        )
        return answer(text, summary, kept)

    def stop(self) -> None:
        """TERM to the command, KILL after five seconds."""
        self._stopped = True
        if self._process is not None:
            self._process.stop()

    async def clear(self, token: str) -> None:
        """End what is left of a run whose guard is gone."""
        await asyncio.get_running_loop().run_in_executor(None, end_marked, token)

    async def close(self) -> None:
        """End the run politely, then at once, then without asking."""
        self._closing = True
        for ask, grace in (
            (GuardedProcess.stop, CLOSE_GRACE),
            (GuardedProcess.kill_soon, KILL_GRACE),
            (GuardedProcess.kill_guard, KILL_GRACE),
        ):
            if self._process is None:
                break
            ask(self._process)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), grace)

    async def _watched(
        self, prompt: Prompt, run_id: str, log: RunLog, show: Show
    ) -> tuple[TerminalText, Exit]:
        environment = child_environment(self._environment, self._secrets()) | {MARK: run_id}
        try:
            process = await self._spawn(self._command, environment)
        except OSError as failure:
            raise NotStarted(type(failure).__name__) from failure
        self._process = process
        if self._stopped or self._closing:
            process.stop()
        screen = _Screen(process, log, show)
        reading = asyncio.create_task(screen.read())
        feeding = asyncio.create_task(process.feed(_input(prompt.text)))
        try:
            ended = await process.wait()
            await asyncio.wait([reading], timeout=OUTPUT_GRACE)
        finally:
            for task in (reading, feeding):
                task.cancel()
            await asyncio.gather(reading, feeding, return_exceptions=True)
            process.release()
        return screen.finished(), ended

    def _sentence(self, ended: Exit) -> str | None:
        if ended.refused is None:
            return None
        missing = ended.status == COMMAND_NOT_FOUND
        return could_not_start(self._command[0], missing, os.strerror(ended.refused))


class _Screen:
    """What a run has printed so far."""

    def __init__(self, process: GuardedProcess, log: RunLog, show: Show) -> None:
        self._process = process
        self._log = log
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = TerminalText()

    async def read(self) -> None:
        """Take the output until its end."""
        while printed := await self._process.read():
            self._log.write(printed)
            self._text = self._text.fed(self._decoder.decode(printed))
            self._show(lambda: preview(self._text))

    def finished(self) -> TerminalText:
        """All of it, with whatever an unfinished character stands for."""
        return self._text.fed(self._decoder.decode(b"", final=True))


def _input(text: str) -> bytes:
    # Programs that read lines do not see a last line that has no end.
    return (text if text.endswith("\n") else f"{text}\n").encode("utf-8", "replace")
