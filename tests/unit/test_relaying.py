"""Relays: an update on its way to one follower (leader.md 7.1 to 7.3), and what each end of it means."""

import dataclasses
from typing import Any

import pytest

from actors.plans.effects import Notify, Now, WakeAfter
from actors.plans.follower_registry import FollowerRegistryPlan
from actors.plans.relays import TransportFailed, settle, unsendable
from messages.bus import Ack, forward
from messages.bus_texts import M
from tests.support.registry_desk import (
    LATER,
    NOW,
    RECEIPT,
    SECRET,
    UPDATE,
    acks,
    asks,
    opened,
    performed,
    registered,
    replies,
    said,
)


def handed_over() -> tuple[FollowerRegistryPlan, str]:
    """A plan with one update under way, and the id of its relay."""
    plan, effects = registered(opened()).on_forward_update(said(UPDATE), NOW)
    (push,) = performed(effects, "push")
    return plan, push.operation_id


def foreign(**fields: Any) -> FollowerRegistryPlan:
    """A plan with one follower that listens on a socket of its own."""
    return registered(opened(), bus_socket_path="/tmp/peer.sock", **fields)


def a_forward(**fields: Any) -> Any:
    """The same update, as a peer says it on the bus."""
    plain = {
        "request_id": "f1", "auth": SECRET, "instance_id": "11:1", "generation": "g1",
        "binding_key": "manual:11:1", "update_id": 7, "carrier": {"text": "x"}, "now": 1,
    }
    return forward("leader.forwardMessage", **{**plain, **fields})


# -- to whom --------------------------------------------------------------------------------------


@pytest.mark.case("L115", "L121", "L122")
def test_only_a_live_entry_is_a_recipient() -> None:
    """Whatever the database says, and only while it can be reached and journals what it takes."""
    gone, _ = registered(opened()).on_connection_closed(1, NOW)
    plan = registered(opened())
    careless = dataclasses.replace(plan, roster=plan.roster.changed("11:1", capabilities=()))
    for plan in (opened(), gone, careless):
        same, effects = plan.on_forward_update(said(UPDATE), NOW)
        assert replies(effects)[0].failure_class == "recipient-absent"
        assert same == plan and not performed(effects, "push") + performed(effects, "relay")


@pytest.mark.case("L115", "L116")
@pytest.mark.parametrize(
    ("fields", "text"),
    [({"instance_id": "99:1"}, M.UNKNOWN_FOLLOWER), ({"generation": "g0"}, M.STALE_GENERATION)],
)
def test_a_forward_on_the_bus_needs_exactly_the_live_registration(fields: dict[str, Any], text: str) -> None:
    """Nobody is spoken to otherwise, and nothing changes."""
    before = foreign()
    plan, effects = asks(before, a_forward(**fields), now=LATER)
    assert [ack.message for ack in acks(effects)] == [text]
    assert plan == before and not performed(effects, "relay")


@pytest.mark.case("L117")
def test_a_forward_on_the_bus_goes_on_unchanged_and_its_answer_comes_back() -> None:
    """The same auth, the same request id; the follower's result as it is."""
    line = a_forward()
    plan, effects = asks(foreign(), line)
    (relay,) = performed(effects, "relay")
    assert (relay.arguments["path"], relay.arguments["envelope"]) == ("/tmp/peer.sock", line)
    answer = Ack(request_id="f1", ok=True, result={"any": ["thing"]})
    plan, effects = plan.on_performed_relay("f1", answer, LATER)
    assert [(ack.ok, ack.result) for ack in acks(effects)] == [(True, {"any": ["thing"]})]
    assert plan.roster.followers["11:1"].heartbeat_at == LATER.boot and plan.relays == {}


@pytest.mark.case("L118")
@pytest.mark.parametrize(
    ("answer", "text"),
    [(TransportFailed("no such file"), "no such file"), (None, M.FORWARD_REJECTED),
     (Ack(request_id="f1", ok=False, message="full"), "full"),
     (Ack(request_id="f1", ok=False), M.FORWARD_REJECTED),
     (Ack(request_id="other", ok=True), M.FORWARD_REJECTED)],
)
def test_a_forward_that_fails_is_answered_with_why(answer: Any, text: str) -> None:
    """Speaking to the follower counted as a sign of life before; a failure is none."""
    plan, effects = asks(foreign(), a_forward(), now=LATER)
    assert plan.roster.followers["11:1"].heartbeat_at == LATER.boot
    much_later = Now(wall=LATER.wall, boot=LATER.boot + 5_000)
    plan, effects = plan.on_performed_relay("f1", answer, much_later)
    assert [(ack.ok, ack.message) for ack in acks(effects)] == [(False, text)]
    assert plan.roster.followers["11:1"].heartbeat_at == LATER.boot


@pytest.mark.case("L119")
def test_forwards_alone_keep_a_follower_alive() -> None:
    """Every four seconds an update and never a heartbeat: it is never silent for longer."""
    plan = registered(opened())
    for second in range(4, 40, 4):
        now = Now(wall=0, boot=NOW.boot + second * 1_000)
        assert plan.roster.followers["11:1"].describe(now.boot)["heartbeat_age_ms"] <= 4_000
        plan, _ = plan.on_forward_update(dataclasses.replace(said(UPDATE), message_id=f"m{second}"), now)


# -- what an answer means -------------------------------------------------------------------------

ROWS: dict[str, tuple[Any, str, str]] = {
    "exact receipt": ({"ok": True, "result": RECEIPT}, "accepted", ""),
    "no answer": (None, "retryable", "acknowledgement-missing"),
    "transport": (TransportFailed("gone"), "retryable", "transport-failed"),
    "other request": (
        {"request_id": "other", "ok": True, "result": RECEIPT},
        "terminal-rejected", "acknowledgement-mismatched",
    ),
    "negative": ({"ok": False, "message": "full"}, "retryable", "acknowledgement-rejected"),
    "no result": ({"ok": True}, "terminal-rejected", "durable-receipt-missing"),
    "half a receipt": (
        {"ok": True, "result": {"deliveryId": RECEIPT["deliveryId"]}},
        "terminal-rejected", "durable-receipt-missing",
    ),
    "other update": (
        {"ok": True, "result": {**RECEIPT, "sourceUpdateId": 8}},
        "terminal-rejected", "durable-receipt-mismatched",
    ),
    "other delivery": (
        {"ok": True, "result": {**RECEIPT, "deliveryId": "x"}},
        "terminal-rejected", "durable-receipt-mismatched",
    ),
}


@pytest.mark.case("L120")
@pytest.mark.parametrize(("answer", "status", "failure"), ROWS.values(), ids=ROWS)
def test_what_an_answer_means(answer: Any, status: str, failure: str) -> None:
    """Only the exact receipt completes the update; every rejection is told with all that names it."""
    plan, relay_id = handed_over()
    if isinstance(answer, dict):
        answer = Ack(**{"request_id": relay_id, **answer})
    settlement = settle(plan.relays[relay_id], answer)
    assert (settlement.status, settlement.failure_class) == (status, failure)
    _, effects = plan.on_performed_relay(relay_id, answer, NOW)
    (reply,) = replies(effects)
    assert getattr(reply, "failure_class", "") == failure
    assert (reply.KIND == "UpdateForwarded") is (status == "accepted")
    noted = [dict(e.fields) for e in effects if isinstance(e, Notify)]
    assert noted == ([] if status == "accepted" else [{
        "settlement": status, "failureClass": failure, "envelopeKind": "leader.forwardMessage",
        "recipientInstanceId": "11:1", "deliveryId": RECEIPT["deliveryId"], "sourceUpdateId": 7,
    }])


@pytest.mark.case("L120")
@pytest.mark.parametrize(
    ("changed", "update_id", "status", "failure"),
    [({}, None, "terminal-rejected", "source-update-identity-missing"),
     ({}, -1, "terminal-rejected", "source-update-identity-missing"),
     ({"binding_key": ""}, 7, "terminal-rejected", "recipient-binding-missing"),
     ({"generation": ""}, 7, "retryable", "recipient-generation-missing")],
)
def test_what_cannot_even_be_sent(
    changed: dict[str, Any], update_id: Any, status: str, failure: str
) -> None:
    """An update, a binding and a generation are needed."""
    follower = registered(opened()).roster.followers["11:1"]
    assert unsendable(follower, 7) is None
    found = unsendable(dataclasses.replace(follower, **changed), update_id)
    assert found is not None and (found.status, found.failure_class) == (status, failure)


def test_an_answer_counts_only_from_the_connection_that_was_asked() -> None:
    """From any other it is a response where none belongs."""
    plan, relay_id = handed_over()
    answer = Ack(request_id=relay_id, ok=True, result=RECEIPT)
    same, effects = asks(plan, answer, connection=2)
    assert same == plan and acks(effects)[0].message == M.RESPONSE_AS_REQUEST
    _, effects = asks(plan, answer)
    assert [body.KIND for body in replies(effects)] == ["UpdateForwarded"]


def test_a_relay_is_given_up_with_its_connection_or_after_its_time() -> None:
    """The inbox keeps the update in both cases."""
    plan, _ = handed_over()
    closed, effects = plan.on_connection_closed(1, NOW)
    assert [body.failure_class for body in replies(effects)] == ["recipient-absent"]
    late = Now(wall=NOW.wall, boot=NOW.boot + 30_000)
    given_up, effects = plan.on_wakeup_relays(late)
    assert [body.failure_class for body in replies(effects)] == ["transport-failed"]
    assert closed.relays == given_up.relays == {}


@pytest.mark.parametrize("first", ["connection", "socket"])
def test_one_wakeup_watches_all_relays_under_way(first: str) -> None:
    """It cannot be taken back, so a crowd must not set one each; it is set again while any is left."""
    plan = registered(opened()) if first == "connection" else foreign()
    plan, effects = plan.on_forward_update(said(UPDATE), NOW)
    assert [effect.reason for effect in effects if isinstance(effect, WakeAfter)] == ["relays"]
    second = said(dataclasses.replace(UPDATE, update_id=8))
    plan, effects = plan.on_forward_update(dataclasses.replace(second, message_id="c2"), NOW)
    assert len(plan.relays) == 2 and not [one for one in effects if isinstance(one, WakeAfter)]
    _, effects = plan.on_wakeup_relays(NOW)
    assert [effect.reason for effect in effects if isinstance(effect, WakeAfter)] == ["relays"]


def test_a_forward_on_the_bus_is_given_up_with_the_connection_of_its_follower() -> None:
    """Its sender is told, and an id that is under way already is not given away twice."""
    plan, _ = asks(registered(opened()), a_forward(), connection=2)
    _, effects = asks(plan, a_forward(), connection=3)
    assert acks(effects)[0].message == M.FORWARD_FAILED
    plan, effects = plan.on_connection_closed(1, NOW)
    assert [(ack.ok, ack.message) for ack in acks(effects)] == [(False, M.FORWARD_FAILED)]
    assert plan.relays == {}
