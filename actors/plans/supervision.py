"""What a supervisor decides about its children: who is started again, who is killed, when to give up.

Each child has a spec. A permanent child that ends unasked is started again under the next incarnation, up
to `max_restarts` times within `period_ms`; beyond that the supervisor itself fails upward. A child is
killed when it leaves `PINGS_MISSED` pings unanswered, or does not start or stop by its deadline; what
happens then is decided when its exit is reported, like any other exit.

The state is a value: each method returns the next one. All times are boot-clock milliseconds.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from actors.plans.effects import Effect, Effects, KillChild, Send
from messages.actor import Ping

PING_EVERY_MS = 5_000
"""How often a running child is asked whether its mailbox is alive."""
PINGS_MISSED = 2
"""So many unanswered pings, the last of them a whole interval old, mean that it is not."""
PATROL_MS = 1_000
"""How often a supervisor looks after its children."""
SLEPT_MS = 2 * PING_EVERY_MS
"""A supervisor that comes this late was asleep itself (suspended, stopped) and accuses nobody."""


class RestartRule(enum.Enum):
    """What an unasked exit means."""

    PERMANENT = "permanent"  # it is started again
    TEMPORARY = "temporary"  # its work ended with it; whoever needs it starts a new one


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """How one child is started, watched and stopped."""

    key: str
    class_name: str
    restart: RestartRule = RestartRule.PERMANENT
    max_restarts: int = 5
    period_ms: int = 60_000
    stop_deadline_ms: int = 1_500
    start_deadline_ms: int = 5_000


class ChildStatus(enum.Enum):
    """Where a child is in its life."""

    ABSENT = "absent"  # not started yet, ended, or given up
    STARTING = "starting"  # created, its stores and plan are not ready
    RUNNING = "running"  # it reported its pid and is pinged
    STOPPING = "stopping"  # asked to exit; its exit is expected


MOVES: Mapping[ChildStatus, frozenset[ChildStatus]] = {
    ChildStatus.ABSENT: frozenset({ChildStatus.STARTING}),
    ChildStatus.STARTING: frozenset(ChildStatus),
    ChildStatus.RUNNING: frozenset(
        {ChildStatus.STOPPING, ChildStatus.ABSENT, ChildStatus.STARTING}
    ),
    ChildStatus.STOPPING: frozenset({ChildStatus.ABSENT}),
}
"""From where to where; STARTING to STARTING is a replacement that ended before it was ready."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One child as its supervisor sees it."""

    spec: ChildSpec
    status: ChildStatus = ChildStatus.ABSENT
    incarnation: int = 0
    since: int = 0
    pid: int | None = None
    replaced: int = 0
    restarts: tuple[int, ...] = ()
    pings_out: int = 0
    pinged_at: int | None = None

    def moved(self, status: ChildStatus, now: int, **changes: Any) -> "Child":
        """This child in another status; raises ValueError for a move that makes no sense."""
        if status not in MOVES[self.status]:
            raise ValueError(f"{self.spec.key}: {self.status.value} to {status.value}")
        return dataclasses.replace(
            self, status=status, since=now, pings_out=0, pinged_at=None, **changes
        )

    def reborn(self, now: int, **changes: Any) -> "Child":
        """The next incarnation of this child, starting."""
        return self.moved(
            ChildStatus.STARTING, now, incarnation=self.incarnation + 1, pid=None, **changes
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Restart:
    """Start the child again; the plan counts it as starting already."""

    incarnation: int


@dataclasses.dataclass(frozen=True, slots=True)
class Escalate:
    """The child ended too often: its supervisor fails upward, and says why."""

    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Ignore:
    """Nothing to do: the exit was asked for, or the work ended with the child."""


Verdict = Restart | Escalate | Ignore


@dataclasses.dataclass(frozen=True, slots=True)
class SupervisionPlan:
    """The children of one supervisor, in the order in which they are started."""

    children: Mapping[str, Child] = dataclasses.field(default_factory=dict)
    patrolled_at: int | None = None

    @classmethod
    def of(cls, *specs: ChildSpec) -> "SupervisionPlan":
        """A supervisor of these children, none of them started."""
        return cls(children={spec.key: Child(spec=spec) for spec in specs})

    def admit(self, spec: ChildSpec) -> "SupervisionPlan":
        """Take in a child that was not known from the start; a known key stays as it is.

        Nobody is ever forgotten: peers tell the lives of a key apart by its incarnation, which rises.
        """
        return self if spec.key in self.children else self._with(Child(spec=spec))

    # -- lives ----------------------------------------------------------------------------------

    def start(self, key: str, now: int) -> tuple["SupervisionPlan", int]:
        """Begin a life of this child; raises ValueError while an earlier one goes on."""
        child = self.children[key]
        if child.status is not ChildStatus.ABSENT:
            raise ValueError(f"{key} is {child.status.value}, it cannot be started")
        born = child.reborn(now)
        return self._with(born), born.incarnation

    def started(self, key: str, incarnation: int, pid: int, now: int) -> "SupervisionPlan":
        """The child is ready. Late words of an earlier incarnation change nothing."""
        child = self.children.get(key)
        if child is None or child.incarnation != incarnation:
            return self
        if child.status is ChildStatus.STARTING:
            return self._with(child.moved(ChildStatus.RUNNING, now, pid=pid))
        return self._with(dataclasses.replace(child, pid=pid))

    def stopping(self, key: str, now: int) -> "SupervisionPlan":
        """The child is asked to exit; asking twice does not prolong its deadline."""
        child = self.children.get(key)
        if child is None or child.status in (ChildStatus.ABSENT, ChildStatus.STOPPING):
            return self
        return self._with(child.moved(ChildStatus.STOPPING, now))

    def exited(self, key: str, now: int) -> tuple["SupervisionPlan", Verdict]:
        """The child is gone: what now?"""
        child = self.children.get(key)
        if child is None or child.status is ChildStatus.ABSENT:
            return self, Ignore()
        asked_for = child.status is ChildStatus.STOPPING
        if asked_for or child.spec.restart is RestartRule.TEMPORARY:
            return self._with(child.moved(ChildStatus.ABSENT, now, pid=None)), Ignore()
        spec = child.spec
        recent = tuple(time for time in child.restarts if time > now - spec.period_ms)
        if len(recent) >= spec.max_restarts:
            gone = child.moved(ChildStatus.ABSENT, now, pid=None, restarts=recent)
            reason = f"{key} ended {len(recent) + 1} times within {spec.period_ms} ms"
            return self._with(gone), Escalate(reason)
        born = child.reborn(now, restarts=(*recent, now), replaced=child.replaced + 1)
        return self._with(born), Restart(born.incarnation)

    # -- watching -------------------------------------------------------------------------------

    def ping_due(self, now: int) -> tuple["SupervisionPlan", tuple[str, ...]]:
        """Whom to ping now; they count as pinged."""
        due = {
            key: dataclasses.replace(child, pings_out=child.pings_out + 1, pinged_at=now)
            for key, child in self.children.items()
            if child.status is ChildStatus.RUNNING
            and (child.pinged_at is None or child.pinged_at + PING_EVERY_MS <= now)
        }
        return dataclasses.replace(self, children={**self.children, **due}), tuple(due)

    def pong(self, key: str, now: int) -> "SupervisionPlan":
        """The child answered: whatever it left unanswered before is forgiven."""
        child = self.children.get(key)
        if child is None or child.status is not ChildStatus.RUNNING:
            return self
        return self._with(dataclasses.replace(child, pings_out=0))

    def missed(self, now: int) -> tuple[str, ...]:
        """The running children that leave their pings unanswered."""
        return tuple(
            key
            for key, child in self.children.items()
            if child.status is ChildStatus.RUNNING
            and child.pings_out >= PINGS_MISSED
            and child.pinged_at is not None
            and child.pinged_at + PING_EVERY_MS <= now
        )

    def overdue(self, now: int) -> tuple[str, ...]:
        """The children past their start or stop deadline."""
        allowed = {
            ChildStatus.STARTING: lambda spec: spec.start_deadline_ms,
            ChildStatus.STOPPING: lambda spec: spec.stop_deadline_ms,
        }
        return tuple(
            key
            for key, child in self.children.items()
            if child.status in allowed and child.since + allowed[child.status](child.spec) <= now
        )

    def patrol(self, now: int) -> tuple["SupervisionPlan", Effects]:
        """Look after everyone: kill the stuck and the late, ping those whose turn it is."""
        plan = dataclasses.replace(self, patrolled_at=now)
        if self.patrolled_at is not None and now - self.patrolled_at >= SLEPT_MS:
            plan = plan._forgiving(now)
        lost = (*plan.missed(now), *plan.overdue(now))
        plan, pinged = plan.ping_due(now)
        effects: list[Effect] = [
            Send(key, Ping(), deadline_ms=PINGS_MISSED * PING_EVERY_MS, resend=False)
            for key in pinged
            if key not in lost
        ]
        effects += [KillChild(key) for key in lost]
        return plan, tuple(effects)

    def _forgiving(self, now: int) -> "SupervisionPlan":
        """After a sleep of our own: pings and deadlines begin anew."""
        rested = {
            key: dataclasses.replace(
                child,
                pings_out=0,
                since=now if child.status is not ChildStatus.RUNNING else child.since,
            )
            for key, child in self.children.items()
        }
        return dataclasses.replace(self, children=rested)

    # -- views ----------------------------------------------------------------------------------

    def status(self, key: str) -> ChildStatus:
        """Where this child is in its life; a stranger is absent."""
        child = self.children.get(key)
        return child.status if child is not None else ChildStatus.ABSENT

    def incarnation(self, key: str) -> int:
        """Which life of this child it is, 0 before the first."""
        child = self.children.get(key)
        return child.incarnation if child is not None else 0

    def is_running(self, key: str) -> bool:
        """Whether the child is ready for work."""
        return self.status(key) is ChildStatus.RUNNING

    def running(self) -> tuple[str, ...]:
        """The children ready for work, in start order."""
        return tuple(key for key in self.children if self.is_running(key))

    def absent(self) -> bool:
        """Whether no child is left."""
        return all(child.status is ChildStatus.ABSENT for child in self.children.values())

    def describe(self, now: int) -> list[dict[str, Any]]:
        """For `status`: one line a child that was ever started."""
        return [
            {
                "name": key,
                "pid": child.pid,
                "restarts": child.replaced,
                "uptime_ms": now - child.since if child.status is ChildStatus.RUNNING else 0,
                "status": child.status.value,
            }
            for key, child in self.children.items()
            if child.incarnation
        ]

    def _with(self, child: Child) -> "SupervisionPlan":
        return dataclasses.replace(self, children={**self.children, child.spec.key: child})
