"""The end of leading, in order: polling, pruning, the endpoint, and last the lease.

A step that fails or gives no answer in its time is passed over: whoever hangs must not keep the lease. The
lease stays with an instance whose next tree is to have it.
"""

import dataclasses
from typing import Any

from actors.plans.effects import Effects, Notify, Send, Write
from actors.plans.leader_phase import Phase
from messages.follower_registry import CloseEndpoint
from messages.poller import StopPolling
from messages.prune_supervisor import StopPruning

STEP_DEADLINE_MS = 700

POLLING, PRUNING, ENDPOINT = "stop/polling", "stop/pruning", "stop/endpoint"
STEPS = (POLLING, PRUNING, ENDPOINT)
"""The ids of the commands, in their order."""


def asked(plan: Any, now: Any) -> tuple[Any, Effects]:
    """The instance wants to end, or to lead no longer."""
    if plan.phase not in (Phase.STOPPING, Phase.ENDED):
        return begin(dataclasses.replace(plan, paired=None), now)
    if plan.paired is None:
        return plan, ()
    # It was to be handed over within this instance, and no longer is.
    told = () if plan.phase is Phase.STOPPING else (plan.report("stopped", {}),)
    return dataclasses.replace(plan, paired=None), told


def begin(plan: Any, now: Any) -> tuple[Any, Effects]:
    """The first step."""
    noted: Effects = (plan.news.note(now),) if plan.phase is Phase.SERVING else ()
    stopping = plan.at(Phase.STOPPING)
    if not plan.supervision.is_running("poller"):
        stopping, effects = after(stopping, POLLING)
        return stopping, (*noted, *effects)
    return stopping, (*noted, Send("poller", StopPolling(), POLLING, STEP_DEADLINE_MS))


def after(plan: Any, step: str) -> tuple[Any, Effects]:
    """A step is over, done or not."""
    if plan.phase is not Phase.STOPPING:
        return plan, ()
    if step == POLLING:
        return plan, (Send("prune_supervisor", StopPruning(), PRUNING, STEP_DEADLINE_MS),)
    if step == PRUNING:
        return plan, (Send("follower_registry", CloseEndpoint(), ENDPOINT, STEP_DEADLINE_MS),)
    ended = plan.at(Phase.ENDED)
    if plan.paired is not None:
        return ended, (plan.report("paired", dataclasses.asdict(plan.paired)),)
    released = Write("lease", "release", {"epoch": plan.settings["epoch"]})
    return ended, (released, plan.report("stopped", {}), Notify("leader.stopped"))
