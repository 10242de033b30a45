"""What each request on the bus gets (leader.md 2, 7 and 8), decided without a socket."""

import dataclasses
from typing import Any

import pytest

from actors.plans.bus_request import Asked, BusRequest
from actors.plans.effects import Now, Reply, Send, StartChild, StopChild
from actors.plans.follower_registry import FollowerRegistryPlan
from messages.bus import (
    Ack,
    Disconnect,
    OtherEnvelope,
    Register,
    ReplaceFollowerTarget,
    Target,
)
from messages.bus_protocol import DURABLE_ADMISSION, OURS, ProtocolIdentity
from messages.bus_texts import M
from messages.follower_mutation import MutationFailed, MutationFinished
from messages.follower_registry import RetireFollower
from tests.support.registry_desk import (
    LATER,
    NOW,
    SECRET,
    SETTINGS,
    acks,
    asks,
    beat,
    opened,
    register,
    registered,
    registration,
    said,
    sends,
    target,
)

# -- registration -------------------------------------------------------------------------------------


def test_a_registration_goes_through_the_followers_mutation() -> None:
    """The mutation actor is started once; the ack has the thread and our protocol."""
    plan, effects = asks(opened(), register())
    assert [e.key for e in effects if isinstance(e, StartChild)] == ["follower_mutation:manual:11:1"]
    (command,) = sends(effects, "MutateFollower")
    assert command.body.arguments["binding_key"] == "manual:11:1"
    assert acks(effects) == []
    plan, effects = plan.on_mutation_finished(said(target(), command.message_id), NOW)
    (ack,) = acks(effects)
    assert ack.result == {"chatId": 1, "threadId": 5, "slot": "A", "threadName": "api"}
    assert ack.protocol == OURS
    assert [e.to for e in effects if isinstance(e, Send)] == ["inbox"]
    _, effects = asks(plan, register(registration_generation="g2"))
    assert not [e for e in effects if isinstance(e, StartChild)]


@pytest.mark.parametrize(
    ("request_", "text", "code"),
    [
        pytest.param(register(auth="x" * 43), M.UNAUTHORIZED, None, marks=pytest.mark.case("L17")),
        pytest.param(register(auth="short"), M.UNAUTHORIZED, None, marks=pytest.mark.case("L18")),
        pytest.param(
            register(protocol=None), "The protocols do not fit: missing-identity.", "incompatible-protocol",
            marks=pytest.mark.case("L24"),
        ),
        pytest.param(
            register(protocol=ProtocolIdentity.of(9, "x", (DURABLE_ADMISSION,))),
            "The protocols do not fit: version-mismatch.", "incompatible-protocol",
        ),
        pytest.param(
            register(protocol=ProtocolIdentity.of(1, "x", ())),
            "The protocols do not fit: missing-capability.", "incompatible-protocol",
        ),
        pytest.param(
            register(registration_generation=""), M.GENERATION_REQUIRED, None,
            marks=pytest.mark.case("L25"),
        ),
        pytest.param(OtherEnvelope(kind="leader.wakeInputCustody", request_id="r", auth=SECRET),
                     M.NOT_HANDLED, None),
        pytest.param(
            ReplaceFollowerTarget(
                request_id="r", auth=SECRET, recipient_instance_id="11:1", reason="thread-restore",
                recipient_registration_generation="g1", target=Target(chat_id=1, thread_id=2), sent_at_ms=1,
            ),
            M.NOT_HANDLED, None, marks=pytest.mark.case("L32"),
        ),
        pytest.param(Ack(request_id="r", ok=True), M.RESPONSE_AS_REQUEST, None,
                     marks=pytest.mark.case("L16", "F17")),
    ],
)
def test_refusals_before_anything_happens(request_: Any, text: str, code: str | None) -> None:
    """Nobody is provisioned, nothing changes."""
    before = opened()
    plan, effects = asks(before, request_)
    (ack,) = acks(effects)
    assert (ack.ok, ack.message, ack.error.code if ack.error else None) == (False, text, code)
    assert plan == before and not sends(effects, "MutateFollower")


def test_before_it_is_open_only_the_own_process_is_admitted() -> None:
    """By instance id and, where the system tells it, by the pid of the peer."""
    plan = FollowerRegistryPlan(settings=SETTINGS, secret=SECRET)
    assert acks(asks(plan, register())[1])[0].message == M.NOT_OPEN_YET
    own = register(instance="10:1")
    for pid, admitted in ((10, True), (None, True), (11, False)):
        _, effects = plan.on_bus_request(BusRequest(Asked("k", "g1"), 1, pid, own), None, NOW)
        assert bool(sends(effects, "MutateFollower")) is admitted


def test_the_own_follower_opens_the_way() -> None:
    """The Leader hears of it, and it is never eligible to succeed itself."""
    plan, effects = asks(opened(), register(instance="10:1"))
    (command,) = sends(effects, "MutateFollower")
    assert command.body.arguments["own"] is True
    plan, effects = plan.on_mutation_finished(said(target(), command.message_id), NOW)
    assert sends(effects, "OwnFollowerRegistered")
    _, effects = asks(plan, beat("10:1"))
    assert acks(effects)[0].result == {"eligibleElectionSlots": []}


def test_a_refused_mutation_refuses_the_registration_with_its_text() -> None:
    """Negative register acks carry the protocol too; the roster stays empty."""
    plan, effects = asks(opened(), register())
    (command,) = sends(effects, "MutateFollower")
    failed = MutationFailed(reason="slots-taken", text="All 26 letters are taken.")
    plan, effects = plan.on_mutation_failed(said(failed, command.message_id), NOW)
    (ack,) = acks(effects)
    assert (ack.ok, ack.message, ack.protocol) == (False, "All 26 letters are taken.", OURS)
    assert plan.roster.followers == {}


@pytest.mark.case("L112")
def test_an_idle_mutation_actor_ends_and_comes_back_on_demand() -> None:
    """After a minute without work; one that is at work, or died at work, is there."""
    plan, effects = asks(opened(), register())
    (command,) = sends(effects, "MutateFollower")
    later = Now(wall=NOW.wall, boot=NOW.boot + 60_000)
    busy, effects = plan.on_wakeup_idle_mutations(later)
    assert not [e for e in effects if isinstance(e, StopChild)]
    died, effects = busy.on_child_exited("follower_mutation:manual:11:1", later)
    assert [e.incarnation for e in effects if isinstance(e, StartChild)] == [2]
    plan, _ = busy.on_mutation_finished(said(target(), command.message_id), NOW)
    plan, effects = plan.on_wakeup_idle_mutations(later)
    assert [e.key for e in effects if isinstance(e, StopChild)] == ["follower_mutation:manual:11:1"]
    plan, effects = plan.on_child_exited("follower_mutation:manual:11:1", later)
    assert effects == () and plan.mutations.used_at == {}
    plan, effects = asks(plan, register(registration_generation="g2"))
    assert [e.incarnation for e in effects if isinstance(e, StartChild)] == [2]


@pytest.mark.case("L110")
def test_profiles_do_not_wait_for_each_other() -> None:
    """Each has a mutation of its own: the second is registered while the first is under way."""
    plan, _ = asks(opened(), register())
    plan, effects = asks(plan, register(instance="12:1"), connection=2)
    (command,) = sends(effects, "MutateFollower")
    assert command.to == "follower_mutation:manual:12:1"
    plan, effects = plan.on_mutation_finished(said(target(6, "B"), command.message_id), NOW)
    assert acks(effects)[0].ok and set(plan.roster.followers) == {"12:1"}


# -- what needs a live entry --------------------------------------------------------------------------


@pytest.mark.case("L26")
def test_heartbeats_need_a_live_entry_with_exactly_this_generation() -> None:
    """A refused one refreshes nothing."""
    plan = registered(opened())
    assert acks(asks(plan, beat("99:1"))[1])[0].message == M.UNKNOWN_FOLLOWER
    for generation in ("old", None):
        same, effects = asks(plan, beat(generation=generation), now=LATER)
        assert acks(effects)[0].message == M.STALE_GENERATION and same == plan
    plan, effects = asks(plan, beat(), now=LATER)
    assert acks(effects)[0].ok and plan.roster.followers["11:1"].heartbeat_at == LATER.boot


def test_the_heartbeat_answers_with_the_eligible_slots() -> None:
    """Ascending, with the sender's own, of followers with durable admission."""
    plan = registered(opened(), "11:1", 5, "C")
    plan = registered(plan, "12:1", 6, "B")
    assert acks(asks(plan, beat())[1])[0].result == {"eligibleElectionSlots": ["B", "C"]}


@pytest.mark.case("L5")
def test_registering_drops_whoever_shares_profile_or_target() -> None:
    """An unrelated follower stays."""
    plan = registered(opened(), "11:1", 5)
    plan = registered(plan, "12:1", 6)
    plan = registered(plan, "13:1", 7, profile_key="manual:11:1")
    assert set(plan.roster.followers) == {"12:1", "13:1"}
    plan = registered(plan, "14:1", 6)
    assert set(plan.roster.followers) == {"13:1", "14:1"}


@pytest.mark.case("L28")
def test_a_disconnect_without_a_generation_cleans_nothing_up() -> None:
    """Stale, and no mutation is asked."""
    plan = registered(opened())
    gone = Disconnect(
        request_id="d", auth=SECRET, instance_id="11:1", registration_generation=None, sent_at_ms=1
    )
    _, effects = asks(plan, gone)
    assert acks(effects)[0].message == M.STALE_GENERATION and not sends(effects, "MutateFollower")


@pytest.mark.case("L77", "L114")
def test_a_newer_registration_survives_an_older_disconnect() -> None:
    """The generation is checked again when the clean-up is done."""
    plan = registered(opened())
    gone = Disconnect(
        request_id="d", auth=SECRET, instance_id="11:1", registration_generation="g1", sent_at_ms=1
    )
    plan, effects = asks(plan, gone)
    (command,) = sends(effects, "MutateFollower")
    ended, effects = plan.on_mutation_finished(said(MutationFinished(), command.message_id), NOW)
    assert acks(effects)[0].ok and ended.roster.followers == {}
    (told,) = sends(effects, "FollowerUnreachable")
    assert told.body.closed, "what waits there goes with the thread"
    newer = registered(plan, registration_generation="g2")
    kept, effects = newer.on_mutation_finished(said(MutationFinished(), command.message_id), NOW)
    assert acks(effects)[0].message == M.STALE_GENERATION and "11:1" in kept.roster.followers


def test_the_end_of_a_stream_proves_nothing() -> None:
    """The entry stays, the prune supervisor looks, and the inbox keeps what comes."""
    plan, effects = registered(opened()).on_connection_closed(1, NOW)
    assert {e.to for e in effects if isinstance(e, Send)} == {"inbox", "prune_supervisor"}
    assert "11:1" in plan.roster.followers


@pytest.mark.parametrize(("dead", "operation"), [(True, ["preserve"]), (False, [])])
def test_a_retired_follower_is_dropped_and_only_a_dead_one_detached(dead: bool, operation: list[str]) -> None:
    """With clean-up off a proven death preserves the thread; silence changes nothing of it."""
    retire = RetireFollower(instance_id="11:1", generation="g1", proven_dead=dead)
    plan, effects = registered(opened()).on_retire_follower(said(retire), NOW)
    assert plan.roster.followers == {}
    assert [e.body.operation for e in sends(effects, "MutateFollower")] == operation
    other = dataclasses.replace(retire, generation="g0")
    plan, effects = registered(opened()).on_retire_follower(said(other), NOW)
    assert "11:1" in plan.roster.followers and isinstance(effects[0], Reply)


@pytest.mark.case("L114")
def test_a_disconnect_behind_a_newer_registration_deletes_nothing() -> None:
    """The newer registration is on its way to the same thread: nothing is asked."""
    plan = registered(opened())
    newer = Register(
        request_id="g2", auth=SECRET, registration=registration(registration_generation="g2")
    )
    plan, _ = asks(plan, newer)
    gone = Disconnect(
        request_id="d", auth=SECRET, instance_id="11:1", registration_generation="g1", sent_at_ms=1
    )
    _, effects = asks(plan, gone)
    assert acks(effects)[0].message == M.STALE_GENERATION and not sends(effects, "MutateFollower")


def retired(binding_key: str = "manual:11:1") -> RetireFollower:
    """A proven death."""
    return RetireFollower(
        instance_id="11:1", generation="g1", proven_dead=True, binding_key=binding_key
    )


@pytest.mark.case("L101")
@pytest.mark.parametrize("cleanup", [False, True])
def test_one_that_was_silent_before_it_died_keeps_its_thread_whatever_the_policy(cleanup: bool) -> None:
    """Its registration has ended already; the thread is only taken off the process."""
    plan = dataclasses.replace(opened(), settings={**SETTINGS, "cleanup": cleanup})
    _, effects = plan.on_retire_follower(said(retired()), NOW)
    (command,) = sends(effects, "MutateFollower")
    assert command.body.operation == "preserve"
    assert command.body.arguments == {"binding_key": "manual:11:1", "instance_id": "11:1"}


@pytest.mark.case("L96")
def test_the_successor_of_a_dead_one_is_left_alone() -> None:
    """Somebody has its binding by now, or nobody knows which it was."""
    plan = registered(opened(), "13:1", profile_key="manual:11:1")
    for binding_key in ("manual:11:1", ""):
        _, effects = plan.on_retire_follower(said(retired(binding_key)), NOW)
        assert [type(effect) for effect in effects] == [Reply]


@pytest.mark.case("L94", "L98")
@pytest.mark.parametrize(
    ("reason", "answer"), [("superseded", "FollowerRetired"), ("store", "CommandFailed")]
)
def test_a_retirement_that_failed_is_told(reason: str, answer: str) -> None:
    """Who asked tries again, under another id; a place that was taken meanwhile is no failure."""
    plan, effects = registered(opened()).on_retire_follower(said(retired()), NOW)
    (command,) = sends(effects, "MutateFollower")
    assert command.message_id is not None and command.message_id.endswith("m1")
    failed = MutationFailed(reason=reason, text="no")
    _, effects = plan.on_mutation_failed(said(failed, command.message_id), NOW)
    assert [effect.body.KIND for effect in effects if isinstance(effect, Reply)] == [answer]
