"""What a follower says of itself, makes of answers, and takes from a leader."""

import dataclasses

import pytest

from actors.plans.follower import (
    CallEnd,
    FollowerPlan,
    Refused,
    Registered,
    backoff_ms,
    journal_carrier,
)
from messages.bus import (
    Ack,
    AckError,
    Describe,
    ReplaceFollowerTarget,
    Target,
    dump,
    forward,
    parse_line,
)
from messages.bus_protocol import OURS, ProtocolIdentity
from messages.bus_texts import M

PLAN = FollowerPlan(
    instance_id="7:1", binding_key="manual:x", thread_name="api · echo", cwd="/api", pid=7,
    birth="7:start:9",
)
RESULT = {"chatId": 5, "threadId": 6, "slot": "B", "threadName": "X"}
OK = Ack(request_id="g", ok=True, result=RESULT, protocol=OURS)


def registered(plan=PLAN, ack=OK):
    plan, verdict = plan.on_register_answered(ack, "g")
    assert verdict == Registered()
    return plan


def test_a_registration_goes_over_the_wire_with_all_that_is_known():
    request = PLAN.register("7:1:1", "secret", 99)
    assert parse_line(dump(request)) == request
    said = request.registration
    assert request.request_id == said.registration_generation == "7:1:1"
    assert (said.profile_key, said.process_birth_id, said.session_generation) == (
        "manual:x", "7:start:9", 1
    )
    assert said.protocol == OURS
    assert said.target is None


@pytest.mark.case("F25")
@pytest.mark.parametrize(
    "result",
    [RESULT, {"target": {"chatId": 5, "threadId": 6}, "slot": "B", "threadName": "X"}],
)
def test_both_shapes_of_a_result_are_the_same(result):
    plan = registered(ack=dataclasses.replace(OK, result=result))
    assert plan.target == Target(chat_id=5, thread_id=6)
    assert (plan.slot, plan.thread_name, plan.generation) == ("B", "X", "g")


@pytest.mark.case("F26", "F35")
def test_what_was_known_is_carried_to_the_next_leader():
    plan = registered().on_lost()
    assert not plan.is_registered
    said = plan.register("g2", "s", 1).registration
    assert (said.target, said.slot, said.thread_name) == (
        Target(chat_id=5, thread_id=6), "B", "X"
    )


@pytest.mark.case("F20", "F21", "F22")
@pytest.mark.parametrize(
    ("ack", "text"),
    [
        (dataclasses.replace(OK, protocol=None), "missing-identity"),
        (dataclasses.replace(OK, protocol=ProtocolIdentity.of(2, "x", [])), "missing-capability"),
        (dataclasses.replace(OK, protocol=ProtocolIdentity.of(9, "x", [])), "version-mismatch"),
        (Ack(request_id="g", ok=False, message="Exactly so.", protocol=OURS), "Exactly so."),
        (Ack(request_id="g", ok=False, message=M.UNAUTHORIZED), M.UNAUTHORIZED),
        (Ack(request_id="g", ok=False, protocol=OURS), M.TARGET_FAILED),
        (dataclasses.replace(OK, result=None), M.TARGET_FAILED),
        (dataclasses.replace(OK, result={"chatId": "5"}), M.TARGET_FAILED),
        (dataclasses.replace(OK, result={"chatId": 5, "threadId": 0}), M.TARGET_FAILED),
    ],
)
def test_refusals_name_their_reason(ack, text):
    plan, verdict = PLAN.on_register_answered(ack, "g")
    assert isinstance(verdict, Refused)
    assert text in verdict.text
    assert not plan.is_registered


@pytest.mark.case("F33")
def test_the_roster_is_cleaned():
    ack = Ack(request_id="1", ok=True, result={"eligibleElectionSlots": ["b", "A", "A", "CC", 3]})
    plan, stands = registered().on_heartbeat_answered(ack)
    assert stands
    assert plan.roster == ("A",)


@pytest.mark.case("F31")
def test_a_refused_heartbeat_ends_the_registration():
    _, stands = registered().on_heartbeat_answered(Ack(request_id="1", ok=False))
    assert not stands


# -- forwards ------------------------------------------------------------------------------------


def a_forward(**changes):
    made = forward(
        "leader.forwardMessage", request_id="r", auth="s", instance_id="7:1", generation="g",
        binding_key="manual:x", update_id=5, carrier={"text": "hi"}, now=1,
    )
    return dataclasses.replace(made, **changes)


def test_a_forward_for_us_is_taken_and_journalled_as_it_came():
    assert registered().refusal(a_forward(), "s") is None
    assert journal_carrier(a_forward()) == {"text": "hi"}


@pytest.mark.case("F60", "F61", "F62", "F63", "F69")
@pytest.mark.parametrize(
    ("envelope", "text"),
    [
        (a_forward(auth="x"), M.UNAUTHORIZED),
        (a_forward(auth=None), M.UNAUTHORIZED),
        (a_forward(recipient_instance_id="8:1"), M.NOT_RECIPIENT),
        (a_forward(recipient_registration_generation="old"), M.STALE_GENERATION),
        (
            a_forward(delivery=dataclasses.replace(
                a_forward().delivery, recipient_binding_key="manual:y")),
            M.NOT_BINDING,
        ),
        (
            a_forward(delivery=dataclasses.replace(a_forward().delivery, source_update_id=6)),
            M.DELIVERY_MISMATCH,
        ),
        (
            a_forward(message={"text": "hi", "pi_telegram_source_update_id": 6}),
            M.DELIVERY_MISMATCH,
        ),
        (a_forward(message={"text": "hi"}), M.DELIVERY_MISMATCH),
        (Describe(request_id="r", auth="s"), M.NOT_HANDLED),
    ],
)
def test_what_is_not_for_us_is_refused(envelope, text):
    assert registered().refusal(envelope, "s") == text


def test_without_a_secret_or_a_registration_nothing_is_taken():
    assert registered().refusal(a_forward(), "") == M.UNAUTHORIZED
    assert PLAN.refusal(a_forward(), "s") == M.STALE_GENERATION


@pytest.mark.case("F49", "F50")
def test_a_replaced_thread_keeps_the_registration():
    told = ReplaceFollowerTarget(
        request_id="r", auth="s", recipient_instance_id="7:1",
        recipient_registration_generation="g", target=Target(chat_id=5, thread_id=9),
        reason="thread-restore", sent_at_ms=1,
    )
    plan = registered()
    assert plan.refusal(told, "s") is None
    stale = dataclasses.replace(told, recipient_registration_generation="old")
    assert plan.refusal(stale, "s") == M.STALE_GENERATION
    plan = plan.on_target_replaced(told)
    assert (plan.target.thread_id, plan.generation) == (9, "g")
    assert plan.refusal(a_forward(), "s") is None


# -- calls ---------------------------------------------------------------------------------------

HERE, GONE = Target(chat_id=5, thread_id=6), Target(chat_id=5, thread_id=4)


def refused(message="no", **error):
    return Ack(
        request_id="1", ok=False, message=message, error=AckError(**error) if error else None
    )


@pytest.mark.case("F53")
@pytest.mark.parametrize(
    ("ack", "retry_safe", "used", "expected"),
    [
        (Ack(request_id="1", ok=True), False, HERE, CallEnd.DONE),
        (refused(), False, HERE, CallEnd.REFUSED),
        (refused(code="commit-unknown", method="sendMessage"), False, HERE, CallEnd.UNKNOWN),
        (refused(code="commit-unknown"), True, HERE, CallEnd.NOT_SENT),
        (refused(M.HANDLER_FAILED), False, HERE, CallEnd.UNKNOWN),
        (refused(M.HANDLER_FAILED), True, HERE, CallEnd.NOT_SENT),
        (refused(M.STALE_GENERATION), False, HERE, CallEnd.NOT_SENT),
        (refused(M.UNKNOWN_FOLLOWER), False, HERE, CallEnd.NOT_SENT),
        (refused(M.API_UNAVAILABLE), False, HERE, CallEnd.NOT_SENT),
        (refused(M.API_NOT_ALLOWED), False, HERE, CallEnd.REFUSED),
        (refused(code="stale-target", chat_id=5, thread_id=4), False, GONE, CallEnd.NOT_SENT),
        (refused(code="stale-target", chat_id=5, thread_id=6), False, HERE, CallEnd.REFUSED),
    ],
)
def test_how_a_call_ended(ack, retry_safe, used, expected):
    assert registered().call_end(ack, retry_safe, used) is expected


def test_the_pauses_between_refused_registrations():
    assert [backoff_ms(n) // 1_000 for n in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert backoff_ms(10**6) == 30_000
