"""What the PruneSupervisor decides: which registrations end, by silence or by proof of death.

Silence alone only ends a registration: the follower is routed to no longer, its thread and what waits for
it stay, and it may register again. Only a process that is proven dead gives up its thread, to be kept
without a process or, with clean-up on, to be deleted. So a silent follower stays observed after its
registration ended, until it is proven dead or somebody took its place; an observed one is never deleted.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.effects import Effects, Notify, Now, Reply, Send, WakeAfter
from messages.actor import CommandFailed
from messages.follower_registry import DescribeFollowers, RetireFollower
from messages.prune_supervisor import PrunedAtOnce, PruningStarted, PruningStopped

TICK_MS = 1_000
CALM_TICK_MS = 3_000
"""How often while nobody is suspect: a silent one is noticed long before it counts as stale."""
SILENT_MS = 3_000
STALE_AFTER_MS = 15_000
BURST_TICK_MS = 250
BURST_MS = 2_000
"""A process that is being killed may not be reaped yet when its connection ends: look again soon."""
OBSERVED_AT_MOST = 26

SLEPT_MS = 5_000
FORGIVING_MS = 3_000
"""After this long without a look it was the machine or this process that slept, and everybody seems
silent: each follower gets the time to send a heartbeat first."""

DESCRIBE_DEADLINE_MS = 5_000
RETIRE_DEADLINE_MS = 120_000

DEAD, ALIVE, UNKNOWN, UNREADABLE = "dead", "alive", "unknown", "unreadable"
"""What is known of a process: `unknown` without a pid, `unreadable` when looking failed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Watched:
    """One registration as the registry described it."""

    instance_id: str
    generation: str
    binding_key: str
    pid: int
    boot_id: str
    birth: str
    thread: tuple[int, int] | None
    heartbeat_age_ms: int

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> "Watched":
        """From an entry of FollowersDescribed; what a foreign peer did not tell is empty."""
        thread_id = described.get("thread_id")
        return cls(
            instance_id=described["instance_id"],
            generation=described.get("generation") or "",
            binding_key=described.get("binding_key") or "",
            pid=described.get("pid") or 0,
            boot_id=described.get("boot_id") or "",
            birth=described.get("birth") or "",
            thread=(described.get("chat_id") or 0, thread_id) if thread_id else None,
            heartbeat_age_ms=described["heartbeat_age_ms"],
        )

    @property
    def registration(self) -> tuple[str, str]:
        """What tells one registration from every other."""
        return self.instance_id, self.generation

    def overlaps(self, other: "Watched") -> bool:
        """Whether both claim the same place."""
        return (
            self.instance_id == other.instance_id
            or (self.binding_key != "" and self.binding_key == other.binding_key)
            or (self.thread is not None and self.thread == other.thread)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Retirement:
    """A RetireFollower under way."""

    watched: Watched
    proven_dead: bool


@dataclasses.dataclass(frozen=True)
class PruneSupervisorPlan:
    """Whether followers are watched, and what is under way."""

    cleanup: bool = False
    origin: str | None = None
    """Beginning of the ids of this watch; None while nobody is watched."""
    numbered: int = 0
    asked: str | None = None
    retiring: Mapping[str, Retirement] = dataclasses.field(default_factory=dict)
    suspects: Mapping[str, int] = dataclasses.field(default_factory=dict)
    observed: Mapping[str, Watched] = dataclasses.field(default_factory=dict)
    seen_at: int = 0
    forgiving_until: int = 0
    calm: bool = False
    """Whether everyone had been heard of at the last look."""
    operators: tuple[str, ...] = ()
    """Commands of operators that the look under way answers."""

    # -- start and stop -------------------------------------------------------------------------

    def on_start_pruning(
        self, envelope: Any, now: Now
    ) -> tuple["PruneSupervisorPlan", Effects]:
        """Watch from now on, with nothing of an earlier watch left."""
        origin = f"{envelope.message_id}@{now.boot}"
        fresh = PruneSupervisorPlan(cleanup=self.cleanup, origin=origin, seen_at=now.boot)
        plan, effects = fresh._look()
        started = Reply(envelope.message_id, PruningStarted())
        return plan, (started, *effects, WakeAfter("tick", TICK_MS))

    def on_stop_pruning(
        self, envelope: Any, now: Now
    ) -> tuple["PruneSupervisorPlan", Effects]:
        """Drop everything; answers still on their way belong to nobody."""
        stopped = PruneSupervisorPlan(cleanup=self.cleanup)
        return stopped, (Reply(envelope.message_id, PruningStopped()),)

    def on_prune_at_once(
        self, envelope: Any, now: Now
    ) -> tuple["PruneSupervisorPlan", Effects]:
        """An operator does not want to wait for the next look."""
        if self.origin is None:
            return self, (Reply(envelope.message_id, PrunedAtOnce(dead=[])),)
        operators = (*self.operators, envelope.message_id)
        return dataclasses.replace(self, operators=operators)._look()

    # -- when to look ---------------------------------------------------------------------------

    def on_wakeup_tick(self, now: Now) -> tuple["PruneSupervisorPlan", Effects]:
        """Once a second while anybody is silent or in view, and now and then when all is well."""
        if self.origin is None:
            return self, ()
        plan, effects = self._look()
        calm = self.calm and not self.suspects and not self.observed and not self.retiring
        return plan, (*effects, WakeAfter("tick", CALM_TICK_MS if calm else TICK_MS))

    def on_follower_unreachable(
        self, envelope: Any, now: Now
    ) -> tuple["PruneSupervisorPlan", Effects]:
        """Its connection ended, which proves nothing: look at the process at once, and again soon."""
        if self.origin is None:
            return self, ()
        suspects = {**self.suspects, envelope.body.instance_id: now.boot + BURST_MS}
        plan, effects = dataclasses.replace(self, suspects=suspects)._look()
        return plan, (*effects, WakeAfter("burst", BURST_TICK_MS))

    def on_wakeup_burst(self, now: Now) -> tuple["PruneSupervisorPlan", Effects]:
        """Look often while anybody is suspected."""
        suspects = {key: until for key, until in self.suspects.items() if now.boot <= until}
        plan = dataclasses.replace(self, suspects=suspects)
        if self.origin is None or not suspects:
            return plan, ()
        plan, effects = plan._look()
        return plan, (*effects, WakeAfter("burst", BURST_TICK_MS))

    def _look(self) -> tuple["PruneSupervisorPlan", Effects]:
        if self.asked is not None:
            return self, ()
        number = self.numbered + 1
        asked = f"{self.origin}/describe/{number}"
        ask = Send("follower_registry", DescribeFollowers(), asked, DESCRIBE_DEADLINE_MS)
        return dataclasses.replace(self, numbered=number, asked=asked), (ask,)

    # -- what is seen ---------------------------------------------------------------------------

    def on_followers_described(
        self, envelope: Any, liveness: Mapping[str, str], now: Now
    ) -> tuple["PruneSupervisorPlan", Effects]:
        """Judge every registration, and everyone still observed."""
        if self.origin is None or envelope.in_reply_to != self.asked:
            return self, ()
        registered = [Watched.of(described) for described in envelope.body.followers]
        slept = now.boot - self.seen_at > SLEPT_MS
        forgiving_until = now.boot + FORGIVING_MS if slept else self.forgiving_until
        plan = dataclasses.replace(
            self,
            asked=None,
            seen_at=now.boot,
            forgiving_until=forgiving_until,
            calm=all(watched.heartbeat_age_ms < SILENT_MS for watched in registered),
        )
        effects: list[Any] = []
        for watched in registered:
            known = liveness.get(watched.instance_id, UNKNOWN)
            plan, more = plan._judge(watched, known, now)
            effects += more
        for watched in self.observed.values():
            plan, more = plan._judge_observed(watched, registered, liveness)
            effects += more
        dead = [one.instance_id for one in registered if liveness.get(one.instance_id) == DEAD]
        effects += (Reply(command_id, PrunedAtOnce(dead=dead)) for command_id in plan.operators)
        plan = dataclasses.replace(plan, operators=())
        alive = {one.instance_id for one in registered}
        suspects = {key: until for key, until in plan.suspects.items() if key in alive}
        return dataclasses.replace(plan, suspects=suspects), tuple(effects)

    def _judge(
        self, watched: Watched, known: str, now: Now
    ) -> tuple["PruneSupervisorPlan", Effects]:
        if self._is_retiring(watched):
            return self, ()
        if known == DEAD:
            return self._retire(watched, proven_dead=True)
        if watched.heartbeat_age_ms <= STALE_AFTER_MS or now.boot < self.forgiving_until:
            return self, ()
        effects: list[Any] = []
        if known == UNREADABLE:
            effects.append(_event("follower-process-liveness", watched))
        told = "unknown" if known == UNKNOWN else "alive-or-unknown"
        effects.append(_event("follower-pruned", watched, processLiveness=told))
        plan, more = self._observe(watched)
        plan, retire = plan._retire(watched, proven_dead=False)
        return plan, (*effects, *more, *retire)

    def _observe(self, watched: Watched) -> tuple["PruneSupervisorPlan", Effects]:
        provable = watched.pid > 0 and watched.generation and watched.thread is not None
        # With clean-up on there is nothing to wait for: one who is found dead later is not deleted.
        if self.cleanup or not provable:
            return self, ()
        others = {key: one for key, one in self.observed.items() if key != watched.instance_id}
        if len(others) >= OBSERVED_AT_MOST:
            full = _event("follower-preservation-capacity", watched)
            return dataclasses.replace(self, observed=others), (full,)
        observed = {**others, watched.instance_id: watched}
        return dataclasses.replace(self, observed=observed), ()

    def _judge_observed(
        self, watched: Watched, registered: list[Watched], liveness: Mapping[str, str]
    ) -> tuple["PruneSupervisorPlan", Effects]:
        if self._is_retiring(watched):
            return self, ()
        if any(one.overlaps(watched) for one in registered):
            return self._release(watched), ()
        if liveness.get(watched.instance_id) == DEAD:
            return self._retire(watched, proven_dead=True)
        return self, ()

    def _release(self, watched: Watched) -> "PruneSupervisorPlan":
        observed = {key: one for key, one in self.observed.items() if one != watched}
        return dataclasses.replace(self, observed=observed)

    # -- retiring -------------------------------------------------------------------------------

    def _is_retiring(self, watched: Watched) -> bool:
        return any(
            one.watched.registration == watched.registration for one in self.retiring.values()
        )

    def _retire(
        self, watched: Watched, proven_dead: bool
    ) -> tuple["PruneSupervisorPlan", Effects]:
        number = self.numbered + 1
        command_id = f"{self.origin}/retire/{number}"
        command = RetireFollower(
            instance_id=watched.instance_id,
            generation=watched.generation,
            proven_dead=proven_dead,
            binding_key=watched.binding_key,
        )
        retiring = {**self.retiring, command_id: Retirement(watched, proven_dead)}
        plan = dataclasses.replace(self, numbered=number, retiring=retiring)
        return plan, (Send("follower_registry", command, command_id, RETIRE_DEADLINE_MS),)

    def on_follower_retired(
        self, envelope: Any, now: Now
    ) -> tuple["PruneSupervisorPlan", Effects]:
        """The registry settled it."""
        retirement, plan = self._settled(envelope.in_reply_to)
        if retirement is None or not retirement.proven_dead:
            return plan, ()
        watched = retirement.watched
        deed = "cleanup" if self.cleanup else "preserved"
        phase = f"follower-confirmed-dead-{deed}"
        known = _event(phase, watched, pid=watched.pid, cleanupEnabled=self.cleanup)
        return plan._release(watched), (known,)

    def on_command_failed(
        self, envelope: Any, now: Now
    ) -> tuple["PruneSupervisorPlan", Effects]:
        """The registry could not; the next look tries again."""
        return self._failed(envelope.in_reply_to, envelope.body.text)

    def on_unanswered(
        self, unanswered: Any, now: Now
    ) -> tuple["PruneSupervisorPlan", Effects]:
        """The registry did not answer; the next look tries again."""
        return self._failed(unanswered.command_id, unanswered.reason)

    def _failed(self, command_id: str | None, text: str) -> tuple["PruneSupervisorPlan", Effects]:
        if self.origin is not None and command_id == self.asked:
            plan = dataclasses.replace(self, asked=None, operators=())
            silent = CommandFailed(reason="unanswered", text="the registry did not answer")
            told = tuple(Reply(operator, silent) for operator in self.operators)
            return plan, (*told, Notify("bus.follower-prune-owner", {"text": text}, "WARNING"))
        retirement, plan = self._settled(command_id)
        if retirement is None:
            return plan, ()
        phase = "follower-prune-owner"
        if retirement.proven_dead:
            deed = "cleanup" if self.cleanup else "preserve"
            phase = f"follower-confirmed-dead-{deed}"
        watched = retirement.watched
        failed = _event(phase, watched, level="WARNING", pid=watched.pid, text=text)
        if not retirement.proven_dead:
            return plan, (failed,)
        # The registry may have let go of it already: only we know that something is left to do.
        plan, more = plan._observe(watched)
        return plan, (failed, *more)

    def _settled(
        self, command_id: str | None
    ) -> tuple[Retirement | None, "PruneSupervisorPlan"]:
        retiring = {key: one for key, one in self.retiring.items() if key != command_id}
        return self.retiring.get(command_id or ""), dataclasses.replace(self, retiring=retiring)

    def describe(self, now: Now) -> dict[str, Any]:
        """For `status`."""
        return {
            "watching": self.origin is not None,
            "observed": len(self.observed),
            "retiring": len(self.retiring),
        }


def _event(phase: str, watched: Watched, level: str = "INFO", **fields: Any) -> Notify:
    return Notify(f"bus.{phase}", {"instanceId": watched.instance_id, **fields}, level)
