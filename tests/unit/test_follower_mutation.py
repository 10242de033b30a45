"""One profile's changes: in order, one at a time, whatever comes of each."""

import pytest

from actors.correspondence import Unanswered
from actors.plans.effects import Now, Reply, Send
from actors.plans.follower_mutation import COMMANDS, FollowerMutationPlan
from messages.actor import CommandFailed
from messages.envelope import Envelope
from messages.follower_mutation import OPERATIONS, MutateFollower, MutationFailed, MutationFinished
from messages.target_provisioner import (
    TargetPreserved,
    TargetProvisioned,
    TargetRefused,
    TargetRemoved,
)

NOW = Now(wall=1, boot=1)
WHO = {"binding_key": "manual:a", "instance_id": "1:1"}
ARGUMENTS = {
    "register": {**WHO, "thread_name": "api", "place": "~", "carried_slot": None, "own": False},
    "replace-target": {**WHO, "thread_id": 10, "error": "gone"},
    "disconnect": {**WHO, "generation": "g"},
    "cleanup": {**WHO, "generation": "g"},
    "preserve": WHO,
    "close": {"binding_key": WHO["binding_key"]},
    "rename": {"binding_key": WHO["binding_key"], "thread_name": "web"},
}
TARGET = TargetProvisioned(
    chat_id=1, thread_id=10, slot="A", thread_name="api", reused=False
)
HANDLERS = {
    "TargetProvisioned": "on_target_provisioned",
    "TargetRemoved": "on_target_removed",
    "TargetPreserved": "on_target_preserved",
    "TargetRefused": "on_target_refused",
    "CommandFailed": "on_command_failed",
}


def ask(plan, command_id, operation="register", **changed):
    """Say a change."""
    body = MutateFollower(operation=operation, arguments={**ARGUMENTS[operation], **changed})
    return plan.on_mutate_follower(Envelope(body, command_id, "m"), NOW)


def hear(plan, command_id, body):
    """The provisioner answers the command of this change."""
    answer = Envelope(body, "x", "m", in_reply_to=f"{command_id}/provision")
    return getattr(plan, HANDLERS[body.KIND])(answer, NOW)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_is_one_command_of_the_provisioner(operation):
    plan, (send,) = ask(FollowerMutationPlan(), "m1", operation)
    assert send.to == "target_provisioner"
    assert send.body.KIND == COMMANDS[operation]
    assert send.message_id == "m1/provision"
    assert send.resend
    assert plan.describe(NOW) == {"operation": operation, "waiting": 0}


@pytest.mark.parametrize(
    "said, answer",
    [
        (
            TARGET,
            MutationFinished(
                target={
                    "chat_id": 1, "thread_id": 10, "slot": "A", "thread_name": "api", "reused": False
                }
            ),
        ),
        (TargetRemoved(), MutationFinished(target=None)),
        (TargetPreserved(), MutationFinished(target=None)),
        (
            TargetRefused(reason="ambiguous", text="wait"),
            MutationFailed(reason="ambiguous", text="wait"),
        ),
        (CommandFailed(reason="store", text="full"), MutationFailed(reason="store", text="full")),
    ],
)
def test_the_provisioners_answer_is_passed_on(said, answer):
    plan, _ = ask(FollowerMutationPlan(), "m1")
    plan, effects = hear(plan, "m1", said)
    assert effects == (Reply("m1", answer),)
    assert plan == FollowerMutationPlan()


@pytest.mark.case("L109", "L112")
def test_a_change_begins_when_the_one_before_it_is_settled():
    plan, _ = ask(FollowerMutationPlan(), "m1", "disconnect")
    plan, effects = ask(plan, "m2", "register", instance_id="2:2")
    assert effects == ()
    plan, (reply, send) = hear(plan, "m1", TargetRemoved())
    assert reply.command_id == "m1"
    assert (send.message_id, send.body.instance_id) == ("m2/provision", "2:2")
    plan, (reply,) = hear(plan, "m2", TARGET)
    assert reply.command_id == "m2"
    assert plan == FollowerMutationPlan()


@pytest.mark.case("L111")
@pytest.mark.parametrize(
    "fail",
    [
        lambda plan: hear(plan, "m1", TargetRefused(reason="telegram", text="")),
        lambda plan: hear(plan, "m1", CommandFailed(reason="internal", text="")),
        lambda plan: plan.on_unanswered(
            Unanswered("m1/provision", plan.current.command, "deadline"), NOW
        ),
    ],
)
def test_a_failure_poisons_nothing(fail):
    plan, _ = ask(FollowerMutationPlan(), "m1")
    plan, _ = ask(plan, "m2")
    plan, _ = ask(plan, "m3")
    plan, (reply, send) = fail(plan)
    assert isinstance(reply.body, MutationFailed)
    assert isinstance(send, Send) and send.message_id == "m2/provision"
    assert [change.command_id for change in plan.waiting] == ["m3"]


def test_an_answer_to_something_else_settles_nothing():
    plan, _ = ask(FollowerMutationPlan(), "m2")
    assert hear(plan, "m1", TARGET) == (plan, ())
    assert hear(FollowerMutationPlan(), "m1", TARGET) == (FollowerMutationPlan(), ())


def test_arguments_that_do_not_fit_are_refused_at_once():
    busy, _ = ask(FollowerMutationPlan(), "m1")
    plan, (reply,) = ask(busy, "m2", "preserve", own=True)
    assert reply.body.reason == "invalid"
    assert plan == busy
