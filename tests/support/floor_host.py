"""An actor system in a process of its own, driven over a pipe: `FloorHost` here, `main` there.

The system must not live in the test's process: what is forked would inherit pytest.
"""

import base64
import importlib
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from tests.support.ended import ended
from tests.support.eventually import eventually

ROOT = Path(__file__).resolve().parents[2]


class FloorHost:
    """Starts a system in the home and speaks to its actors; ``end`` leaves nothing behind."""

    def __init__(self, home: Path, ports: tuple[int, ...] = ()) -> None:
        self.output = home / "output"
        with open(self.output, "wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(home), *map(str, ports)], cwd=ROOT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output)
        self.pid = self._process.pid
        try:
            assert self._answer() == "started"
        except BaseException:
            self.end()
            raise

    def create(self, actor_class: type) -> int:
        """The number by which the new actor is asked."""
        return self._do("create", f"{actor_class.__module__}.{actor_class.__name__}")

    def ask(self, actor: int, message: Any, within: float = 5.0) -> Any:
        return self._do("ask", actor, message, within)

    def tell_of_size(self, actor: int, size: int) -> str:
        """Tells that many bytes; the name of the exception, or "sent"."""
        return self._do("tell_of_size", actor, size)

    def processes(self) -> list[psutil.Process]:
        """The host and everything below it."""
        host = psutil.Process(self.pid)
        return [host, *host.children(recursive=True)]

    def end(self) -> None:
        everything = self.processes()
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        eventually(lambda: all(map(ended, everything)), 2.0,
                   "the end of every process below the host")

    def _do(self, *request: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(base64.b64encode(pickle.dumps(request)) + b"\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the host ended: {self.output.read_text()}"
        return pickle.loads(base64.b64decode(line))


def _serve(home: Path, ports: list[int]) -> None:
    from actors import orphans, transport

    orphans.install()
    orphans.become_subreaper()
    for fd in (0, 1):
        orphans.close_in_children(fd)
    if ports:
        free = transport._free_port
        transport._free_port = lambda: ports.pop(0) if ports else free()
    system = transport.start_system(home / "thespian.log")
    actors: list[Any] = []

    def create(name: str) -> int:
        module, _, actor_class = name.rpartition(".")
        actors.append(system.createActor(getattr(importlib.import_module(module), actor_class)))
        return len(actors) - 1

    def tell_of_size(actor: int, size: int) -> str:
        try:
            system.tell(actors[actor], {"body": b"x" * size})
        except Exception as error:
            return type(error).__name__
        return "sent"

    actions = {"create": create, "tell_of_size": tell_of_size,
               "ask": lambda actor, message, within: system.ask(actors[actor], message, within)}

    def answer(value: Any) -> None:
        sys.stdout.buffer.write(base64.b64encode(pickle.dumps(value)) + b"\n")
        sys.stdout.buffer.flush()

    answer("started")
    for line in sys.stdin.buffer:
        action, *arguments = pickle.loads(base64.b64decode(line))
        answer(actions[action](*arguments))


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), [int(port) for port in sys.argv[2:]])
