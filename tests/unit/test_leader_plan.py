"""Start order, stop order, and what each death implies."""

from typing import Any

import pytest

from actors.correspondence import Unanswered
from actors.plans.effects import Effects, Introduce, Now, Perform, Reply, Send, StartChild, Write
from actors.plans.leader import Beginning, LeaderPlan, LeaseLook
from actors.plans.leader_phase import Phase
from actors.plans.supervision import SupervisionPlan
from actors.supervision import TREE
from messages.actor import ActorDescribed, ChildConfigured, CommandFailed, DescribeActor, Ping
from messages.envelope import Envelope
from messages.follower_registry import (
    EndpointClosed,
    EndpointOpened,
    OwnFollowerRegistered,
    RegistryListening,
)
from messages.leader import ConfigureLeader, DescribeInstance
from messages.poller import PollConflict, PollingStopped
from messages.prune_supervisor import PruningStopped
from messages.target_provisioner import CleanupsReplayed
from messages.telegram_gateway import TelegramAnswered, TelegramRefused, TokenRefused

NOW = Now(wall=1_000, boot=2_000)
KEYS = [spec.key for spec in TREE]


def said(body: Any, in_reply_to: str | None = None, message_id: str = "m") -> Envelope:
    """An envelope as it arrives."""
    return Envelope(body=body, message_id=message_id, key="leader", in_reply_to=in_reply_to)


def commands(effects: Effects) -> list[str]:
    """The kinds that were sent, configuration left out."""
    return [e.body.KIND for e in effects if isinstance(e, Send) and e.body.KIND != "ConfigureChild"]


def reports(effects: Effects) -> list[str]:
    """What main is told."""
    return [e.operation_id for e in effects if isinstance(e, Perform)]


def configured(led_before: bool = True) -> tuple[LeaderPlan, Effects]:
    """A plan whose children are all ready."""
    plan = LeaderPlan(supervision=SupervisionPlan.of(*TREE))
    first = said(ConfigureLeader(settings={"epoch": 3, "chat_id": 1001, "owner_id": 1001}))
    plan, effects = plan.on_configure_leader(first, Beginning(led_before, 99), NOW)
    assert [e.key for e in effects if isinstance(e, StartChild)] == KEYS
    for key in KEYS:
        ready = said(ChildConfigured(key=key, incarnation=1, pid=100))
        plan, effects = plan.on_child_configured(ready, NOW)
    return plan, effects


def serving() -> LeaderPlan:
    """A plan that serves."""
    plan, _ = configured()
    for body in (
        CleanupsReplayed(pending=0),
        RegistryListening(endpoint="/s"),
        OwnFollowerRegistered(),
        EndpointOpened(),
    ):
        handler = getattr(plan, "on_" + _snake(body.KIND))
        plan, _ = handler(said(body), NOW)
    assert plan.phase is Phase.SERVING
    return plan


def _snake(kind: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")


@pytest.mark.case("L180")
def test_a_takeover_starts_in_order() -> None:
    """Clean-ups, own follower, endpoint, and only then pruning and polling; nothing waits for getMe."""
    plan, effects = configured()
    assert commands(effects) == ["CallTelegram", "ReplayCleanups"]
    assert isinstance(effects[0], Introduce)
    plan, effects = plan.on_cleanups_replayed(said(CleanupsReplayed(pending=1)), NOW)
    assert commands(effects) == ["ListenForOwn"]
    plan, effects = plan.on_registry_listening(said(RegistryListening(endpoint="/s")), NOW)
    assert (commands(effects), reports(effects)) == ([], ["endpoint"])
    plan, effects = plan.on_own_follower_registered(said(OwnFollowerRegistered()), NOW)
    assert commands(effects) == ["OpenEndpoint"]
    plan, effects = plan.on_endpoint_opened(said(EndpointOpened()), NOW)
    written = [e.method for e in effects if isinstance(e, Write)]
    assert written == ["publish_endpoint", "record_led"]
    assert commands(effects) == ["StartPolling", "StartPruning"]
    assert reports(effects) == ["serving"]


def test_a_first_start_waits_for_the_bot() -> None:
    """A refused token ends it before any thread is touched; a silent network does not."""
    plan, effects = configured(led_before=False)
    assert (plan.phase, commands(effects)) == (Phase.BOT, ["CallTelegram"])
    ok, effects = plan.on_telegram_answered(said(TelegramAnswered(result={"username": "b"})), NOW)
    assert (ok.phase, commands(effects)) == (Phase.PROVING, ["ProvePolling"])
    no = TelegramRefused(outcome="unauthorized", description="Unauthorized")
    ended, effects = plan.on_telegram_refused(said(no), NOW)
    assert (ended.phase, reports(effects)) == (Phase.ENDED, ["token-refused"])
    silent = TelegramRefused(outcome="unavailable", description="no route")
    _, effects = plan.on_telegram_refused(said(silent), NOW)
    assert commands(effects) == ["ProvePolling"]


@pytest.mark.case("L180")
def test_a_stop_is_in_reverse_order_and_goes_on_without_answers() -> None:
    """Poller, prune supervisor, endpoint, lease."""
    plan, effects = serving().on_stop(NOW)
    assert commands(effects) == ["StopPolling"]
    plan, effects = plan.on_polling_stopped(said(PollingStopped()), NOW)
    assert commands(effects) == ["StopPruning"]
    failed = said(CommandFailed(reason="internal", text="x"), in_reply_to="stop/pruning")
    silent, effects = plan.on_command_failed(failed, NOW)
    assert commands(effects) == ["CloseEndpoint"]
    plan, effects = plan.on_pruning_stopped(said(PruningStopped()), NOW)
    assert commands(effects) == ["CloseEndpoint"]
    plan, effects = plan.on_endpoint_closed(said(EndpointClosed()), NOW)
    assert [e.method for e in effects if isinstance(e, Write)] == ["release"]
    assert (plan.phase, reports(effects)) == (Phase.ENDED, ["stopped"])
    assert plan.on_stop(NOW) == (plan, ())


@pytest.mark.parametrize(
    ("key", "again"),
    [
        ("poller", ["StartPolling"]),
        ("prune_supervisor", ["StartPruning"]),
        ("follower_registry", ["ListenForOwn"]),
        ("inbox", []),
        ("telegram_gateway", []),
        ("target_provisioner", []),
    ],
)
def test_a_dead_child_is_replaced_and_told_its_work(key: str, again: list[str]) -> None:
    """Everyone learns the new address; only what it must do anew is said again."""
    plan, effects = serving().on_child_exited(key, NOW)
    assert [e.incarnation for e in effects if isinstance(e, StartChild)] == [2]
    ready = said(ChildConfigured(key=key, incarnation=2, pid=101))
    plan, effects = plan.on_child_configured(ready, NOW)
    assert set(effects[0].to) == set(KEYS)  # type: ignore[union-attr]
    assert commands(effects) == again


def test_a_replaced_registry_opens_again_at_once() -> None:
    """The endpoint has a new path, and the lease says so."""
    plan, effects = serving().on_registry_listening(said(RegistryListening(endpoint="/t")), NOW)
    assert (commands(effects), reports(effects)) == (["OpenEndpoint"], ["endpoint"])
    _, effects = plan.on_endpoint_opened(said(EndpointOpened()), NOW)
    assert [e.arguments["path"] for e in effects if isinstance(e, Write)] == ["/t"]


def test_a_child_that_dies_too_often_ends_the_tree() -> None:
    """The supervisor fails upward, with the reason."""
    plan = serving()
    for _ in range(TREE[0].max_restarts):
        plan, effects = plan.on_child_exited("telegram_gateway", NOW)
        assert reports(effects) == []
    plan, effects = plan.on_child_exited("telegram_gateway", NOW)
    assert (plan.phase, reports(effects)) == (Phase.ENDED, ["start-failed"])


def test_the_lease_is_checked_each_time_and_refreshed_every_second_time() -> None:
    """A lost lease ends everything, once."""
    plan, effects = serving().on_wakeup_lease(LeaseLook(held=True), NOW)
    assert not [e for e in effects if isinstance(e, Write)]
    plan, effects = plan.on_wakeup_lease(LeaseLook(held=True), NOW)
    assert [e.method for e in effects if isinstance(e, Write)] == ["refresh_or_depose"]
    plan, effects = plan.on_wakeup_lease(LeaseLook(held=False), NOW)
    assert (plan.phase, reports(effects)) == (Phase.ENDED, ["deposed"])
    assert plan.on_wakeup_lease(LeaseLook(held=False), NOW) == (plan, ())


def test_a_step_of_the_start_that_fails_ends_the_start() -> None:
    """The same failure while serving is only recorded."""
    plan, _ = configured()
    failed = said(CommandFailed(reason="internal", text="x"), in_reply_to="start/cleanups")
    assert reports(plan.on_command_failed(failed, NOW)[1]) == ["start-failed"]
    late = said(CommandFailed(reason="internal", text="x"), in_reply_to="poll/1")
    assert reports(serving().on_command_failed(late, NOW)[1]) == []


def test_trouble_while_serving_ends_nothing() -> None:
    """A refused token and a foreign poller are told, and leadership stays."""
    plan, effects = serving().on_token_refused(said(TokenRefused(description="Unauthorized")), NOW)
    assert (plan.phase, plan.token, reports(effects)) == (Phase.SERVING, "refused", ["token-refused"])
    plan, _ = plan.on_poll_conflict(said(PollConflict(cause="foreign-poller")), NOW)
    assert plan.poller_conflict == "foreign-poller"
    plan, _ = plan.on_poll_conflict(said(PollConflict(cause="solved")), NOW)
    assert plan.poller_conflict == ""


def test_a_description_waits_for_everyone_and_leaves_out_the_silent() -> None:
    """One answer, whoever was slow."""
    plan, effects = serving().on_describe_instance(said(DescribeInstance(), message_id="ask"), NOW)
    asked = [e.message_id for e in effects if isinstance(e, Send)]
    for command_id in asked[:-1]:
        told = said(ActorDescribed(state={"n": 1}), in_reply_to=command_id)
        plan, effects = plan.on_actor_described(told, NOW)
        assert effects == ()
    lost = Unanswered(asked[-1] or "", DescribeActor(), "deadline")
    plan, effects = plan.on_unanswered(lost, NOW)
    (answer,) = (e for e in effects if isinstance(e, Reply))
    description = answer.body.description
    assert answer.command_id == "ask"
    assert description["telegram_gateway"] == {"n": 1} and "poller" not in description
    assert [actor["name"] for actor in description["actors"]] == ["leader", *KEYS]


def test_a_late_own_thread_keeps_neither_updates_nor_others_waiting() -> None:
    """The update that settles an ambiguous creation of it comes by polling; others have theirs."""
    plan, _ = configured()
    plan, _ = plan.on_cleanups_replayed(said(CleanupsReplayed(pending=0)), NOW)
    plan, _ = plan.on_registry_listening(said(RegistryListening(endpoint="/s")), NOW)
    plan, effects = plan.on_wakeup_own_thread(NOW)
    assert commands(effects) == ["OpenEndpoint"]
    plan, effects = plan.on_endpoint_opened(said(EndpointOpened()), NOW)
    assert plan.phase is Phase.SERVING and "StartPolling" in commands(effects)
    assert plan.on_own_follower_registered(said(OwnFollowerRegistered()), NOW) == (plan, ())
    assert serving().on_wakeup_own_thread(NOW) == (serving(), ())


def test_an_unanswered_ping_is_for_the_patrol_to_judge() -> None:
    """It is neither a failed step nor an error."""
    plan = serving()
    assert plan.on_unanswered(Unanswered("leader#1:4", Ping(), "deadline"), NOW) == (plan, ())


def test_the_menu_is_set_once_in_a_reign_and_its_failure_costs_nothing() -> None:
    """What its calls are answered tells nothing about the bot."""
    plan, effects = serving().on_wakeup_menu(NOW)
    assert commands(effects) == ["CallTelegram", "CallTelegram"]
    done = said(TelegramAnswered(result=True), in_reply_to="menu/0")
    assert plan.on_telegram_answered(done, NOW) == (plan, ())
    no = said(TelegramRefused(outcome="rejected", description="no"), in_reply_to="menu/1")
    same, effects = plan.on_telegram_refused(no, NOW)
    assert same == plan and commands(effects) == []
    lost = said(CommandFailed(reason="internal", text="x"), in_reply_to="menu/1")
    assert plan.on_command_failed(lost, NOW)[0] == plan
    stopping, _ = plan.on_stop(NOW)
    assert stopping.on_wakeup_menu(NOW) == (stopping, ())
