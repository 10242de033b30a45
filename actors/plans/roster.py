"""The live followers: the sole routing authority, in memory only.

A value: each method returns the next roster. The one thing that changes in it is the pulse of a follower,
which beats so often that a new roster for each beat would cost more than the rest of the request. A follower
is entered after its thread is known; entering it drops every other entry that shares its profile or its
target.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from messages.bus_parts import Target
from messages.bus_protocol import DURABLE_ADMISSION, OURS, ProtocolIdentity


@dataclasses.dataclass(slots=True)
class Pulse:
    """When a process was last heard of; shared by all versions of its entry."""

    at: int

    def beat(self, now: int) -> None:
        """It is heard of."""
        self.at = now


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """One registered follower."""

    instance_id: str
    binding_key: str
    generation: str
    pid: int | None
    birth: str | None
    slot: str
    thread_name: str
    target: Target
    connected_at: int
    pulse: Pulse
    capabilities: tuple[str, ...] = ()
    connection: int | None = None
    socket_path: str | None = None
    own: bool = False
    build: str = ""
    """Which program it is, as it says itself."""

    @property
    def heartbeat_at(self) -> int:
        """When it was last heard of (boot clock)."""
        return self.pulse.at

    @property
    def reachable(self) -> bool:
        """Whether an update can be handed over now."""
        return self.connection is not None or self.socket_path is not None

    @property
    def is_routable(self) -> bool:
        """Whether an update may be handed over now: it can be, and this process journals what it takes."""
        return self.reachable and DURABLE_ADMISSION in self.capabilities

    @property
    def heard_at(self) -> int:
        """Its last sign of life: one that just registered gets the time for its first heartbeat."""
        return max(self.heartbeat_at, self.connected_at)

    def describe(self, now: int) -> dict[str, Any]:
        """The follower as `status` and the prune supervisor see it."""
        return {
            "instance_id": self.instance_id,
            "pid": self.pid,
            "birth": self.birth,
            "slot": self.slot,
            "thread_name": self.thread_name,
            "chat_id": self.target.chat_id,
            "thread_id": self.target.thread_id,
            "binding_key": self.binding_key,
            "generation": self.generation,
            "heartbeat_age_ms": max(0, now - self.heard_at),
            "connected": self.reachable,
            "capabilities": list(self.capabilities),
            "build": self.build,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Roster:
    """Followers by instance id."""

    followers: Mapping[str, Follower] = dataclasses.field(default_factory=dict)

    def __iter__(self) -> Iterator[Follower]:
        return iter(self.followers.values())

    def get(self, instance_id: str) -> Follower | None:
        """The follower of this instance."""
        return self.followers.get(instance_id)

    def by_binding(self, binding_key: str) -> Follower | None:
        """The follower of this profile."""
        return next((one for one in self if one.binding_key == binding_key), None)

    def by_target(self, target: Target) -> Follower | None:
        """The follower that has exactly this thread."""
        return next((one for one in self if one.target == target), None)

    def by_connection(self, connection: int) -> Follower | None:
        """The follower that registered over this connection last."""
        return next((one for one in self if one.connection == connection), None)

    def enter(self, follower: Follower) -> "Roster":
        """Register; the heartbeat of the same instance is kept, so that registering proves no life."""
        earlier = self.get(follower.instance_id)
        if earlier is not None:
            follower = dataclasses.replace(follower, pulse=earlier.pulse)
        kept = {
            one.instance_id: one
            for one in self
            if one.binding_key != follower.binding_key and one.target != follower.target
        }
        return Roster({**kept, follower.instance_id: follower})

    def changed(self, instance_id: str, **changes: Any) -> "Roster":
        """The roster with some fields of one follower changed."""
        changed = dataclasses.replace(self.followers[instance_id], **changes)
        return Roster({**self.followers, instance_id: changed})

    def without(self, instance_id: str) -> "Roster":
        """The roster without one follower."""
        return Roster({key: one for key, one in self.followers.items() if key != instance_id})

    def eligible_slots(self, local: ProtocolIdentity = OURS) -> list[str]:
        """Slots that may lead next, ascending: the leading instance's own is not among them.

        Where the leader journals what it takes (`local`), its successor must do so too.
        """
        return sorted(
            one.slot
            for one in self
            if not one.own
            and one.slot
            and (DURABLE_ADMISSION in one.capabilities or not local.can(DURABLE_ADMISSION))
        )
