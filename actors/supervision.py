"""The children of the tree and what a supervisor does with them beyond what every actor does.

The table below is the start order; it is stopped in reverse. The decisions are in
`actors.plans.supervision`, the fork and the signals in `actors.base`.
"""

from actors.base import PlanActor
from actors.plans.supervision import ChildSpec, RestartRule

TREE: tuple[ChildSpec, ...] = (
    # The gateway may be at the end of a call that is past its fence: let that be recorded.
    ChildSpec(
        key="telegram_gateway",
        class_name="actors.telegram_gateway.TelegramGateway",
        stop_deadline_ms=2_000,
    ),
    ChildSpec(
        key="target_provisioner", class_name="actors.target_provisioner.TargetProvisioner"
    ),
    ChildSpec(key="follower_registry", class_name="actors.follower_registry.FollowerRegistry"),
    ChildSpec(key="prune_supervisor", class_name="actors.prune_supervisor.PruneSupervisor"),
    ChildSpec(key="inbox", class_name="actors.inbox.Inbox"),
    ChildSpec(key="poller", class_name="actors.poller.Poller"),
)
"""The children of the Leader."""

MUTATION = ChildSpec(
    key="follower_mutation",
    class_name="actors.follower_mutation.FollowerMutation",
    restart=RestartRule.TEMPORARY,
)
"""One for each follower profile, a child of the FollowerRegistry with a key `follower_mutation:<id>`."""


class Supervisor(PlanActor):
    """An actor with children of the table; a key of many is told apart after a colon."""

    child_specs: tuple[ChildSpec, ...] = ()

    def child_class(self, key: str) -> str:
        """The dotted name of the class of a child."""
        kind = key.partition(":")[0]
        for spec in self.child_specs:
            if kind == spec.key:
                return spec.class_name
        return super().child_class(key)
