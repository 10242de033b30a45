"""What the registry does for operators, decided without a socket."""

from typing import Any

import pytest

from actors.plans.effects import Send
from actors.plans.follower_registry import FollowerRegistryPlan
from messages.actor import CommandFailed
from messages.bus import (
    Ack,
    CloseThread,
    ConveyWish,
    DropRegistration,
    NameThread,
    PassWish,
    PruneNow,
    SettleUpdate,
    StepDown,
)
from messages.bus_texts import M
from messages.follower_mutation import MutationFailed, MutationFinished
from messages.inbox import SettledByHand
from messages.leader import LeaseYielding
from messages.prune_supervisor import PrunedAtOnce
from tests.support.registry_desk import (
    LATER,
    NOW,
    SECRET,
    acks,
    asks,
    opened,
    performed,
    registered,
    said,
    sends,
)

Plan = FollowerRegistryPlan


def wants(kind: Any, **fields: Any) -> Any:
    """A request of an operator with the secret."""
    return kind(**{"request_id": "o1", "auth": SECRET, **fields})


def pushed(effects: Any) -> Any:
    """The one envelope that is handed to a follower."""
    (push,) = performed(effects, "push")
    return push.arguments["envelope"]


REQUESTS = [
    wants(CloseThread, binding_key="manual:x"),
    wants(NameThread, binding_key="manual:x", thread_name="n"),
    wants(PassWish, instance_id="11:1", wish="reload"),
    wants(DropRegistration, instance_id="11:1"),
    wants(StepDown, instance_id="10:1"),
    wants(SettleUpdate, update_id=1, choice="drop"),
    wants(PruneNow),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one.KIND)
def test_without_the_secret_nothing_is_done(request_: Any) -> None:
    """Whatever is asked."""
    plain = {**request_.plain(), "auth": "guess"}
    plan, effects = asks(registered(opened()), type(request_).load(plain))
    assert [ack.message for ack in acks(effects)] == [M.UNAUTHORIZED]
    assert len(effects) == 1


def test_a_thread_with_a_process_is_closed_by_that_process() -> None:
    """The follower is asked, and its word goes back to the operator."""
    plan, effects = asks(
        registered(opened()), wants(CloseThread, binding_key="manual:11:1"), connection=9
    )
    wish = pushed(effects)
    assert (wish.KIND, wish.wish, wish.recipient_registration_generation) == (
        "leader.conveyWish", "close", "g1"
    )
    plan, effects = asks(plan, Ack(request_id=wish.request_id, ok=True), connection=1)
    assert [ack.ok for ack in acks(effects)] == [True]
    assert plan.relays == {}


def test_a_thread_without_a_process_is_deleted_here() -> None:
    """By the mutation of its binding, so that it cannot overtake a registration."""
    plan, effects = asks(opened(), wants(CloseThread, binding_key="manual:gone"))
    (command,) = sends(effects, "MutateFollower")
    assert (command.body.operation, command.body.arguments) == (
        "close", {"binding_key": "manual:gone"}
    )
    _, effects = plan.on_mutation_finished(said(MutationFinished(), command.message_id), NOW)
    assert [ack.ok for ack in acks(effects)] == [True]
    (told,) = sends(effects, "FollowerUnreachable")
    assert (told.to, told.body.binding_key, told.body.closed) == ("inbox", "manual:gone", True)
    failed = MutationFailed(reason="telegram", text="Telegram said no.")
    _, effects = plan.on_mutation_failed(said(failed, command.message_id), NOW)
    assert [(ack.ok, ack.message) for ack in acks(effects)] == [(False, "Telegram said no.")]


def test_a_new_name_is_in_force_everywhere_at_once() -> None:
    """In the roster, with the inbox, and in the answer."""
    plan, effects = asks(
        registered(opened()), wants(NameThread, binding_key="manual:11:1", thread_name=" new ")
    )
    (command,) = sends(effects, "MutateFollower")
    assert command.body.arguments == {"binding_key": "manual:11:1", "thread_name": "new"}
    finished = MutationFinished(target={"thread_name": "new"})
    plan, effects = plan.on_mutation_finished(said(finished, command.message_id), NOW)
    assert plan.roster.get("11:1").thread_name == "new"
    assert [send.body.thread_name for send in sends(effects, "FollowerRegistered")] == ["new"]
    assert acks(effects)[0].result == {"threadName": "new"}


def test_the_lease_is_given_up_only_when_somebody_can_take_it() -> None:
    """And only by the leader that was meant."""
    alone = opened()
    for plan, instance, text in (
        (alone, "10:1", "No other process could take over. Start one first."),
        (registered(alone), "99:9", "Another process talks to Telegram by now."),
    ):
        (ack,) = acks(asks(plan, wants(StepDown, instance_id=instance))[1])
        assert (ack.ok, ack.message) == (False, text)
    plan, effects = asks(registered(alone), wants(StepDown, instance_id="10:1"))
    (command,) = sends(effects, "YieldLease")
    assert command.to == "leader"
    _, effects = plan.on_lease_yielding(said(LeaseYielding(), command.message_id), NOW)
    assert acks(effects)[0].ok


@pytest.mark.parametrize(
    ("request_", "actor", "answer", "ok"),
    [
        (wants(PruneNow), "prune_supervisor", PrunedAtOnce(dead=["11:1"]), True),
        (wants(SettleUpdate, update_id=7, choice="retry"), "inbox", SettledByHand(found=True), True),
        (wants(SettleUpdate, update_id=7, choice="drop"), "inbox", SettledByHand(found=False), False),
    ],
)
def test_what_others_do_is_asked_of_them(
    request_: Any, actor: str, answer: Any, ok: bool
) -> None:
    """One command, one answer; a failure is told in its own words."""
    plan, effects = asks(opened(), request_)
    (command,) = [effect for effect in effects if isinstance(effect, Send)]
    assert command.to == actor
    name = {"PrunedAtOnce": "pruned_at_once", "SettledByHand": "settled_by_hand"}[answer.KIND]
    _, effects = getattr(plan, f"on_{name}")(said(answer, command.message_id), NOW)
    assert acks(effects)[0].ok is ok
    failed = CommandFailed(reason="store", text="The disk is full.")
    _, effects = plan.on_command_failed(said(failed, command.message_id), NOW)
    assert acks(effects)[0].message == "The disk is full."


def test_a_wish_reaches_exactly_its_process() -> None:
    """One that is unknown or away is told at once; one that does not answer is given up."""
    plan = registered(opened())
    (ack,) = acks(asks(plan, wants(PassWish, instance_id="12:1", wish="reload"))[1])
    assert ack.message == M.UNKNOWN_FOLLOWER
    away, _ = plan.on_connection_closed(1, NOW)
    (ack,) = acks(asks(away, wants(PassWish, instance_id="11:1", wish="reload"))[1])
    assert ack.message == M.FORWARD_FAILED
    wish = wants(PassWish, instance_id="11:1", wish="drop", delivery_id="d1")
    plan, effects = asks(plan, wish, connection=9)
    line = pushed(effects)
    assert isinstance(line, ConveyWish) and (line.wish, line.delivery_id) == ("drop", "d1")
    plan, effects = plan.on_wakeup_relays(type(NOW)(wall=LATER.wall, boot=NOW.boot + 10_000))
    assert [ack.message for ack in acks(effects)] == [M.FORWARD_FAILED]


def test_a_dropped_registration_leaves_the_thread_alone() -> None:
    """Nothing is mutated; the inbox hands over no more until it registers anew."""
    plan, effects = asks(registered(opened()), wants(DropRegistration, instance_id="11:1"))
    assert plan.roster.get("11:1") is None
    assert acks(effects)[0].ok and sends(effects, "FollowerUnreachable")
    assert sends(effects, "MutateFollower") == []
