"""A cluster of real instances on one home, with the practice chat as their Bot API.

Everything is real: `run.py` processes, signals, sockets, databases. Waiting is always for a condition.
Whatever a test leaves behind is ended here, by pid, and told: a process that should have ended by itself
fails the test.
"""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from actors.command_line import parse
from actors.plans.status import described
from actors.status import collect
from stores.bus_schema import METADATA
from stores.database import Database
from stores.lease import Lease, LeaseRecord
from tests.support.eventually import eventually

ROOT = Path(__file__).resolve().parents[2]
START_S = 20.0


class Instance:
    """One `run.py` and what it prints."""

    def __init__(self, arguments: list[str], cwd: Path, env: dict[str, str], errors: Path) -> None:
        self.errors = errors
        self.lines: list[str] = []
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "run.py"), *arguments],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.decode().rstrip("\n"))

    @property
    def pid(self) -> int:
        """The pid of `run.py` main."""
        return self.process.pid

    @property
    def stderr(self) -> str:
        """What it said to its user so far."""
        return self.errors.read_text(errors="replace")

    @property
    def stdout(self) -> str:
        """What it printed so far."""
        return "\n".join(self.lines)

    def fields(self, prefix: str = "ready") -> dict[str, str]:
        """The values of its newest line that begins like this; empty before there is one."""
        for line in reversed(self.lines):
            words = shlex.split(line)
            if words and words[0].startswith(prefix):
                return dict(word.split("=", 1) for word in words if "=" in word)
        return {}

    @property
    def role(self) -> str:
        """The role it printed last."""
        return next(
            (
                dict(w.split("=", 1) for w in shlex.split(line) if "=" in w).get("role", "")
                for line in reversed(self.lines)
                if "role=" in line
            ),
            "",
        )

    def wait_ready(self, within: float = START_S) -> dict[str, str]:
        """Wait for its `ready` line; returns its values."""
        eventually(lambda: self.fields("ready") or self.process.poll() is not None, within)
        assert self.fields("ready"), f"exit {self.process.poll()}: {self.stderr}"
        return self.fields("ready")

    def wait_role(self, role: str, within: float = START_S) -> None:
        """Wait until it says that it has this role."""
        eventually(lambda: self.role == role, within)

    def signal(self, number: int) -> None:
        """Signal `run.py` main alone."""
        self.process.send_signal(number)

    def wait_exit(self, within: float = 6.0) -> int:
        """Wait for its end; returns the exit status."""
        return self.process.wait(within)

    def members(self) -> list[psutil.Process]:
        """Every living process of this instance: main, launcher, and the actors while it leads."""
        try:
            main = psutil.Process(self.pid)
            return [main, *main.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


class Practice:
    """The control side of the practice chat."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(json.loads((self._directory / "port.json").read_text())["port"])

    @property
    def pid(self) -> int:
        """Its process."""
        return int(json.loads((self._directory / "port.json").read_text())["pid"])

    @property
    def api_root(self) -> str:
        """For `--api-root`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """The token of the practice bot."""
        return (self._directory / "token").read_text().strip()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """One request to the control side; returns its JSON."""
        request = urllib.request.Request(
            f"{self.api_root}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "X-Sandbox-Key": (self._directory / "key").read_text().strip(),
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def write(self, text: str, thread_id: int | None = None, **more: Any) -> dict[str, Any]:
        """The owner (or `from_id`) writes a message."""
        body = {"text": text, **more}
        if thread_id is not None:
            body["thread_id"] = thread_id
        return self.ask("/sandbox/messages", body)

    def await_end_of_second(self, sent: dict[str, Any]) -> None:
        """What was sent in the second of a start is not marked as older: Telegram tells whole seconds."""
        eventually(lambda: time.time() >= sent["date"] + 1, 3)

    def press(self, message_id: int, data: str, **more: Any) -> dict[str, Any]:
        """The owner presses a button."""
        return self.ask("/sandbox/callbacks", {"message_id": message_id, "data": data, **more})

    def fault(self, method: str, times: int = 1, **more: Any) -> None:
        """Make the next calls of a method fail."""
        self.ask("/sandbox/faults", {"method": method, "times": times, **more})

    def state(self) -> dict[str, Any]:
        """Everything the chat holds."""
        return self.ask("/sandbox/state")

    def calls(self, method: str | None = None) -> list[dict[str, Any]]:
        """The Bot API calls made so far."""
        return self.ask("/sandbox/calls" + (f"?method={method}" if method else ""))["calls"]


class Cluster:
    """Instances that share a home."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home = directory / "home"
        self.work = directory / "work"
        self.work.mkdir()
        self.instances: list[Instance] = []
        self.practice = Practice(self.home / "practice")
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SWITCHBOARD_", "TELEGRAM_"))
        }
        # It is ended with the cluster. Until then it stays, however slowly one start follows the other: what
        # was called is only in its memory.
        self.env["SWITCHBOARD_PRACTICE_IDLE_S"] = "30"
        # A bot that was never led before is watched that long for another reader.
        self.env["SWITCHBOARD_PROOF_S"] = "0.5"

    def start(
        self,
        *arguments: str,
        role: str = "auto",
        name: str | None = None,
        cwd: Path | None = None,
        ready: bool = True,
        env: dict[str, str] | None = None,
    ) -> Instance:
        """Start one instance and, unless told otherwise, wait until it is ready."""
        line = ["--role", role, "--home", str(self.home)]
        if name is not None:
            line += ["--name", name]
        number = len(self.instances)
        instance = Instance(
            [*line, *arguments],
            cwd or self.work,
            {**self.env, **(env or {})},
            self.directory / f"stderr-{number}.txt",
        )
        self.instances.append(instance)
        if ready:
            instance.wait_ready()
        return instance

    def start_command(self, *arguments: str, **env: str) -> Instance:
        """Start a command of `run.py` that takes its time."""
        command = Instance(
            [*arguments, "--home", str(self.home)],
            self.work,
            {**self.env, **env},
            self.directory / f"stderr-{len(self.instances)}.txt",
        )
        self.instances.append(command)
        return command

    def run(self, *arguments: str, within: float = 30.0, **env: str) -> subprocess.CompletedProcess[str]:
        """Run one command of `run.py` to its end."""
        return subprocess.run(
            [sys.executable, str(ROOT / "run.py"), *arguments],
            cwd=self.work,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )

    def status(self) -> dict[str, Any]:
        """What `status --json` says, without a process a look: most of a second of one core each."""
        options, _ = parse(["status", "--json", "--home", str(self.home)])
        return json.loads(json.dumps(described(collect(options, self.env))))

    def printed_status(self) -> dict[str, Any]:
        """`status --json`."""
        done = self.run("status", "--json", "--home", str(self.home))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def lease(self) -> LeaseRecord:
        """The lease as it is written."""
        (path,) = self.home.glob("bots/*/bus.db")
        database = Database(path, METADATA, "bus")
        try:
            return Lease(database).read()
        finally:
            database.close()

    @property
    def leader(self) -> Instance:
        """The living instance that said last that it leads."""
        leaders = [one for one in self.instances if one.role == "leader" and one.process.poll() is None]
        assert len(leaders) == 1, [one.lines for one in self.instances]
        return leaders[0]

    def thread_of(self, name: str) -> dict[str, Any]:
        """The newest living thread of this name in the practice chat."""
        threads = [
            thread
            for thread in self.practice.state()["threads"]
            if thread["name"] == name and not thread.get("deleted")
        ]
        assert len(threads) == 1, threads
        return threads[0]

    def texts(self, thread_id: int, of_bot: bool = True) -> list[str]:
        """The texts in a thread, of the bot or of the others."""
        thread = next(t for t in self.practice.state()["threads"] if t["thread_id"] == thread_id)
        return [
            message["text"]
            for message in thread["messages"]
            if bool(message["from"]["is_bot"]) is of_bot and message.get("text") is not None
        ]

    def wait_answer(self, thread_id: int, text: str, times: int = 1, within: float = 10.0) -> None:
        """Wait until the bot said this exactly so often in the thread."""
        eventually(lambda: self.texts(thread_id).count(text) >= times, within)
        assert self.texts(thread_id).count(text) == times, self.texts(thread_id)

    def processes(self, practice: bool = False) -> list[psutil.Process]:
        """Every living process that was started with this home: the practice chat, or all others."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                line = process.cmdline()
                if str(self.home) in line and process.status() != psutil.STATUS_ZOMBIE:
                    if ("practice" in line) is practice:
                        found.append(process)
        return found

    def close(self) -> None:
        """End every instance; fails when a process outlives its instance by two seconds."""
        for instance in self.instances:
            if instance.process.poll() is None:
                _signal_all(instance.members(), signal.SIGCONT)
                instance.signal(signal.SIGTERM)
        for instance in self.instances:
            with contextlib.suppress(subprocess.TimeoutExpired):
                instance.wait_exit(8)
            if instance.process.poll() is None:
                instance.process.kill()
                instance.process.wait()
        left: list[psutil.Process] = []
        with contextlib.suppress(AssertionError):
            eventually(lambda: not self.processes(), 2.5)
        left = self.processes()
        _signal_all(left, signal.SIGKILL)
        eventually(lambda: not _signal_all(self.processes(practice=True), signal.SIGKILL))
        for instance in self.instances:
            if instance.process.stdout is not None:
                instance.process.stdout.close()
        assert not left, f"outlived their instance: {left}"


def _signal_all(processes: list[psutil.Process], number: int) -> list[psutil.Process]:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)
    return processes


@contextlib.contextmanager
def running_cluster(directory: Path) -> Iterator[Cluster]:
    """A cluster that is ended whatever happens."""
    cluster = Cluster(directory)
    try:
        yield cluster
    finally:
        cluster.close()


def show(cluster: Cluster) -> None:
    """Print what everyone said, and the end of the log."""
    for instance in cluster.instances:
        print(f"-- {instance.pid}: {instance.lines}\n{instance.stderr[-2_000:]}")
    log = cluster.home / "logs" / "switchboard.jsonl"
    if log.exists():
        print(log.read_text()[-6_000:])
