"""The base of actors that do I/O: on a loop thread, while every decision stays in the mailbox.

The plan's `Perform` effects run as coroutines of the actor's I/O object; a finished one comes back as
`on_performed_<operation>(operation_id, value, now)`, an event of the I/O object as
`on_<name>(value, now)`. A subclass may define `read_performed_<operation>(value)` or `read_<name>(value)`
to fetch rows for the decision, exactly as for messages. What comes back without a value needs no handler.

An I/O object that cannot open fails the actor; until it is open, operations wait.
"""

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

from actors.base import PlanActor
from actors.event_log import log_event
from actors.loop_thread import OPEN, Io, LoopThread, PerformFailed
from actors.plans.effects import Perform


class AsyncioActor(PlanActor):
    """An actor with a loop thread."""

    loop_factory: Callable[[Io], Any] = LoopThread

    def __init__(self) -> None:
        super().__init__()
        self.loop: Any = None

    def make_io(self, settings: Mapping[str, Any]) -> Io:
        """The I/O object; it reaches the mailbox through `self.emit`."""
        raise TypeError(f"{type(self).__name__} gives no I/O")

    def emit(self, name: str, value: Any) -> None:
        """From the loop: tell the mailbox that something happened."""
        self.loop.emit(name, value)

    def configured(self) -> None:
        """Start the loop, which only now may: nothing forks this process any more unparked."""
        self.loop = self.loop_factory(self.make_io(self.settings))
        self.loop.start()

    def closing(self) -> None:
        """End the loop in order."""
        if self.loop is not None:
            self.loop.close()

    def watched(self) -> list[int]:
        """The loop's announcements."""
        return [self.loop.fileno] if self.loop is not None and not self.loop.is_closed else []

    def ready(self, filenos: list[int]) -> None:
        """Take what happened on the loop, each occurrence a step of its own."""
        for occurrence in self.loop.drain():
            if occurrence.operation_id is not None:
                name = f"performed_{occurrence.name}"
                happened = functools.partial(
                    self._happened, name, occurrence.value, occurrence.operation_id
                )
            else:
                name = occurrence.name
                happened = functools.partial(self._happened, name, occurrence.value)
            if name != OPEN:
                self._event(name, happened)
            elif isinstance(occurrence.value, PerformFailed):
                self.fail(occurrence.value.text)

    def perform_beside(self, effect: Perform) -> None:
        """Start the work on the loop."""
        self.loop.submit(effect.operation, effect.operation_id, effect.arguments)

    def forking(self) -> contextlib.AbstractContextManager[Any]:
        """The loop is parked while this process forks."""
        return self.loop.parked() if self.loop is not None else contextlib.nullcontext()

    def _happened(self, name: str, value: Any, *operation_id: str) -> None:
        if not hasattr(self.plan, f"on_{name}"):
            if value is not None:
                log_event("actor.unhandled", "WARNING", actor=self.key, kind=name)
            return
        read = getattr(self, f"read_{name}", None)
        facts = (read(value),) if read is not None else ()
        self.step(f"on_{name}", *operation_id, value, *facts)
