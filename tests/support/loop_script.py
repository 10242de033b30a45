"""A stand-in for `LoopThread` without a thread: operations wait until the test finishes them.

What would happen on the loop happens here only when the test says so: it finishes an operation with a
value, lets a script do that at once, emits an event, or runs the real coroutine to its end. All of it
reaches the actor the way it does in production, through `drain` after a WatchMessage.
"""

import asyncio
import collections
import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from actors.loop_thread import OPEN, Io, Occurrence, PerformFailed


@dataclasses.dataclass(frozen=True)
class Operation:
    """One `Perform` effect of the actor."""

    name: str
    operation_id: str
    arguments: Mapping[str, Any]


class LoopScript:
    """The loop of one actor on a stage; `announce` has the stage tell the actor to look."""

    fileno = 1_000_000
    """No descriptor: a stage watches none."""

    def __init__(self, io: Io, announce: Callable[[], None]) -> None:
        self.io = io
        self.is_closed = False
        self.performed: list[Operation] = []
        self.told: list[Operation] = []
        self.pending: dict[str, Operation] = {}
        self._announce = announce
        self._script: dict[str, Any] = {}
        self._occurrences: collections.deque[Occurrence] = collections.deque()
        self._runner: asyncio.Runner | None = None

    # -- what the actor calls -------------------------------------------------------------------

    def start(self) -> None:
        """The I/O object opens only when the test runs it: `run_open`."""

    def submit(self, operation: str, operation_id: str, arguments: Mapping[str, Any]) -> None:
        """Keep the operation, or finish it at once where a script says how."""
        started = Operation(operation, operation_id, dict(arguments))
        self.performed.append(started)
        self.pending[operation_id] = started
        if operation in self._script:
            value = self._script[operation]
            self.finish(operation_id, value(**arguments) if callable(value) else value)

    def tell(self, operation: str, arguments: Mapping[str, Any]) -> None:
        """Keep what the actor wants done at once, of which nothing comes back."""
        self.told.append(Operation(operation, "", dict(arguments)))

    def emit(self, name: str, value: Any) -> None:
        """Something happened on the loop."""
        self._put(Occurrence(name=name, operation_id=None, value=value))

    def drain(self) -> list[Occurrence]:
        """All that happened since the last time."""
        drained = list(self._occurrences)
        self._occurrences.clear()
        return drained

    @contextlib.contextmanager
    def parked(self) -> Any:
        """There is nothing to hold."""
        yield

    def close(self) -> None:
        """Nothing happens any more."""
        self.is_closed = True
        if self._runner is not None:
            self._runner.run(self.io.close())
            self._runner.close()
            self._runner = None

    # -- what the test calls --------------------------------------------------------------------

    def script(self, operation: str, value: Any) -> None:
        """From now on finish this operation at once, with a value or a function of its arguments."""
        self._script[operation] = value

    def named(self, operation: str) -> list[Operation]:
        """The operations of this name that are not finished, in order."""
        return [one for one in self.pending.values() if one.name == operation]

    def finish(self, operation_id: str, value: Any = None) -> None:
        """The operation ended with this value."""
        operation = self.pending.pop(operation_id)
        self._put(Occurrence(operation.name, operation_id, value))

    def fail(self, operation_id: str, text: str = "scripted") -> None:
        """The operation raised."""
        self.finish(operation_id, PerformFailed(text=text))

    def fail_open(self, text: str = "scripted") -> None:
        """The I/O object could not be opened."""
        self.emit(OPEN, PerformFailed(text=text))

    def run_open(self) -> None:
        """Open the real I/O object."""
        self._run(self.io.open())
        self.emit(OPEN, None)

    def run(self, operation_id: str) -> Any:
        """Run the real coroutine of the operation to its end; returns the value it ended with."""
        operation = self.pending[operation_id]
        work = getattr(self.io, f"perform_{operation.name}")
        try:
            value = self._run(work(**operation.arguments))
        except Exception as failure:
            value = PerformFailed(text=f"{type(failure).__name__} in {operation.name}")
        self.finish(operation_id, value)
        return value

    def _run(self, coroutine: Any) -> Any:
        if self._runner is None:
            # One loop for the whole life: connections of an I/O object belong to their loop.
            self._runner = asyncio.Runner()
        return self._runner.run(coroutine)

    def _put(self, occurrence: Occurrence) -> None:
        self._occurrences.append(occurrence)
        self._announce()
