"""Who leads next: what a process makes of the lease it sees. Pure; the lease itself decides races.

A live owner that refreshes is never replaced, however unreachable it is. When there is none, the
lowest live slot campaigns at once; the others watch the lease and wait one grace at most.
"""

import dataclasses
import enum
from collections.abc import Iterable
from typing import Any

STALE_AFTER_MS = 8_000
GRACE_MS = 2_500

STUCK_AFTER_MS = 5_000
"""So long our own lease has to be seen stale without a break: after a sleep of the machine every lease is stale."""
LOOKED_AWAY_MS = 3_000
"""Who looked so long ago was asleep or starved itself, and begins anew."""
AWAKE_FOR_MS = 2_500
"""Longer than it takes a live owner to refresh its lease."""
MOST_STUCK = 3
STUCK_WITHIN_MS = 300_000

MOST_TREES = 5
TREES_WITHIN_MS = 60_000
REST_MS = 30_000
"""So long an instance whose trees do not stand stays a follower."""

YIELD_MS = 10_000
"""So long one that gave the lease up at an operator's wish lets others go first."""

PROOF_MS = 5_000
"""So long a home that never led a bot listens for another reader, unless the environment says otherwise."""

HEIRS = 2
"""So many of the lowest slots are ready to lead at once."""


class Standing(enum.Enum):
    """What the lease row means now."""

    VACANT = "vacant"
    OURS = "ours"
    OWNER_DEAD = "owner-dead"
    STALE = "stale"
    FRESH = "fresh"

    @property
    def leaderless(self) -> bool:
        """Whether somebody may campaign."""
        return self in (Standing.VACANT, Standing.OWNER_DEAD, Standing.STALE)


def standing(
    record: Any, instance_id: str, owner_is_dead: bool, now_boot: int, awake_since: int | None = None
) -> Standing:
    """Judge a lease record; `owner_is_dead` only with proof.

    `awake_since`: when who looks came back from a sleep, its own or the machine's. The owner may have slept as
    well, so it is given the time to refresh its lease.
    """
    if record.owner is None:
        return Standing.VACANT
    if record.owner.instance_id == instance_id:
        return Standing.OURS
    if owner_is_dead:
        return Standing.OWNER_DEAD
    is_stale = record.heartbeat_ms is None or now_boot - record.heartbeat_ms > STALE_AFTER_MS
    is_awake = awake_since is None or now_boot - awake_since >= AWAKE_FOR_MS
    return Standing.STALE if is_stale and is_awake else Standing.FRESH


class Role(enum.Enum):
    """What the user asked for."""

    AUTO = "auto"
    LEADER = "leader"
    FOLLOWER = "follower"


class Verdict(enum.Enum):
    """What to do about the lease."""

    FOLLOW = "follow"
    CAMPAIGN = "campaign"
    WAIT = "wait"
    REFUSE = "refuse"  # told to lead, and somebody else does
    RELEASE = "release"  # the lease is ours though we do not lead


@dataclasses.dataclass(frozen=True, slots=True)
class ElectionPlan:
    """What this process knows for the election."""

    role: Role = Role.AUTO
    slot: str | None = None
    roster: tuple[str, ...] = ()
    has_joined: bool = False
    """It was registered or led before; until then `--role leader` is a demand."""

    waiting_since: int | None = None
    """Boot time at which it began to let a lower slot go first."""

    barred_until: int = 0
    """Boot time before which it does not campaign: its trees did not stand."""

    def on_look(self, seen: Standing, now_boot: int) -> tuple["ElectionPlan", Verdict]:
        """The lease was looked at."""
        if seen is Standing.OURS:
            return self, Verdict.RELEASE
        if seen is Standing.FRESH:
            if self.role is Role.LEADER and not self.has_joined:
                return self, Verdict.REFUSE
            return dataclasses.replace(self, waiting_since=None), Verdict.FOLLOW
        if self.role is Role.FOLLOWER or now_boot < self.barred_until:
            return self, Verdict.WAIT
        if not self.goes_after_others:
            return dataclasses.replace(self, waiting_since=None), Verdict.CAMPAIGN
        if self.waiting_since is None:
            return dataclasses.replace(self, waiting_since=now_boot), Verdict.WAIT
        if now_boot - self.waiting_since < GRACE_MS:
            return self, Verdict.WAIT
        return self, Verdict.CAMPAIGN

    @property
    def goes_after_others(self) -> bool:
        """Whether a live process with a lower slot is to go first."""
        return self.slot is not None and any(other < self.slot for other in self.roster)

    @property
    def is_heir(self) -> bool:
        """Whether it may have to lead soon, so that being ready for it is worth its memory."""
        if self.role is Role.FOLLOWER:
            return False
        return self.slot is None or self.slot in sorted(self.roster)[:HEIRS]

    def on_joined(self, slot: str | None, roster: Iterable[str]) -> "ElectionPlan":
        """It has its place among the others, as a follower or as the leader."""
        return dataclasses.replace(
            self, has_joined=True, slot=slot, roster=tuple(roster), waiting_since=None
        )

    def on_yielded(self, now_boot: int) -> "ElectionPlan":
        """It gave the lease up for another to take."""
        return dataclasses.replace(self, barred_until=now_boot + YIELD_MS)

    def on_trees_failed(self, until: int) -> "ElectionPlan":
        """It cannot lead for now."""
        return dataclasses.replace(self, barred_until=until)


@dataclasses.dataclass(frozen=True, slots=True)
class Pulse:
    """Whether our own Leader refreshes the lease. Its process may live and be stuck: only main can tell."""

    stale_since: int | None = None
    looked_at: int = 0

    def on_look(self, heartbeat_ms: int | None, now_boot: int) -> tuple["Pulse", bool]:
        """Our own lease was read: whether the Leader is stuck. Who was told so begins anew."""
        stale = heartbeat_ms is not None and now_boot - heartbeat_ms > STALE_AFTER_MS
        if not stale:
            return Pulse(), False
        if self.stale_since is None or now_boot - self.looked_at > LOOKED_AWAY_MS:
            return Pulse(now_boot, now_boot), False
        if now_boot - self.stale_since < STUCK_AFTER_MS:
            return dataclasses.replace(self, looked_at=now_boot), False
        return Pulse(), True


@dataclasses.dataclass(frozen=True, slots=True)
class ReignPlan:
    """How often the trees of this instance ended by themselves, or had to be ended because their Leader was stuck."""

    ended: tuple[int, ...] = ()
    stuck: tuple[int, ...] = ()

    def on_tree_ended(self, now_boot: int, was_stuck: bool = False) -> tuple["ReignPlan", bool]:
        """Whether to lead again with a fresh tree; else the lease is to be given up for a while."""
        ended = tuple(at for at in self.ended if now_boot - at < TREES_WITHIN_MS)
        # It takes so long to know that a tree is stuck that few of them fit into a minute.
        stuck = tuple(at for at in self.stuck if now_boot - at < STUCK_WITHIN_MS)
        again = len(ended) < MOST_TREES and len(stuck) < MOST_STUCK
        return ReignPlan((*ended, now_boot), (*stuck, now_boot) if was_stuck else stuck), again
