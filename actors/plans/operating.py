"""What the registry does for operators: each request is one command of an actor, or a wish of a process.

A thread whose process is registered is closed by that process, which says so and ends; one without a
process is deleted here. Every other request is somebody else's work, and its answer goes back as a sentence.
"""

import dataclasses
from typing import Any

from actors.plans import relaying
from actors.plans.bus_request import Waiting
from actors.plans.effects import Effects, Now, Send
from actors.plans.leaving import unreachable
from actors.plans.relays import Giver, Relay
from actors.plans.roster import Follower
from messages.bus_operator import (
    CLOSE,
    CloseThread,
    ConveyWish,
    DropRegistration,
    NameThread,
    OperatorRequest,
    PassWish,
    PruneNow,
    SettleUpdate,
    StepDown,
)
from messages.bus_texts import M
from messages.follower_registry import FollowerRegistered, FollowerUnreachable
from messages.inbox import SettleByHand
from messages.leader import YieldLease
from messages.prune_supervisor import PruneAtOnce

WISH_DEADLINE_MS = 10_000
COMMAND_DEADLINE_MS = 15_000

CLOSING, RENAMING, COMMANDED = "operator-close", "operator-rename", "operator"
"""Purposes of what waits."""

NOBODY_TAKES_OVER = "No other process could take over. Start one first."
LEADS_NOT = "Another process talks to Telegram by now."
UNDECIDED = "No such message waits for a decision."


def begin(plan: Any, request: Any, now: Now) -> tuple[Any, Effects]:
    """An operator with the secret asks."""
    envelope: OperatorRequest = request.envelope
    match envelope:
        case CloseThread(binding_key=key):
            follower = plan.roster.by_binding(key)
            if follower is not None:
                return _convey(plan, request, follower, CLOSE, None, now)
            return _mutate(plan, request, "close", {"binding_key": key}, CLOSING, now)
        case NameThread(binding_key=key, thread_name=name):
            arguments = {"binding_key": key, "thread_name": name.strip()}
            return _mutate(plan, request, "rename", arguments, RENAMING, now)
        case PassWish(instance_id=instance_id, wish=wish, delivery_id=delivery_id):
            follower = plan.roster.get(instance_id)
            if follower is None:
                return plan, plan.refused(request.asked, M.UNKNOWN_FOLLOWER)
            return _convey(plan, request, follower, wish, delivery_id, now)
        case DropRegistration(instance_id=instance_id):
            return _drop(plan, request, instance_id)
        case StepDown(instance_id=instance_id):
            if instance_id != plan.settings["owner"]["instance_id"]:
                return plan, plan.refused(request.asked, LEADS_NOT)
            if not plan.roster.eligible_slots():
                return plan, plan.refused(request.asked, NOBODY_TAKES_OVER)
            return _command(plan, request, "leader", YieldLease())
        case SettleUpdate(update_id=update_id, choice=choice):
            command = SettleByHand(update_id=update_id, choice=choice)
            return _command(plan, request, "inbox", command)
        case PruneNow():
            return _command(plan, request, "prune_supervisor", PruneAtOnce())
    return plan, plan.refused(request.asked, M.NOT_HANDLED)


def answered(plan: Any, waiting: Waiting, result: Any = None) -> tuple[Any, Effects]:
    """The actor that was asked did it."""
    return plan, () if waiting.asked is None else plan.acked(waiting.asked, result)


def closed(plan: Any, waiting: Waiting) -> tuple[Any, Effects]:
    """A thread without a process is deleted, and what waited there with it."""
    gone = FollowerUnreachable(binding_key=waiting.instance_id, instance_id="", closed=True)
    plan, effects = answered(plan, waiting)
    return plan, (Send("inbox", gone), *effects)


def settled(plan: Any, waiting: Waiting, found: bool) -> tuple[Any, Effects]:
    """The inbox did as told, or knows of nothing to decide."""
    if waiting.asked is None or found:
        return answered(plan, waiting)
    return plan, plan.refused(waiting.asked, UNDECIDED)


def failed(plan: Any, waiting: Waiting, text: str) -> tuple[Any, Effects]:
    """It was not done, for this reason."""
    if waiting.asked is None:
        return plan, ()
    return plan, plan.refused(waiting.asked, text or M.HANDLER_FAILED)


def renamed(plan: Any, waiting: Waiting, name: str) -> tuple[Any, Effects]:
    """A thread has another name: whoever works there is known by it from now on."""
    follower = plan.roster.by_binding(waiting.instance_id)
    told: Effects = ()
    if follower is not None:
        roster = plan.roster.changed(follower.instance_id, thread_name=name)
        plan = dataclasses.replace(plan, roster=roster)
        news = FollowerRegistered(
            binding_key=follower.binding_key,
            thread_name=name,
            slot=follower.slot,
            instance_id=follower.instance_id,
        )
        told = (Send("inbox", news),) if follower.reachable else ()
    plan, effects = answered(plan, waiting, {"threadName": name})
    return plan, (*told, *effects)


def _mutate(
    plan: Any, request: Any, operation: str, arguments: dict[str, Any], purpose: str, now: Now
) -> tuple[Any, Effects]:
    waiting = Waiting(
        purpose=purpose, asked=request.asked, instance_id=arguments["binding_key"]
    )
    command_id = f"{operation}/{request.connection}/{request.asked.request_id}"
    return plan.mutate(operation, arguments, command_id, waiting, now)


def _command(plan: Any, request: Any, actor: str, body: Any) -> tuple[Any, Effects]:
    command_id = f"operator/{request.connection}/{request.asked.request_id}"
    plan = plan.expecting(command_id, Waiting(purpose=COMMANDED, asked=request.asked))
    return plan, (Send(actor, body, command_id, COMMAND_DEADLINE_MS),)


def _convey(
    plan: Any, request: Any, follower: Follower, wish: str, delivery_id: str | None, now: Now
) -> tuple[Any, Effects]:
    if not follower.reachable:
        return plan, plan.refused(request.asked, M.FORWARD_FAILED)
    line = ConveyWish(
        request_id=f"wish-{request.connection}-{request.asked.request_id}"[:256],
        auth=plan.secret,
        recipient_instance_id=follower.instance_id,
        recipient_registration_generation=follower.generation,
        wish=wish,
        delivery_id=delivery_id,
        sent_at_ms=now.wall,
    )
    relay = Relay(
        relay_id=line.request_id,
        giver=Giver.PEER,
        kind=line.KIND,
        instance_id=follower.instance_id,
        generation=follower.generation,
        connection=follower.connection,
        deadline=now.boot + WISH_DEADLINE_MS,
        asked=request.asked,
    )
    return relaying.send(plan, relay, follower, line, now)


def _drop(plan: Any, request: Any, instance_id: str) -> tuple[Any, Effects]:
    follower = plan.roster.get(instance_id)
    if follower is None:
        return plan, plan.refused(request.asked, M.UNKNOWN_FOLLOWER)
    plan = dataclasses.replace(plan, roster=plan.roster.without(instance_id))
    return plan, (*plan.acked(request.asked), Send("inbox", unreachable(follower)))
