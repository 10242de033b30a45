"""One real actor on a stage: its instance, and what that knows of Thespian, its `_myRef`."""

import types
from typing import Any

from thespian.actors import ActorAddress, WakeupMessage

from tests.support.loop_script import LoopScript

FIRST_PID = 1 << 30
"""Beyond every pid of a real machine, so that no signal can reach a stranger."""


class KilledHere(BaseException):
    """An actor was killed in the middle of its handler; no `except Exception` may survive that."""


class StageAddress(ActorAddress):
    """Thespian's own: comparable, not hashable."""

    @property
    def number(self) -> int:
        """Where it is on the stage."""
        return self.addressDetails


class Part:
    """One actor on the stage, and the `_myRef` of its instance."""

    def __init__(self, stage: Any, parent: Any, actor_class: type) -> None:
        self._stage = stage
        self._child_procs: list[Any] = []
        self.parent = parent
        self.address = StageAddress(next(stage.numbers))
        self.pid = FIRST_PID + self.address.number
        self.alive = True
        self.killed = False
        self.loop: LoopScript | None = None
        actor: Any = actor_class()
        actor._myRef = self
        actor.clock = stage.clock
        actor.own_pid = lambda: self.pid
        actor.signal_process = stage.signal_process
        actor.take_name = lambda: None
        if hasattr(actor, "loop_factory"):
            actor.loop_factory = self._make_loop
        self.actor = actor

    @property
    def key(self) -> str:
        """The actor's own idea of who it is."""
        return self.actor.key

    @property
    def plan(self) -> Any:
        """The plan as it is now."""
        return self.actor.plan

    def _make_loop(self, io: Any) -> LoopScript:
        self.loop = LoopScript(io, lambda: self._stage.announce(self))
        for operation, value in self._stage.operations.items():
            self.loop.script(operation, value)
        return self.loop

    # -- what Thespian offers an actor ----------------------------------------------------------

    def actor_send(self, target: Any, message: Any) -> None:
        """Send."""
        self._stage.send(self.address, target, message)

    def createActor(self, actor_class: Any, *_: Any) -> StageAddress:  # noqa: N802
        """Create a child, or the peer that the test cast for its class."""
        child = self._stage.create(actor_class, parent=self)
        process = types.SimpleNamespace(pid=child.pid)
        self._child_procs.append(types.SimpleNamespace(childProc=process))
        return child.address

    def wakeupAfter(self, period: Any, payload: Any) -> None:  # noqa: N802
        """Wake the actor when the clock has moved so far."""
        message = WakeupMessage(period, payload)
        due = self._stage.clock.boot + round(period.total_seconds() * 1000)
        self._stage.send_at(due, self.address, self.address, message)

    def put_away(self) -> None:
        """Free what a process would have freed by ending."""
        if self.loop is not None and not self.loop.is_closed:
            self.loop.close()
        for store in self.actor.stores.values():
            database = getattr(store, "database", None)
            if hasattr(database, "close"):
                database.close()
