"""How a follower leaves: by its own disconnect, by the end of its stream, or retired by proof or silence."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans import relaying
from actors.plans.bus_request import BusRequest, Waiting
from actors.plans.effects import Effects, Now, Reply, Send, Write
from actors.plans.registering import binding_of
from actors.plans.roster import Follower
from messages.bus_texts import M
from messages.follower_registry import FollowerRetired, FollowerUnreachable


def disconnect(
    plan: Any, request: BusRequest, follower: Follower, now: Now
) -> tuple[Any, Effects]:
    """The operator gives the thread up: it is deleted before the entry goes."""
    if any(_replaces(follower, one) for one in plan.waiting.values()):
        # A newer registration is on its way: what this disconnect would delete is that one's.
        return plan, plan.refused(request.asked, M.STALE_GENERATION)
    waiting = Waiting(
        purpose="disconnect",
        asked=request.asked,
        instance_id=follower.instance_id,
        generation=follower.generation,
    )
    command_id = f"disconnect/{follower.instance_id}/{request.asked.request_id}"
    return plan.mutate("disconnect", _removal(follower), command_id, waiting, now)


def disconnected(plan: Any, waiting: Waiting, now: Now) -> tuple[Any, Effects]:
    """The thread is gone; the entry goes if it is still the same registration."""
    follower = plan.roster.get(waiting.instance_id)
    if waiting.asked is None:
        return plan, ()
    if follower is None or follower.generation != waiting.generation:
        return plan, plan.refused(waiting.asked, M.STALE_GENERATION)
    plan = dataclasses.replace(plan, roster=plan.roster.without(waiting.instance_id))
    slices = plan.slices.fresh(("target-bindings",), "manual-follower-disconnect", now.wall)
    plan = dataclasses.replace(plan, slices=slices)
    gone: Effects = ()
    if follower.target.thread_id is not None:
        gone = (Write("message_ownership", "forget_target", {
            "chat_id": follower.target.chat_id,
            "thread_id": follower.target.thread_id,
            "epoch": plan.settings["epoch"],
        }),)
    closed = dataclasses.replace(unreachable(follower), closed=True)
    # Told first: what waits there must not go to whoever starts the same again.
    return plan, (*gone, Send("inbox", closed), *plan.acked(waiting.asked))


def connection_closed(plan: Any, connection: int, now: Now) -> tuple[Any, Effects]:
    """The end of a stream proves nothing, but the process is looked at, and nothing is sent."""
    follower = plan.roster.by_connection(connection)
    plan, failed = relaying.connection_lost(plan, connection, now)
    if follower is None:
        return plan, failed
    roster = plan.roster.changed(follower.instance_id, connection=None)
    plan = dataclasses.replace(plan, roster=roster)
    gone = unreachable(follower)
    return plan, (*failed, Send("inbox", gone), Send("prune_supervisor", gone))


def retire(plan: Any, envelope: Any, now: Now) -> tuple[Any, Effects]:
    """Drop exactly this registration; of a dead one the thread is preserved or cleaned up."""
    said = envelope.body
    follower = plan.roster.get(said.instance_id)
    if follower is None and said.proven_dead:
        return _retire_absent(plan, envelope, now)
    if follower is None or follower.generation != said.generation:
        return plan, (Reply(envelope.message_id, FollowerRetired()),)
    plan = dataclasses.replace(plan, roster=plan.roster.without(said.instance_id))
    told: Effects = (Send("inbox", unreachable(follower)),)
    if not said.proven_dead:
        return plan, (*told, Reply(envelope.message_id, FollowerRetired()))
    arguments = _removal(follower)
    operation = "cleanup" if plan.settings.get("cleanup") else "preserve"
    if operation == "preserve":
        del arguments["generation"]
    plan, effects = _detach(plan, envelope, operation, arguments, now)
    return plan, (*told, *effects)


def _retire_absent(plan: Any, envelope: Any, now: Now) -> tuple[Any, Effects]:
    """One that was silent first and is proven dead now: its thread stays, whatever the policy."""
    said = envelope.body
    if not said.binding_key or plan.roster.by_binding(said.binding_key) is not None:
        return plan, (Reply(envelope.message_id, FollowerRetired()),)
    arguments = {"binding_key": said.binding_key, "instance_id": said.instance_id}
    plan, effects = _detach(plan, envelope, "preserve", arguments, now)
    gone = FollowerUnreachable(
        binding_key=said.binding_key, instance_id=said.instance_id, closed=False
    )
    return plan, (*effects, Send("inbox", gone))


def _detach(
    plan: Any, envelope: Any, operation: str, arguments: Mapping[str, Any], now: Now
) -> tuple[Any, Effects]:
    waiting = Waiting(purpose="retire", command_id=envelope.message_id)
    # Named after the try: a repeated id would get the answer of the try that failed.
    command_id = f"{operation}/{envelope.message_id}"
    return plan.mutate(operation, arguments, command_id, waiting, now)


def _replaces(follower: Follower, waiting: Waiting) -> bool:
    coming = waiting.registration
    if waiting.purpose != "register" or coming is None:
        return False
    newer = coming.registration_generation != follower.generation
    return newer and binding_of(coming) == follower.binding_key


def unreachable(follower: Follower) -> FollowerUnreachable:
    """What is told of a follower that nothing is handed to any more."""
    return FollowerUnreachable(
        binding_key=follower.binding_key, instance_id=follower.instance_id, closed=False
    )


def _removal(follower: Follower) -> dict[str, Any]:
    return {
        "binding_key": follower.binding_key,
        "instance_id": follower.instance_id,
        "generation": follower.generation,
    }
