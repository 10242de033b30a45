"""From the first contact to service: clean-ups, the registry for the own follower, its thread, then everybody.

What an earlier leader meant to delete is deleted before anybody may ask for a thread. The own thread comes
before all others, but nobody else waits for it longer than a few seconds.
"""

import dataclasses
from typing import Any

from actors.plans import first_contact
from actors.plans.effects import Effects, Notify, Now, Send, WakeAfter, Write
from actors.plans.election import PROOF_MS
from actors.plans.leader_phase import Phase
from actors.plans.poller import QUIET_PROOFS
from messages.follower_registry import ListenForOwn, OpenEndpoint
from messages.poller import StartPolling
from messages.prune_supervisor import StartPruning
from messages.target_provisioner import ReplayCleanups

STEP_DEADLINE_MS = 15_000
MENU_AFTER_MS = 2_000
"""The menu of commands can wait until everybody is served."""
OWN_THREAD_MS = 3_000
"""How long the own thread may take before everybody else is served without it."""

STEPS = ("start/", "listen/", "open/")
"""How the ids of commands begin without which there is no service."""


def begin(plan: Any) -> tuple[Any, Effects]:
    """First what an earlier leader meant to delete."""
    replay = Send("target_provisioner", ReplayCleanups(), "start/cleanups", STEP_DEADLINE_MS)
    return plan.at(Phase.CLEANUPS), (replay,)


def replayed(plan: Any) -> tuple[Any, Effects]:
    """Old intents are settled: the endpoint may exist now, for the own follower."""
    if plan.phase is not Phase.CLEANUPS:
        return plan, ()
    return plan.at(Phase.LISTENING), (_listen(plan),)


def listening(plan: Any, endpoint: str) -> tuple[Any, Effects]:
    """Tell the own follower where to register; after a replacement, open again at once."""
    plan = dataclasses.replace(plan, endpoint=endpoint)
    told = plan.report("endpoint", {"path": endpoint})
    if plan.phase is Phase.LISTENING:
        return plan.at(Phase.OWN_THREAD), (told, WakeAfter("own_thread", OWN_THREAD_MS))
    if plan.phase is Phase.SERVING:
        return plan, (told, _open(plan))
    return plan, (told,)


def own_registered(plan: Any) -> tuple[Any, Effects]:
    """The leading instance has its thread: every other follower may come."""
    if plan.phase is not Phase.OWN_THREAD:
        return plan, ()
    return plan.at(Phase.OPENING), (_open(plan),)


def own_late(plan: Any) -> tuple[Any, Effects]:
    """Serve without the own thread, which comes when it can.

    What keeps it away is nobody else's trouble, and Telegram's word of a thread that it may have made comes
    by polling.
    """
    if plan.phase is not Phase.OWN_THREAD:
        return plan, ()
    noted = Notify("leader.own_thread_late", level="WARNING")
    return plan.at(Phase.OPENING), (noted, _open(plan))


def opened(plan: Any, now: Now) -> tuple[Any, Effects]:
    """Name the endpoint in the lease, and serve."""
    where = {"epoch": plan.settings["epoch"], "path": plan.endpoint}
    published = Write("lease", "publish_endpoint", where)
    if plan.phase is Phase.SERVING:
        return plan, (published,)
    if plan.phase is not Phase.OPENING:
        return plan, ()
    news, told = plan.news.served(plan.away, now)
    plan = dataclasses.replace(plan, phase=Phase.SERVING, news=news, away=None)
    return plan, (
        published,
        *told,
        _poll(plan),
        _prune(plan),
        plan.report("serving", {}),
        Notify("leader.serving", {"epoch": plan.settings["epoch"]}),
        WakeAfter("menu", MENU_AFTER_MS),
        *_calm(plan),
    )


def resume(plan: Any, key: str) -> Effects:
    """What a replaced child is to do, by how far the start is."""
    if key == "follower_registry" and plan.endpoint:
        return (_listen(plan),)
    if key == "poller" and plan.phase is Phase.PAIRING:
        return first_contact.poll(plan)
    if plan.phase is not Phase.SERVING:
        return ()
    if key == "poller":
        return (_poll(plan),)
    if key == "prune_supervisor":
        return (_prune(plan),)
    return ()


def _calm(plan: Any) -> Effects:
    """A conflict of former times may be over without that this leader ever sees one."""
    proof_ms = plan.settings.get("proof_ms", PROOF_MS)
    return (WakeAfter("calm", proof_ms * QUIET_PROOFS),) if plan.news.told_conflict else ()


def _listen(plan: Any) -> Send:
    return Send("follower_registry", ListenForOwn(), _life(plan, "listen", "follower_registry"), STEP_DEADLINE_MS)


def _open(plan: Any) -> Send:
    return Send("follower_registry", OpenEndpoint(), _life(plan, "open", "follower_registry"), STEP_DEADLINE_MS)


def _poll(plan: Any) -> Send:
    return Send("poller", StartPolling(), _life(plan, "poll", "poller"), STEP_DEADLINE_MS)


def _prune(plan: Any) -> Send:
    return Send("prune_supervisor", StartPruning(), _life(plan, "prune", "prune_supervisor"))


def _life(plan: Any, purpose: str, key: str) -> str:
    """One id for each life of the child that is asked."""
    return f"{purpose}/{plan.supervision.incarnation(key)}"
