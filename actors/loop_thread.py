"""An asyncio loop in a thread beside a mailbox, and the two ways across.

The thread does I/O and decides nothing. Into the loop goes a coroutine of the I/O object; out of it come
occurrences, queued here and announced by one byte on a socket that the mailbox watches. While the process
forks the loop is parked at a safe point, between two callbacks, where it holds no lock.
"""

import asyncio
import collections
import contextlib
import dataclasses
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from actors.event_log import log_event

CLOSE_DEADLINE_S = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened on the loop: a finished operation (with its id) or an event (without)."""

    name: str
    operation_id: str | None
    value: Any


@dataclasses.dataclass(frozen=True, slots=True)
class PerformFailed:
    """The value of an operation that raised, which its I/O object was to turn into a value itself."""

    text: str


class Io(Protocol):
    """The I/O of one actor: `open`, `close`, and a coroutine method `perform_<operation>` for each."""

    async def open(self) -> None:
        """Called on the loop before anything else."""

    async def close(self) -> None:
        """Called on the loop at the end."""


class LoopThread:
    """The loop of one actor, started after the fork."""

    def __init__(self, io: Io) -> None:
        self._io = io
        self._occurrences: collections.deque[Occurrence] = collections.deque()
        self._mailbox_end, self._loop_end = socket.socketpair()
        self._mailbox_end.setblocking(False)
        self._loop_end.setblocking(False)
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="loop", daemon=True)

    @property
    def fileno(self) -> int:
        """Readable when `drain` has something."""
        return self._mailbox_end.fileno()

    def start(self) -> None:
        """Start the thread; the I/O object opens on the loop."""
        self._thread.start()
        self._loop.call_soon_threadsafe(self._spawn, self._io.open(), "open", None)

    def submit(self, operation: str, operation_id: str, arguments: Mapping[str, Any]) -> None:
        """From the mailbox: start `perform_<operation>(**arguments)` on the loop."""
        work = getattr(self._io, f"perform_{operation}")
        self._loop.call_soon_threadsafe(
            lambda: self._spawn(work(**arguments), operation, operation_id)
        )

    def emit(self, name: str, value: Any) -> None:
        """From the loop: tell the mailbox that something happened."""
        self._put(Occurrence(name=name, operation_id=None, value=value))

    def drain(self) -> list[Occurrence]:
        """From the mailbox: all that happened since the last time."""
        with contextlib.suppress(BlockingIOError):
            while self._mailbox_end.recv(4096):
                pass
        drained = []
        while self._occurrences:
            drained.append(self._occurrences.popleft())
        return drained

    @contextlib.contextmanager
    def parked(self) -> Iterator[None]:
        """Hold the loop between two callbacks while this process forks."""
        at_rest, go_on = threading.Event(), threading.Event()

        def park() -> None:
            at_rest.set()
            go_on.wait()

        self._loop.call_soon_threadsafe(park)
        at_rest.wait()
        try:
            yield
        finally:
            go_on.set()

    def close(self) -> None:
        """From the mailbox: close the I/O object and end the thread, within a second."""
        closing = asyncio.run_coroutine_threadsafe(self._io.close(), self._loop)
        with contextlib.suppress(Exception):
            closing.result(CLOSE_DEADLINE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_DEADLINE_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _spawn(self, work: Any, operation: str, operation_id: str | None) -> None:
        task = self._loop.create_task(self._finish(work, operation, operation_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, work: Any, operation: str, operation_id: str | None) -> None:
        value: Any
        try:
            value = await work
        except Exception as failure:
            log_event("actor.io_failed", "ERROR", exception=True, operation=operation)
            value = PerformFailed(text=f"{type(failure).__name__} in {operation}")
        self._put(Occurrence(name=operation, operation_id=operation_id, value=value))

    def _put(self, occurrence: Occurrence) -> None:
        self._occurrences.append(occurrence)
        # A full buffer means that the mailbox has bytes to read, and it reads them before it drains.
        with contextlib.suppress(BlockingIOError):
            self._loop_end.send(b"\0")
