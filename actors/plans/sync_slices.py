"""How sure the leader is of what it knows about Telegram, slice by slice: for `status` alone."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

FRESH, SUSPECT, UNKNOWN = "fresh", "suspect", "unknown"
SLICES = (
    "bot-identity",
    "bot-capabilities",
    "pairing",
    "allowed-user",
    "topic-capability",
    "topic-state",
    "target-bindings",
    "reservations",
    "transport-health",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Slice:
    """One slice; the times are of the wall clock, in milliseconds."""

    status: str = UNKNOWN
    updated_at: int | None = None
    suspect_at: int | None = None
    reason: str | None = None
    action: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SyncSlices:
    """All slices; each method returns the next state."""

    known: Mapping[str, Slice] = dataclasses.field(default_factory=dict)

    def get(self, name: str) -> Slice:
        """One of `SLICES`."""
        return self.known.get(name, Slice())

    def fresh(self, names: Iterable[str], action: str, now: int) -> "SyncSlices":
        """These were just seen as they are: whatever made them suspect is over."""
        changed = {name: Slice(FRESH, updated_at=now, action=action) for name in names}
        return SyncSlices({**self.known, **changed})

    def suspect(
        self, names: Iterable[str], reason: str, action: str, now: int
    ) -> "SyncSlices":
        """These may be otherwise than they are known; when they were last sure stays known."""
        changed = {
            name: Slice(SUSPECT, self.get(name).updated_at, now, reason, action) for name in names
        }
        return SyncSlices({**self.known, **changed})

    def plain(self) -> dict[str, Any]:
        """For `status`: what anything is known of, without what is not."""
        return {
            name: {
                key: value for key, value in dataclasses.asdict(one).items() if value is not None
            }
            for name, one in self.known.items()
        }
