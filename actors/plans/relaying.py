"""The registry's relays: an update on its way to one follower, and every way in which that ends."""

import dataclasses
from typing import Any

from actors.plans.effects import Effects, Perform, Reply
from actors.plans.relays import RELAY_DEADLINE_MS, Relay, settle
from messages.bus import Ack, delivery_id, forward
from messages.bus_texts import M
from messages.follower_registry import ForwardFailed, UpdateForwarded

ABSENT = "recipient-absent"


def begin(plan: Any, envelope: Any, now: Any) -> tuple[Any, Effects]:
    """Relay to the follower of the binding, over its connection or to its own socket."""
    said = envelope.body
    follower = plan.roster.by_binding(said.binding_key)
    if follower is None or not follower.reachable:
        absent = ForwardFailed(failure_class=ABSENT, text=M.UNKNOWN_FOLLOWER)
        return plan, (Reply(envelope.message_id, absent),)
    relay_id = f"{envelope.message_id}@{follower.generation}"[:256]
    relay = Relay(
        command_id=envelope.message_id,
        instance_id=follower.instance_id,
        connection=follower.connection,
        delivery_id=delivery_id(said.forward_kind, follower.binding_key, said.update_id),
        update_id=said.update_id,
        deadline=now.boot + RELAY_DEADLINE_MS,
    )
    line = forward(
        said.forward_kind,
        request_id=relay_id,
        auth=plan.secret,
        instance_id=follower.instance_id,
        generation=follower.generation,
        binding_key=follower.binding_key,
        update_id=said.update_id,
        carrier=said.carrier,
        now=now.wall,
    )
    plan = dataclasses.replace(
        plan.refreshed(follower.instance_id, now), relays={**plan.relays, relay_id: relay}
    )
    if follower.connection is not None:
        push = {"connection": follower.connection, "envelope": line}
        return plan, (Perform("push", relay_id, push), *plan.watching_relays())
    arguments = {
        "path": follower.socket_path,
        "envelope": line,
        "timeout_s": RELAY_DEADLINE_MS / 1_000,
    }
    return plan, (Perform("relay", relay_id, arguments),)


def answered(plan: Any, request: Any, ack: Ack, now: Any) -> tuple[Any, Effects]:
    """An ack on a connection: the answer to a relay there, else a response where none belongs."""
    relay = plan.relays.get(ack.request_id)
    if relay is None or relay.connection != request.connection:
        return plan, plan.refused(request.asked, M.RESPONSE_AS_REQUEST)
    return landed(plan, ack.request_id, ack, now)


def landed(plan: Any, relay_id: str, ack: Any, now: Any) -> tuple[Any, Effects]:
    """A relay is over."""
    relays = dict(plan.relays)
    relay = relays.pop(relay_id, None)
    if relay is None:
        return plan, ()
    plan = dataclasses.replace(plan, relays=relays)
    failure_class, text = settle(relay, ack if isinstance(ack, Ack) else None)
    if failure_class:
        failed = ForwardFailed(failure_class=failure_class, text=text)
        return plan, (Reply(relay.command_id, failed),)
    if plan.roster.get(relay.instance_id) is not None:
        plan = plan.refreshed(relay.instance_id, now)
    return plan, (Reply(relay.command_id, UpdateForwarded()),)


def connection_lost(plan: Any, connection: int) -> tuple[Any, Effects]:
    """Relays over this connection will get no answer any more."""
    lost = {key: relay for key, relay in plan.relays.items() if relay.connection == connection}
    kept = {key: relay for key, relay in plan.relays.items() if key not in lost}
    failed = ForwardFailed(failure_class=ABSENT, text=M.FORWARD_FAILED)
    return dataclasses.replace(plan, relays=kept), tuple(
        Reply(relay.command_id, failed) for relay in lost.values()
    )


def overdue(plan: Any, now: Any) -> tuple[Any, Effects]:
    """Relays past their time are given up; the rest is looked at again."""
    late = {key: relay for key, relay in plan.relays.items() if relay.deadline <= now.boot}
    kept = {key: relay for key, relay in plan.relays.items() if key not in late}
    failed = ForwardFailed(failure_class="transport-failed", text=M.FORWARD_FAILED)
    plan = dataclasses.replace(plan, relays=kept)
    replies: Effects = tuple(Reply(relay.command_id, failed) for relay in late.values())
    return plan, replies + (plan.watching_relays() if kept else ())
