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

SILENT_FOR_MS = 3_000
"""So long a lease of one's own has to be seen stale: after a sleep of the machine every lease is, for a moment."""

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


def standing(record: Any, instance_id: str, owner_is_dead: bool, now_boot: int) -> Standing:
    """Judge a lease record; `owner_is_dead` only with proof."""
    if record.owner is None:
        return Standing.VACANT
    if record.owner.instance_id == instance_id:
        return Standing.OURS
    if owner_is_dead:
        return Standing.OWNER_DEAD
    if record.heartbeat_ms is None or now_boot - record.heartbeat_ms > STALE_AFTER_MS:
        return Standing.STALE
    return Standing.FRESH


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
class ReignPlan:
    """How the trees of this instance do: how often they ended by themselves, and whether this one is silent."""

    ended: tuple[int, ...] = ()
    silent_since: int | None = None
    """Boot time at which our own lease was first seen stale."""

    def on_look(self, heartbeat_ms: int | None, now_boot: int) -> tuple["ReignPlan", bool]:
        """Our own lease was looked at: whether its Leader is stuck, which nobody below main can tell."""
        if heartbeat_ms is None or now_boot - heartbeat_ms <= STALE_AFTER_MS:
            return dataclasses.replace(self, silent_since=None), False
        if self.silent_since is None:
            return dataclasses.replace(self, silent_since=now_boot), False
        return self, now_boot - self.silent_since >= SILENT_FOR_MS

    def on_tree_ended(self, now_boot: int) -> tuple["ReignPlan", bool]:
        """Whether to lead again with a fresh tree; else the lease is to be given up for a while."""
        recent = tuple(at for at in self.ended if now_boot - at < TREES_WITHIN_MS)
        return ReignPlan(ended=(*recent, now_boot)), len(recent) < MOST_TREES
