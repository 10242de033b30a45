"""A follower's calls to Telegram (leader.md 7.4, 7.6 and 8), from the allowlist to what it is told."""

import dataclasses
from typing import Any

import pytest

from actors.plans.effects import Now
from actors.plans.follower_registry import FollowerRegistryPlan
from actors.plans.relays import TransportFailed
from messages.bus import Ack
from messages.bus_texts import M
from messages.follower_mutation import MutationFailed
from messages.telegram_gateway import TelegramAnswered, TelegramRefused
from tests.support.registry_desk import (
    GONE,
    LATER,
    NOW,
    acks,
    asks,
    call,
    calling,
    opened,
    performed,
    register,
    registered,
    said,
    sends,
    target,
    writes,
)


@pytest.mark.case("L123")
def test_a_successful_send_is_recorded_before_it_is_acknowledged() -> None:
    """Each message of it belongs to the follower's binding from then on."""
    plan, command_id = calling(call(text="x"))
    result = {"message_id": 40}
    _, effects = plan.on_telegram_answered(said(TelegramAnswered(result=result), command_id), NOW)
    (written,) = writes(effects, "record")
    assert (written["message_id"], written["binding_key"]) == (40, "manual:11:1")
    assert (written["instance_id"], written["generation"]) == ("11:1", "g1")
    assert acks(effects)[0].result == result


@pytest.mark.case("L132")
def test_a_marked_call_reaches_telegram_without_its_marker() -> None:
    """Into another thread of the same chat; without the marker it is refused."""
    plan = registered(opened())
    _, effects = asks(plan, call(message_thread_id=6, text="x"))
    assert acks(effects)[0].message == M.API_NOT_ALLOWED and not sends(effects, "CallTelegram")
    _, effects = asks(plan, call(message_thread_id=6, text="x", __piTelegramCrossTargetDelivery=True))
    (command,) = sends(effects, "CallTelegram")
    assert command.body.params == {"chat_id": 1, "message_thread_id": 6, "text": "x"}


@pytest.mark.case("L135")
@pytest.mark.parametrize(("owner", "allowed"), [("manual:11:1", True), ("manual:12:1", False), (None, False)])
def test_edits_need_an_own_message(owner: str | None, allowed: bool) -> None:
    """Ownership is by binding, so it survives a takeover."""
    _, effects = asks(registered(opened()), call("editMessageText", message_id=3), owner=owner)
    assert bool(sends(effects, "CallTelegram")) is allowed
    assert bool(acks(effects)) is not allowed


@pytest.mark.case("L125")
def test_with_a_registration_the_messages_of_its_binding_are_its_own_again() -> None:
    """Before it is acknowledged: whoever asks then finds the new process behind them."""
    request = register(
        instance="12:1", profile_key="manual:11:1", registration_generation="g2"
    )
    plan, effects = asks(opened(), request)
    (command,) = sends(effects, "MutateFollower")
    _, effects = plan.on_mutation_finished(said(target(), command.message_id), NOW)
    assert writes(effects, "rebind") == [{
        "binding_key": "manual:11:1", "instance_id": "12:1", "generation": "g2", "epoch": 3,
        "now": NOW.wall,
    }]
    assert acks(effects)[0].request_id == request.request_id


@pytest.mark.case("L139")
def test_a_refused_call_still_proves_life() -> None:
    """Liveness is refreshed before the allowlist; what this leader cannot do is told as such."""
    plan, effects = asks(registered(opened()), call("getUpdates"), now=LATER)
    assert acks(effects)[0].message == M.API_NOT_ALLOWED
    assert plan.roster.followers["11:1"].heartbeat_at == LATER.boot
    upload = dataclasses.replace(
        call(), method="callMultipart", args=["sendPhoto", {"chat_id": 1, "message_thread_id": 5}]
    )
    plan, effects = asks(registered(opened()), upload, now=LATER)
    assert acks(effects)[0].message == M.API_UNAVAILABLE
    assert plan.roster.followers["11:1"].heartbeat_at == LATER.boot


@pytest.mark.case("L140", "F172")
def test_a_send_that_may_have_happened_is_told_as_such() -> None:
    """By the gateway's word, or because the gateway was lost."""
    plan, command_id = calling(call(text="x"))
    unknown = TelegramRefused(outcome="commit-unknown", description="lost")
    _, effects = plan.on_telegram_refused(said(unknown, command_id), NOW)
    error = acks(effects)[0].error
    assert error and (error.code, error.method) == ("commit-unknown", "sendMessage")
    lost = dataclasses.make_dataclass("Lost", ["command_id", "body", "reason"])
    _, effects = plan.on_unanswered(lost(command_id, None, "peer-replaced"), NOW)
    error = acks(effects)[0].error
    assert error and error.code == "commit-unknown"


@pytest.mark.case("L143")
def test_a_late_call_of_a_replaced_registration_reaches_nobody() -> None:
    """Its generation is another's by now; it does not even count as a sign of life."""
    plan = registered(registered(opened()), registration_generation="g2")
    same, effects = asks(plan, call(text="x"), now=LATER)
    assert acks(effects)[0].message == M.STALE_GENERATION
    assert same == plan and not sends(effects, "CallTelegram")


def test_an_ordinary_refusal_is_told_in_telegrams_words() -> None:
    """Without a code."""
    plan, command_id = calling(call(text="x"))
    no = TelegramRefused(outcome="rejected", description="Bad Request: message is too long", error_code=400)
    _, effects = plan.on_telegram_refused(said(no, command_id), NOW)
    (ack,) = acks(effects)
    assert (ack.message, ack.error) == ("Bad Request: message is too long", None)


# -- a thread that is gone ------------------------------------------------------------------------


def gone(**fields: Any) -> tuple[FollowerRegistryPlan, Any, str]:
    """A call whose thread is gone: the plan, the effects, and the id of the change asked for."""
    plan, command_id = calling(call(text="x"))
    if fields:
        roster = plan.roster.changed("11:1", **fields)
        plan = dataclasses.replace(plan, roster=roster)
    plan, effects = plan.on_telegram_refused(said(GONE, command_id), NOW)
    (command,) = sends(effects, "MutateFollower")
    assert command.body.operation == "replace-target" and command.message_id
    assert command.body.arguments["thread_id"] == 5
    return plan, effects, command.message_id


@pytest.mark.case("L141")
def test_what_is_known_of_a_thread_that_is_gone_becomes_suspect() -> None:
    """Its messages are forgotten, its binding goes to the provisioner, and the error is told as it came."""
    plan, effects, change = gone()
    assert writes(effects, "forget_target") == [{"chat_id": 1, "thread_id": 5, "epoch": 3}]
    for name in ("topic-state", "transport-health", "target-bindings"):
        found = plan.slices.get(name)
        assert (found.status, found.reason, found.action, found.suspect_at) == (
            "suspect", "stale-api-error", "topic-target-stale", NOW.wall
        )
    assert not acks(effects), "the thread is looked at first"
    plan, effects = plan.on_mutation_finished(said(target(thread_id=5), change), NOW)
    (ack,) = acks(effects)
    assert (ack.ok, ack.message) == (False, GONE.description)


@pytest.mark.case("L142")
def test_a_repair_that_fails_is_what_the_caller_hears() -> None:
    """Not what Telegram said of the call."""
    plan, _, change = gone()
    failed = MutationFailed(reason="telegram", text="Telegram cannot be reached.")
    _, effects = plan.on_mutation_failed(said(failed, change), NOW)
    (ack,) = acks(effects)
    assert (ack.message, ack.error) == ("Telegram cannot be reached.", None)


@pytest.mark.case("L144")
def test_a_follower_knows_its_new_thread_when_its_call_fails() -> None:
    """It is told first, over its connection, and only its yes moves its entry."""
    plan, _, change = gone()
    plan, effects = plan.on_mutation_finished(said(target(thread_id=6), change), NOW)
    (push,) = performed(effects, "push")
    told = push.arguments["envelope"]
    assert (told.KIND, told.reason) == ("leader.replaceFollowerTarget", "thread-restore")
    assert (told.target.thread_id, told.old_target.thread_id) == (6, 5)
    assert not acks(effects) and plan.roster.followers["11:1"].target.thread_id == 5
    plan, effects = asks(plan, Ack(request_id=told.request_id, ok=True))
    (ack,) = acks(effects)
    assert ack.error and (ack.error.code, ack.error.chat_id, ack.error.thread_id) == ("stale-target", 1, 5)
    assert plan.roster.followers["11:1"].target.thread_id == 6
    assert plan.roster.followers["11:1"].connected_at == NOW.boot


@pytest.mark.case("L131")
@pytest.mark.parametrize("ending", ["no", "lost", "late", "replaced"])
def test_without_its_yes_a_follower_stays_where_it_was(ending: str) -> None:
    """A no, no answer, or another registration by now: the entry is as it was, and the call is answered."""
    plan, _, change = gone()
    plan, effects = plan.on_mutation_finished(said(target(thread_id=6), change), NOW)
    relay_id = performed(effects, "push")[0].operation_id
    before = plan.roster
    match ending:
        case "no":
            plan, effects = asks(plan, Ack(request_id=relay_id, ok=False, message="no"))
        case "lost":
            plan, effects = plan.on_connection_closed(1, NOW)
        case "late":
            plan, effects = plan.on_wakeup_relays(Now(wall=0, boot=NOW.boot + 5_000))
        case "replaced":
            before = plan.roster.changed("11:1", generation="g2")
            plan = dataclasses.replace(plan, roster=before)
            plan, effects = asks(plan, Ack(request_id=relay_id, ok=True))
    assert acks(effects)[0].error and plan.roster.followers["11:1"].target.thread_id == 5
    assert {one.target for one in plan.roster} == {one.target for one in before}


@pytest.mark.case("L131")
def test_a_follower_with_a_socket_of_its_own_is_told_there() -> None:
    """And stays where it was when nobody listens."""
    plan, _, change = gone(connection=None, socket_path="/tmp/peer.sock")
    plan, effects = plan.on_mutation_finished(said(target(thread_id=6), change), NOW)
    (relay,) = performed(effects, "relay")
    assert relay.arguments["path"] == "/tmp/peer.sock" and relay.arguments["timeout_s"] == 5
    plan, effects = plan.on_performed_relay(relay.operation_id, TransportFailed("refused"), NOW)
    assert acks(effects)[0].error and plan.roster.followers["11:1"].target.thread_id == 5


@pytest.mark.case("L144")
def test_a_thread_of_nobody_that_is_gone_is_told_with_its_ids() -> None:
    """A marked call into another thread: nobody live is behind it, so nothing is to be repaired."""
    plan, effects = asks(
        registered(opened()), call(message_thread_id=8, __piTelegramCrossTargetDelivery=True)
    )
    (command,) = sends(effects, "CallTelegram")
    plan, effects = plan.on_telegram_refused(said(GONE, command.message_id), NOW)
    (ack,) = acks(effects)
    assert ack.message == GONE.description
    assert ack.error and (ack.error.code, ack.error.thread_id) == ("stale-target", 8)
