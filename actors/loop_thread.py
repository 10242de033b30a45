"""An asyncio loop in a thread beside a mailbox, and the two ways across.

The thread does I/O and decides nothing. Into the loop goes a coroutine of the I/O object; out of it come
occurrences, queued here and announced by one byte on a socket that the mailbox watches. Either side is
woken once for all that waits for it, however much that is. While the process forks the loop is parked at a
safe point, between two callbacks, where it holds no lock.
"""

import asyncio
import collections
import contextlib
import dataclasses
import functools
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Protocol

from actors.event_log import log_event
from actors.stack_room import with_room

CLOSE_DEADLINE_S = 1.0
OPEN = "open"
"""The name of the occurrence that says that the I/O object opened, or why it did not."""


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
        self._is_announced = False
        self._orders: collections.deque[Callable[[], object]] = collections.deque()
        self._is_called = False
        self._mailbox_end, self._loop_end = socket.socketpair()
        self._mailbox_end.setblocking(False)
        self._loop_end.setblocking(False)
        self._loop = asyncio.new_event_loop()
        self._opened = asyncio.Event()
        self._refusal: PerformFailed | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(
            target=with_room, args=(self._run,), name="loop", daemon=True
        )

    @property
    def fileno(self) -> int:
        """Readable when `drain` has something."""
        return self._mailbox_end.fileno()

    @property
    def is_closed(self) -> bool:
        """Whether nothing will happen any more."""
        return self._mailbox_end.fileno() < 0

    def start(self) -> None:
        """Start the thread; the I/O object opens on the loop."""
        self._thread.start()
        self._loop.call_soon_threadsafe(self._spawn, self._open())

    def submit(self, operation: str, operation_id: str, arguments: Mapping[str, Any]) -> None:
        """From the mailbox: start `perform_<operation>(**arguments)` on the loop, once it is open."""
        work = functools.partial(getattr(self._io, f"perform_{operation}"), **arguments)
        self._order(lambda: self._spawn(self._perform(work, operation, operation_id)))

    def tell(self, operation: str, arguments: Mapping[str, Any]) -> None:
        """From the mailbox: call `now_<operation>(**arguments)` on the loop; nothing comes back."""
        self._order(functools.partial(getattr(self._io, f"now_{operation}"), **arguments))

    def emit(self, name: str, value: Any) -> None:
        """From the loop: tell the mailbox that something happened."""
        self._put(Occurrence(name=name, operation_id=None, value=value))

    def drain(self) -> list[Occurrence]:
        """From the mailbox: all that happened since the last time."""
        with contextlib.suppress(BlockingIOError):
            self._mailbox_end.recv(4096)
        # Before any is taken: what comes later is announced again.
        self._is_announced = False
        # Only as many as there are now: a busy loop must not keep the mailbox from its messages.
        return [self._occurrences.popleft() for _ in range(len(self._occurrences))]

    @contextlib.contextmanager
    def parked(self) -> Iterator[None]:
        """Hold the loop between two callbacks while this process forks."""
        if not self._thread.is_alive():
            yield
            return
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
        """From the mailbox: close the I/O object and end the thread, within two seconds."""
        if self._thread.is_alive():
            closing = asyncio.run_coroutine_threadsafe(self._io.close(), self._loop)
            try:
                closing.result(CLOSE_DEADLINE_S)
            except Exception as failure:
                log_event("actor.io_unclosed", "WARNING", failure=type(failure).__name__)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CLOSE_DEADLINE_S)
        if not self._thread.is_alive():
            self._loop.close()
            self._mailbox_end.close()
            self._loop_end.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))

    def _order(self, order: Callable[[], object]) -> None:
        self._orders.append(order)
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._obey)

    def _obey(self) -> None:
        # Before any is taken: what comes later calls again.
        self._is_called = False
        for _ in range(len(self._orders)):
            order = self._orders.popleft()
            try:
                order()
            except Exception:
                log_event("actor.io_failed", "ERROR", exception=True, operation="order")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(self) -> None:
        value = await self._value_of(self._io.open, OPEN)
        if isinstance(value, PerformFailed):
            self._refusal = value
        self._opened.set()
        self._put(Occurrence(name=OPEN, operation_id=None, value=value))

    async def _perform(
        self, work: Callable[[], Coroutine[Any, Any, Any]], operation: str, operation_id: str
    ) -> None:
        await self._opened.wait()
        value = self._refusal or await self._value_of(work, operation)
        self._put(Occurrence(name=operation, operation_id=operation_id, value=value))

    async def _value_of(self, work: Callable[[], Coroutine[Any, Any, Any]], what: str) -> Any:
        try:
            return await work()
        except asyncio.CancelledError:
            # Nobody cancels our tasks but `close`; otherwise something inside was cancelled.
            return PerformFailed(text=f"{what} was cancelled")
        except Exception as failure:
            log_event("actor.io_failed", "ERROR", exception=True, operation=what)
            return PerformFailed(text=f"{type(failure).__name__} in {what}")

    def _put(self, occurrence: Occurrence) -> None:
        self._occurrences.append(occurrence)
        if not self._is_announced:
            self._is_announced = True
            # A full buffer means that the mailbox has bytes to read, and it reads them before it drains.
            with contextlib.suppress(BlockingIOError):
                self._loop_end.send(b"\0")
