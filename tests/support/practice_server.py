"""A real practice server on a home of its own, and the ways to speak to it."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from actors.sandbox.launch import START_WITHIN_S
from actors.sandbox.port_file import PortFile
from tests.support.cluster import ROOT, Practice
from tests.support.eventually import eventually

SERVE = """
import sys
from pathlib import Path
from actors.sandbox.failure import PracticeChatFailed
from actors.sandbox.server import serve
try:
    serve(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
except PracticeChatFailed as problem:
    sys.exit(str(problem))
"""


def serve_command(home: Path, *port: int) -> list[str]:
    """The command that serves a home, for `ensure_practice_chat` too."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{SERVE}"
    return [sys.executable, "-c", code, str(home), *map(str, port)]


class PracticeServer:
    """One server process; a test may kill it and start another on the same home."""

    def __init__(self, home: Path, idle_s: float = 60) -> None:
        self.home = home
        self.practice = Practice(home / "practice")
        self._idle_s = idle_s
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, port: int = 0) -> None:
        self.home.mkdir(exist_ok=True)
        with (self.home / "server.txt").open("ab") as log:
            self.process = subprocess.Popen(
                serve_command(self.home, port),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "SWITCHBOARD_PRACTICE_IDLE_S": str(self._idle_s)},
            )
        eventually(self._is_up, START_WITHIN_S)

    def _is_up(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError((self.home / "server.txt").read_text())
        found = PortFile.read(self.home / "practice" / "port.json")
        return found is not None and found.pid == self.process.pid

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(5)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.practice.port, timeout=20)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any, http.client.HTTPMessage]:
        """Status, decoded body (text when it is no JSON) and headers."""
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            text = answer.read().decode()
            with contextlib.suppress(ValueError):
                return answer.status, json.loads(text), answer.headers
            return answer.status, text, answer.headers

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One Bot API call by form; the whole answer."""
        form = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in parameters.items()
        }
        return self.request(
            "POST",
            f"/bot{self.practice.token}/{method}",
            urlencode(form),
            {"Content-Type": "application/x-www-form-urlencoded"},
        )[1]

    def control(self, path: str, body: Any) -> tuple[int, Any]:
        """One request to the control side; status and answer."""
        key = (self.home / "practice" / "key").read_text().strip()
        status, answer, _ = self.request(
            "POST", path, json.dumps(body), {"X-Sandbox-Key": key}
        )
        return status, answer


@contextlib.contextmanager
def running_practice_server(home: Path, idle_s: float = 60) -> Iterator[PracticeServer]:
    server = PracticeServer(home, idle_s)
    server.start()
    try:
        yield server
    finally:
        assert server.process is not None
        if server.process.poll() is None:
            server.process.terminate()
            try:
                server.process.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()
                raise
