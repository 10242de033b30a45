"""PruneSupervisor: watches the registered followers, and tells the registry which of them ended.

It looks at processes, at nothing else: whether a thread is kept or deleted is the registry's to carry out.
The Leader starts and stops it; the registry tells it when a connection ended.
"""

from collections.abc import Mapping
from typing import Any

from actors.base import PlanActor
from actors.plans.prune_supervisor import (
    ALIVE,
    DEAD,
    UNKNOWN,
    UNREADABLE,
    PruneSupervisorPlan,
    Watched,
)
from stores.process_birth import Liveness, liveness


class PruneSupervisor(PlanActor):
    """Staleness and process liveness."""

    def first_plan(self, settings: Mapping[str, Any]) -> PruneSupervisorPlan:
        """Nobody is watched before StartPruning."""
        return PruneSupervisorPlan(cleanup=bool(settings.get("cleanup")))

    def read_followers_described(self, body: Any) -> dict[str, str]:
        """What is known of every process that is registered or still observed."""
        described = [Watched.of(one) for one in body.followers]
        subjects = (*described, *self.plan.observed.values())
        return {watched.instance_id: _known(watched) for watched in subjects}


def _known(watched: Watched) -> str:
    if watched.pid <= 0:
        return UNKNOWN
    try:
        known = liveness(watched.pid, watched.boot_id, watched.birth)
    except Exception:  # a look that fails proves nothing, whatever the system's reason
        return UNREADABLE
    # Exactly DEAD counts; a birth that cannot be read leaves a process alive.
    return DEAD if known is Liveness.DEAD else ALIVE
