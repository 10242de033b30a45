"""A main with nothing in it but the launcher: `LauncherMain` drives it, `main` is it.

Commands come in on its standard input, events go out on its standard output, both as the lines of
`messages/launcher.py`. It is a process of its own, because tests kill it.
"""

import asyncio
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil

from messages import launcher as said
from tests.support.ended import ended
from tests.support.eventually import eventually

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["thespian.system.multiprocTCPBase", "actors.transport", "messages.envelope",
           "messages.leader", "tests.cluster.floor_actors"]

_IMPORTS_WITHIN = 30.0


class LauncherMain:
    """Starts main and its launcher; waits for events; ``close`` leaves nothing behind."""

    def __init__(self, home: Path, environment: dict[str, str] | None = None) -> None:
        self.home = home
        self.terminal = home / "terminal"
        with open(self.terminal, "wb") as terminal:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(home)], cwd=ROOT, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, **(environment or {})})
        self._events: queue.Queue[Any] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._main = psutil.Process(self.process.pid)
        self._known: set[psutil.Process] = {self._main}
        try:
            self.expect(said.LauncherReady, _IMPORTS_WITHIN)
        except BaseException:
            self.close()
            raise

    @property
    def launcher(self) -> psutil.Process:
        [launcher] = self._main.children()
        return launcher

    def lead(self, leader: type, **settings: Any) -> said.TreeStarted:
        """Starts a tree and returns when the Leader serves."""
        self.send(said.LeadTree(leader=f"{leader.__module__}.{leader.__name__}",
                                log_path=str(self.home / "thespian.log"), settings=settings))
        started = self.expect(said.TreeStarted)
        assert self.expect(said.TreeEvent).body == settings
        self.actors = self.expect(said.TreeEvent).body["pids"]
        return started

    def send(self, command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(said.to_line(command))
        self.process.stdin.flush()

    def expect(self, kind: type, within: float = 5.0) -> Any:
        """The next event, which must be of this kind."""
        event = self._events.get(timeout=within)
        assert isinstance(event, kind), event
        return event

    def everything(self) -> set[psutil.Process]:
        """Main and all below it; also remembered, to be found gone at the end."""
        living = {self._main, *self._main.children(recursive=True)}
        self._known |= living
        return living

    def tree(self) -> set[psutil.Process]:
        """All below the launcher."""
        return self.everything() - {self._main, self.launcher}

    def close(self) -> None:
        if not ended(self._main):
            self.everything()
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        try:
            eventually(lambda: all(map(ended, self._known)), 2.0, "the end of the whole instance")
        finally:
            for process in self._known:
                if not ended(process):
                    process.kill()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._events.put(said.from_line(line))
        self._events.put(None)


async def _run(handle: Any) -> None:
    async def obey() -> None:
        reader = asyncio.StreamReader(limit=said.MAX_LINE)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
        async for line in reader:
            await handle.send(said.from_line(line))

    obeying = asyncio.create_task(obey())
    async for event in handle.events():
        sys.stdout.buffer.write(said.to_line(event))
        sys.stdout.buffer.flush()
    obeying.cancel()
    await handle.end()
    sys.exit(5)


if __name__ == "__main__":
    from actors.launcher import Launcher

    forked = Launcher.fork(MODULES, Path(sys.argv[1]) / "output")
    assert "thespian" not in sys.modules
    asyncio.run(_run(forked))
