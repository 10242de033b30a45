"""What an operator wants reaches the one who does it: session, prune supervisor, inbox, election."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from actors.plans.effects import Now, Reply, Send, Write
from actors.plans.election import YIELD_MS, ElectionPlan, Standing, Verdict
from actors.plans.inbox import InboxPlan
from actors.plans.prune_supervisor import DEAD, PruneSupervisorPlan
from messages import texts
from messages.envelope import Envelope
from messages.follower_registry import FollowersDescribed
from messages.inbox import SettleByHand
from messages.prune_supervisor import PruneAtOnce, PrunedAtOnce, StartPruning
from tests.support.eventually import eventually_async
from tests.unit.test_prune_supervisor import Watch, follower
from tests.unit.test_session import House, delivery_id
from tests.unit.test_session_plan import Told, restored, started, written

NOW = Now(wall=1_000_000, boot=500_000)


def said(body: Any) -> Envelope:
    """A command as it arrives."""
    return Envelope(body, "w1", "x")


# -- the session --------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [True, False])
def test_a_question_is_settled_from_the_terminal_as_by_its_button(again: bool) -> None:
    told = Told()
    told.tell("on_started", (restored("cut_off"),))
    told.looked()
    (held,) = told.plan.held
    told.tell("on_settled_by_hand", held.item.delivery_id, again)
    effects = told.looked()
    assert told.plan.held == ()
    if again:
        assert started(effects) == [held.item.delivery_id]
    else:
        assert ("mark_done", held.item.delivery_id) in written(effects)
    told.tell("on_settled_by_hand", held.item.delivery_id, again)
    assert told.looked() == ()


def test_an_idle_session_takes_its_queue_up_again_and_a_busy_one_does_not(tmp_path: Path) -> None:
    async def story() -> None:
        house = House(tmp_path / "inbox.db")
        async with house.running():
            await house.write(1, "first")
            await eventually_async(lambda: house.mode.prompts == ["first"])
            assert await house.session.wish("reload", None) == texts.STOP_IT_FIRST
            house.mode.end("done")
            await eventually_async(lambda: house.session.plan.running is None)
            before = house.session.plan
            await eventually_async(lambda: not house.session._beside)
            assert await house.session.wish("reload", None) == ""
            assert house.session.plan is not before
            await house.write(2, "second")
            await eventually_async(lambda: house.mode.prompts == ["first", "second"])

    asyncio.run(story())


def test_a_wish_about_nothing_is_refused_and_closing_leaves_the_thread(tmp_path: Path) -> None:
    async def story() -> None:
        house = House(tmp_path / "inbox.db")
        async with house.running():
            await eventually_async(lambda: house.session._started.is_set())
            refused = await house.session.wish("retry", delivery_id(1))
            assert refused == texts.NOTHING_TO_DECIDE
            assert await house.session.wish("close", None) == ""
            await asyncio.wait_for(house.session.left.wait(), 5)

    asyncio.run(story())


# -- the others ---------------------------------------------------------------------------------


def test_pruning_at_once_tells_who_is_dead_and_retires_them() -> None:
    watch = Watch()
    watch.describe(follower())
    watch.take(watch.plan.on_prune_at_once(said(PruneAtOnce()), watch.now))
    effects = watch.describe(follower(1), follower(2), n2=DEAD)
    answers = [effect for effect in effects if isinstance(effect, Reply)]
    assert answers == [Reply("w1", PrunedAtOnce(dead=["2:0"]))]
    assert len(watch.retiring()) == 1
    assert not [one for one in watch.tick(follower(1)) if isinstance(one, Reply)]


def test_pruning_before_anybody_is_watched_finds_nobody() -> None:
    _, effects = PruneSupervisorPlan().on_prune_at_once(said(PruneAtOnce()), NOW)
    assert effects == (Reply("w1", PrunedAtOnce(dead=[])),)
    plan, _ = PruneSupervisorPlan().on_start_pruning(said(StartPruning()), NOW)
    plan, effects = plan.on_prune_at_once(said(PruneAtOnce()), NOW)
    assert not [one for one in effects if isinstance(one, Send)], "a look is under way already"
    answer = Envelope(FollowersDescribed(followers=[]), "x", "p", in_reply_to=plan.asked)
    _, effects = plan.on_followers_described(answer, {}, NOW)
    assert Reply("w1", PrunedAtOnce(dead=[])) in effects


@pytest.mark.parametrize(("choice", "method"), [("retry", "revive"), ("drop", "settle_done")])
def test_a_dead_update_is_settled_by_hand(choice: str, method: str) -> None:
    command = said(SettleByHand(update_id=7, choice=choice))
    plan = InboxPlan(epoch=3)
    _, effects = plan.on_settle_by_hand(command, True, NOW)
    (written_,) = [one for one in effects if isinstance(one, Write)]
    assert (written_.method, written_.arguments["update_id"]) == (method, 7)
    _, effects = plan.on_settle_by_hand(command, False, NOW)
    (answer,) = effects
    assert isinstance(answer, Reply) and answer.body.found is False


def test_whoever_gave_the_lease_up_lets_others_go_first() -> None:
    plan = ElectionPlan(has_joined=True, slot="A", roster=("B",)).on_yielded(1_000)
    assert plan.on_look(Standing.VACANT, 1_000 + YIELD_MS - 1)[1] is Verdict.WAIT
    assert plan.on_look(Standing.VACANT, 1_000 + YIELD_MS)[1] is Verdict.CAMPAIGN
    assert plan.on_look(Standing.FRESH, 1_500)[1] is Verdict.FOLLOW
