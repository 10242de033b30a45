"""The registry's mutation actors: started on demand, ended after a minute without work.

There is one for each follower profile that is being changed. What one had not answered when it died goes
to its next life, under the same ids.
"""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from actors.plans.effects import Effects, Introduce, Send, StartChild, StopChild, WakeAfter
from messages.actor import ConfigureChild

MUTATION = "follower_mutation"
IDLE_MS = 60_000
LOOK_MS = 20_000


def mutation_key(binding_key: str) -> str:
    """The key in the tree of the mutation actor of this profile."""
    return f"{MUTATION}:{binding_key}"


@dataclasses.dataclass(frozen=True, slots=True)
class Mutations:
    """Which mutation actors live, and when each was last given work (boot clock, ms)."""

    used_at: Mapping[str, int] = dataclasses.field(default_factory=dict)
    lives: int = 0

    def use(self, key: str, settings: Mapping[str, Any], now: int) -> tuple["Mutations", Effects]:
        """The actor of this key is given work; it is started if there is none."""
        if key in self.used_at:
            return Mutations({**self.used_at, key: now}, self.lives), ()
        lives = self.lives + 1
        first = ConfigureChild(key=key, incarnation=lives, settings=dict(settings))
        return Mutations({**self.used_at, key: now}, lives), (
            StartChild(key, lives),
            Send(key, first, f"configure/{key}/{lives}", resend=False),
            Introduce(to=(key,), keys=("target_provisioner",)),
            WakeAfter("idle_mutations", LOOK_MS),
        )

    def without(self, key: str) -> "Mutations":
        """The actor of this key is gone."""
        return Mutations({k: at for k, at in self.used_at.items() if k != key}, self.lives)

    def stop_idle(self, busy: Collection[str], now: int) -> Effects:
        """End whoever had nothing to do for a minute; their exit is reported like any other."""
        idle = [key for key, at in self.used_at.items() if key not in busy and at + IDLE_MS <= now]
        again: Effects = (WakeAfter("idle_mutations", LOOK_MS),) if self.used_at else ()
        return (*(StopChild(key) for key in idle), *again)
