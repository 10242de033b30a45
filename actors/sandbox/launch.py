"""Find the practice chat of a home, or start it; called by `run.py` before anything else runs.

The server is nobody's child: it is exec'ed through a short-lived process in a session of its own,
so neither a closed terminal nor the end of the instance that started it reaches it. Nothing here
imports the server or its web framework.

Order for callers: `hold_practice_chat` first, then `ensure_practice_chat`; while the hold lasts the
server does not end. Whoever has something else to do until then calls `begin_practice_chat` before.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from actors import orphans
from actors.sandbox.attendance import attend, attend_at_once
from actors.sandbox.credentials import practice_key, practice_token
from actors.sandbox.failure import PracticeChatFailed
from actors.sandbox.port_file import PortFile
from stores.errors import StoreError
from stores.private_files import FILE_MODE, file_lock, make_private_directory
from stores.process_birth import Liveness, liveness

START_WITHIN_S = 20.0
"""A crowd that starts at once on a small machine makes it slow; one that ends is told at once."""
ANSWER_WITHIN_S = 2.0
_LOOK_EVERY_S = 0.02
_LARGEST_LOG = 1 << 20
_LOG_TAIL = 4096

# Run without site and environment, so it costs a few milliseconds. It leaves the new process
# without a parent and tells its pid; the child is no session leader and can get no terminal.
_DETACH = """\
import os, sys
pid = os.fork()
if pid:
    os.write(3, b"%d" % pid)
    os._exit(0)
os.close(3)
try:
    os.execvp(sys.argv[1], sys.argv[1:])
except OSError as problem:
    sys.exit("%s cannot be run: %s." % (sys.argv[1], problem.strerror))
"""


@dataclass(frozen=True, slots=True)
class PracticeAddress:
    """Where the practice chat is; `url` is for a person, the rest for a bot."""

    port: int
    key: str = field(repr=False)
    token: str = field(repr=False)

    @property
    def api_root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.api_root}/?key={self.key}"


def hold_practice_chat(home: Path) -> BinaryIO:
    """Count as a user of the practice chat until the file is closed or this process ends."""
    return attend(_directory(home))


class PracticeBeginning:
    """A practice chat under way, and the turn of this process to start one: everybody else waits for it.

    Both locks are given back by `close`, and when this process ends, in whatever way: no child keeps them.
    """

    def __init__(self, hold: BinaryIO, turn: BinaryIO, stale: PortFile | None, pid: int) -> None:
        self._locks = (turn, hold)
        self.stale = stale
        self.pid = pid
        for lock in self._locks:
            orphans.close_in_children(lock.fileno())

    def close(self) -> None:
        """Let others have their turn."""
        for lock in self._locks:
            if not lock.closed:
                orphans.forget(lock.fileno())
                lock.close()


def begin_practice_chat(home: Path, command: list[str]) -> PracticeBeginning | None:
    """Exec `command` where there is no practice chat, without waiting for it.

    None where there is one, somebody else is starting one, or it cannot be done: `ensure_practice_chat`
    finds out, and says so.
    """
    with ExitStack() as undo:
        try:
            directory = _directory(home)
            hold = undo.enter_context(attend_at_once(directory))
            turn = undo.enter_context(_turn_at_once(directory))
            found = PortFile.read(directory / "port.json")
            if found is not None and not found.is_dead:
                return None
            beginning = PracticeBeginning(hold, turn, found, _detached(command, directory / "log"))
        except (PracticeChatFailed, StoreError, OSError):
            return None
        undo.pop_all()
        return beginning


def ensure_practice_chat(
    home: Path, port: int | None, command: list[str], beginning: PracticeBeginning | None = None
) -> PracticeAddress:
    """The running practice chat, else a new one by exec'ing `command`; raises PracticeChatFailed.

    An explicit `port` is insisted on. `command` gets no secret: the server finds them in the home.
    """
    directory = _directory(home)
    with attend(directory):
        key = practice_key(directory)
        if beginning is not None:
            with closing(beginning):
                found = _awaited(directory, beginning.stale, beginning.pid, key)
        else:
            with file_lock(directory / "start.lock"):
                found = _found_or_started(directory, command, key)
        if port is not None and found.port != port:
            raise PracticeChatFailed(
                f"The practice chat of this home already runs on port {found.port}, "
                f"not on {port}. Leave out --sandbox-port to use it."
            )
        return PracticeAddress(found.port, key, practice_token(directory))


def _found_or_started(directory: Path, command: list[str], key: str) -> PortFile:
    found = PortFile.read(directory / "port.json")
    if found is None or found.is_dead:
        return _awaited(directory, found, _detached(command, directory / "log"), key)
    if not _answers(found, key):
        raise PracticeChatFailed(
            f"The practice chat (process {found.pid}) does not answer on port {found.port}. "
            "End that process, then try again."
        )
    return found


def _directory(home: Path) -> Path:
    directory = Path(os.path.abspath(home)) / "practice"
    make_private_directory(directory)
    return directory


def _turn_at_once(directory: Path) -> BinaryIO:
    """The lock of `ensure_practice_chat`; BlockingIOError when another has it."""
    descriptor = os.open(directory / "start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    lock = os.fdopen(descriptor, "r+b", buffering=0)
    try:
        os.fchmod(descriptor, FILE_MODE)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise
    return lock


def _awaited(directory: Path, stale: PortFile | None, pid: int, key: str) -> PortFile:
    """Where the process answers once it does; `stale` is what was written before it."""
    log = directory / "log"
    until = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until:
        found = PortFile.read(directory / "port.json")
        if found is not None and found != stale and not found.is_dead and _answers(found, key):
            return found
        if liveness(pid, "", "") is Liveness.DEAD:
            raise PracticeChatFailed(_last_words(log))
        time.sleep(_LOOK_EVERY_S)
    raise PracticeChatFailed(
        f"The practice chat (process {pid}) did not start within {START_WITHIN_S:.0f} seconds. "
        f"See {log}"
    )


def _detached(command: list[str], log: Path) -> int:
    """Exec the command in the background with its own log; the pid it has."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    if log.exists() and log.stat().st_size > _LARGEST_LOG:
        flags |= os.O_TRUNC
    output = os.open(log, flags, FILE_MODE)
    reading, writing = os.pipe()
    try:
        os.fchmod(output, FILE_MODE)
        starter = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _on_descriptor(writing), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            close_fds=True,
            pass_fds=(writing,),
            start_new_session=True,
        )
        os.close(writing)
        writing = -1
        told = os.read(reading, 32)
        starter.wait()
    finally:
        for descriptor in (output, reading, writing):
            if descriptor >= 0:
                os.close(descriptor)
    if not told.isdigit():
        raise PracticeChatFailed(_last_words(log))
    return int(told)


def _on_descriptor(number: int) -> str:
    return _DETACH.replace("(3", f"({number}")


def _answers(found: PortFile, key: str) -> bool:
    """Whether the server there knows our key."""
    request = (
        f"GET /sandbox/ping HTTP/1.1\r\nHost: 127.0.0.1:{found.port}\r\n"
        f"X-Sandbox-Key: {key}\r\nConnection: close\r\n\r\n"
    )
    try:
        with socket.create_connection(("127.0.0.1", found.port), ANSWER_WITHIN_S) as connection:
            connection.sendall(request.encode())
            with connection.makefile("rb") as answer:
                return answer.readline(256).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def _last_words(log: Path) -> str:
    """The last line the server wrote before it ended."""
    try:
        lines = log.read_bytes()[-_LOG_TAIL:].decode("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return said or f"The practice chat could not start. See {log}"
