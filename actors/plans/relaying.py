"""The registry's relays: an envelope on its way to one follower, and every way in which that ends."""

import dataclasses
from typing import Any

from actors.plans import replacing
from actors.plans.effects import Effects, Notify, Perform, Reply
from actors.plans.relays import (
    ACCEPTED,
    RELAY_DEADLINE_MS,
    Giver,
    Relay,
    Settlement,
    TransportFailed,
    answer_of,
    settle,
    unsendable,
)
from actors.plans.roster import Follower
from messages.bus import Ack, Forward, delivery_id, forward
from messages.bus_texts import M
from messages.follower_registry import ForwardFailed, UpdateForwarded

ABSENT = "recipient-absent"


# -- how one begins -------------------------------------------------------------------------------


def begin(plan: Any, envelope: Any, now: Any) -> tuple[Any, Effects]:
    """The inbox hands over an update for the follower of a binding."""
    said = envelope.body
    follower = plan.roster.by_binding(said.binding_key)
    if follower is None or not follower.is_routable:
        absent = ForwardFailed(failure_class=ABSENT, text=M.UNKNOWN_FOLLOWER)
        return plan, (Reply(envelope.message_id, absent),)
    hindrance = unsendable(follower, said.update_id)
    if hindrance is not None:
        failed = ForwardFailed(failure_class=hindrance.failure_class, text=hindrance.text)
        return plan, (Reply(envelope.message_id, failed),)
    line = update(
        plan, follower, f"{envelope.message_id}@{follower.generation}"[:256], said.forward_kind,
        said.update_id, said.carrier, now,
    )
    relay = relay_of(line, Giver.INBOX, follower, now, command_id=envelope.message_id)
    return send(plan, relay, follower, line, now)


def for_peer(plan: Any, request: Any, now: Any) -> tuple[Any, Effects]:
    """A forward that came over the bus goes on unchanged; the answer goes back as it came."""
    line = request.envelope
    follower = plan.roster.get(line.recipient_instance_id)
    if follower is None:
        return plan, plan.refused(request.asked, M.UNKNOWN_FOLLOWER)
    if follower.generation != line.recipient_registration_generation:
        return plan, plan.refused(request.asked, M.STALE_GENERATION)
    if not follower.reachable or line.request_id in plan.relays:
        plan = plan.refreshed(follower.instance_id, now)
        return plan, plan.refused(request.asked, M.FORWARD_FAILED)
    relay = relay_of(line, Giver.PEER, follower, now, asked=request.asked)
    return send(plan, relay, follower, line, now)


def update(
    plan: Any,
    follower: Follower,
    request_id: str,
    kind: str,
    update_id: int,
    carrier: dict[str, Any],
    now: Any,
) -> Forward:
    """The envelope that brings one update to a follower."""
    return forward(
        kind,
        request_id=request_id,
        auth=plan.secret,
        instance_id=follower.instance_id,
        generation=follower.generation,
        binding_key=follower.binding_key,
        update_id=update_id,
        carrier=carrier,
        now=now.wall,
    )


def relay_of(line: Forward, giver: Giver, follower: Follower, now: Any, **more: Any) -> Relay:
    """What is kept of a forward under way."""
    update_id = line.delivery.source_update_id
    return Relay(
        relay_id=line.request_id,
        giver=giver,
        kind=line.KIND,
        instance_id=follower.instance_id,
        generation=follower.generation,
        connection=follower.connection,
        deadline=now.boot + RELAY_DEADLINE_MS,
        delivery_id=delivery_id(line.KIND, follower.binding_key, update_id),
        update_id=update_id,
        **more,
    )


def send(
    plan: Any, relay: Relay, follower: Follower, line: Any, now: Any
) -> tuple[Any, Effects]:
    """Over the follower's connection, or to its own socket; whoever is spoken to counts as alive."""
    # With others under way it is set already, and a wakeup cannot be taken back.
    watching = () if plan.relays else plan.watching_relays()
    plan = dataclasses.replace(
        plan.refreshed(follower.instance_id, now), relays={**plan.relays, relay.relay_id: relay}
    )
    if follower.connection is not None:
        push = {"connection": follower.connection, "envelope": line}
        return plan, (Perform("push", relay.relay_id, push), *watching)
    arguments = {
        "path": follower.socket_path,
        "envelope": line,
        "timeout_s": (relay.deadline - now.boot) / 1_000,
    }
    return plan, (Perform("relay", relay.relay_id, arguments), *watching)


# -- how one ends ---------------------------------------------------------------------------------


def answered(plan: Any, request: Any, ack: Ack, now: Any) -> tuple[Any, Effects]:
    """An ack on a connection: the answer to a relay there, else a response where none belongs."""
    relay = plan.relays.get(ack.request_id)
    if relay is None or relay.connection != request.connection:
        return plan, plan.refused(request.asked, M.RESPONSE_AS_REQUEST)
    return landed(plan, ack.request_id, ack, now)


def landed(plan: Any, relay_id: str, answer: Any, now: Any) -> tuple[Any, Effects]:
    """A relay is over: an Ack, TransportFailed, or None where nothing was answered."""
    relays = dict(plan.relays)
    relay = relays.pop(relay_id, None)
    if relay is None:
        return plan, ()
    plan = dataclasses.replace(plan, relays=relays)
    if _is_yes(relay, answer) and plan.is_current(relay.instance_id, relay.generation):
        plan = plan.refreshed(relay.instance_id, now)
    match relay.giver:
        case Giver.PEER:
            return _told_peer(plan, relay, answer)
        case Giver.REGISTRY:
            return replacing.told(plan, relay, answer)
    settlement = settle(relay, answer)
    noted = () if settlement.status == ACCEPTED else (_rejected(relay, settlement),)
    if relay.giver is Giver.INBOX:
        return plan, (*noted, Reply(relay.command_id, _to_inbox(settlement)))
    if relay.asked is None:
        return plan, noted
    if settlement.status == ACCEPTED:
        return plan, plan.acked(relay.asked)
    return plan, (*noted, *plan.refused(relay.asked, M.HANDLER_FAILED))


def connection_lost(plan: Any, connection: int, now: Any) -> tuple[Any, Effects]:
    """Relays over this connection will get no answer any more."""
    lost = [key for key, relay in plan.relays.items() if relay.connection == connection]
    effects: Effects = ()
    for relay_id in lost:
        relay = plan.relays[relay_id]
        if relay.giver is Giver.INBOX:
            # An absent recipient costs an update nothing, however often it is tried.
            kept = {key: one for key, one in plan.relays.items() if key != relay_id}
            plan = dataclasses.replace(plan, relays=kept)
            absent = ForwardFailed(failure_class=ABSENT, text=M.FORWARD_FAILED)
            effects = (*effects, Reply(relay.command_id, absent))
        else:
            plan, more = landed(plan, relay_id, TransportFailed(M.FORWARD_FAILED), now)
            effects = (*effects, *more)
    return plan, effects


def overdue(plan: Any, now: Any) -> tuple[Any, Effects]:
    """Relays past their time are given up; the rest is looked at again."""
    late = [key for key, relay in plan.relays.items() if relay.deadline <= now.boot]
    effects: Effects = ()
    for relay_id in late:
        plan, more = landed(plan, relay_id, TransportFailed(M.FORWARD_FAILED), now)
        effects = (*effects, *more)
    return plan, (*effects, *(plan.watching_relays() if plan.relays else ()))


def _is_yes(relay: Relay, answer: Any) -> bool:
    return isinstance(answer, Ack) and answer.ok and answer.request_id == relay.relay_id


def _told_peer(plan: Any, relay: Relay, answer: Any) -> tuple[Any, Effects]:
    if relay.asked is None:
        return plan, ()
    done, said = answer_of(relay, answer)
    return plan, plan.acked(relay.asked, said) if done else plan.refused(relay.asked, said)


def _to_inbox(settlement: Settlement) -> UpdateForwarded | ForwardFailed:
    if settlement.status == ACCEPTED:
        return UpdateForwarded()
    return ForwardFailed(failure_class=settlement.failure_class, text=settlement.text)


def _rejected(relay: Relay, settlement: Settlement) -> Notify:
    fields = {
        "settlement": settlement.status,
        "failureClass": settlement.failure_class,
        "envelopeKind": relay.kind,
        "recipientInstanceId": relay.instance_id,
        "deliveryId": relay.delivery_id,
        "sourceUpdateId": relay.update_id,
    }
    return Notify("bus.foreign-update-forward-rejected", fields, "WARNING")
