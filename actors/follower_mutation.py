"""FollowerMutation: the mailbox that serialises the changes of one follower profile.

A child of the FollowerRegistry, one for each binding key with changes under way. It promises that a change
begins only when the one before it is settled, whatever came of it; it has no store of its own.
"""

from collections.abc import Mapping
from typing import Any

from actors.base import PlanActor
from actors.plans.follower_mutation import FollowerMutationPlan


class FollowerMutation(PlanActor):
    """One profile's changes, one after the other."""

    def first_plan(self, settings: Mapping[str, Any]) -> FollowerMutationPlan:
        """Nothing is under way."""
        return FollowerMutationPlan()
