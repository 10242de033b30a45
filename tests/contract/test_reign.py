"""A reign with a scripted launcher and leader: real lease rows, a real socket, no tree."""

import asyncio
import os

import pytest

from actors.clock import boot_ms
from actors.follower import Follower
from actors.lease_watch import LeaseWatch
from actors.plans.election import STALE_AFTER_MS, ReignPlan, Standing
from actors.plans.follower import FollowerPlan
from actors.reign import Court, Reign, ReignEnd
from messages.launcher import LEADER_DIED, StopTree, TreeEnded
from stores.bus_schema import METADATA
from stores.database import Database
from stores.errors import StoreUnavailable
from stores.lease import Lease, Owner
from stores.process_birth import ProcessBirth
from tests.support.eventually import eventually_async
from tests.support.scripted_launcher import ScriptedLauncher
from tests.support.scripted_leader import ScriptedLeader

SECRET = "s" * 43


class Rig:
    """This process as the owner of a lease."""

    def __init__(self, directory, leader):
        birth = ProcessBirth.current()
        self.owner = Owner(birth.pid, birth.boot_id, birth.wire, f"{birth.pid}:1")
        self.database = Database(directory / "bus.db", METADATA, "bus")
        self.lease = Lease(self.database)
        record = self.lease.campaign(self.lease.read(), self.owner, boot_ms(), SECRET)
        self.events = asyncio.Queue()
        self.launcher = ScriptedLauncher(self.events.put_nowait)
        self.leader = leader
        self.heard = []
        plan = FollowerPlan(
            instance_id=self.owner.instance_id, binding_key="manual:x", thread_name="x",
            cwd="/", pid=os.getpid(), birth=birth.wire,
        )
        self.watch = LeaseWatch(self.lease, self.owner.instance_id)
        court = Court(
            launcher=self.launcher, events=self.events, lease=self.lease, watch=self.watch,
            owner=self.owner, follower=Follower(plan, self._admit),
            settings=lambda: {"bot_id": 1, "asked": len(self.launcher.epochs)},
            log_path="/log",
            on_serving=lambda: self.heard.append("serving"),
            on_registered=lambda: self.heard.append("registered"),
            on_lost=lambda: self.heard.append("lost"),
            on_news=lambda name, body: self.heard.append(name),
        )
        self.reign = Reign(court, record, ReignPlan())
        self.ready = False

    async def _admit(self, *_):
        raise AssertionError("nothing is forwarded here")

    def run(self):
        return asyncio.create_task(self.reign.run(lambda: not self.ready))


def reigning(test):
    """Run the test on a loop of its own, with a rig."""

    async def running(directory):
        async with ScriptedLeader(directory, SECRET) as leader:
            rig = Rig(directory, leader)
            try:
                await asyncio.wait_for(test(rig), 10)
            finally:
                rig.watch.close()
                rig.database.close()

    def wrapped(tmp_path):
        asyncio.run(running(tmp_path))

    wrapped.__name__, wrapped.__doc__ = test.__name__, test.__doc__
    wrapped.pytestmark = getattr(test, "pytestmark", [])
    return wrapped


@reigning
async def test_the_own_follower_registers_where_the_tree_says_and_both_make_it_serve(rig):
    task = rig.run()
    await eventually_async(lambda: rig.launcher.epochs == [1])
    settings = rig.launcher.commands[0].settings
    assert settings["owner"]["instance_id"] == rig.owner.instance_id
    assert settings["bot_id"] == 1
    rig.launcher.tell("endpoint", path=rig.leader.path)
    await eventually_async(lambda: rig.heard == ["registered"])
    rig.launcher.tell("serving")
    await eventually_async(lambda: rig.heard == ["registered", "serving"])
    rig.leader.drop()
    await eventually_async(lambda: rig.heard[2:] == ["lost", "registered", "serving"])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await rig.reign.stop(500)
    assert isinstance(rig.launcher.commands[-1], StopTree)


@reigning
@pytest.mark.case("L197")
async def test_a_tree_that_ended_by_itself_is_led_again_under_a_new_epoch(rig):
    task = rig.run()
    for epoch in range(1, 6):
        await eventually_async(lambda epoch=epoch: rig.launcher.epochs[-1:] == [epoch])
        rig.events.put_nowait(TreeEnded(reason=LEADER_DIED))
    await eventually_async(lambda: rig.launcher.epochs == [1, 2, 3, 4, 5, 6])
    assert rig.lease.read().epoch == 6
    assert not task.done()
    rig.events.put_nowait(TreeEnded(reason=LEADER_DIED))
    assert await task is ReignEnd.GIVEN_UP
    assert rig.lease.read().owner is None


@reigning
async def test_a_leader_that_is_stuck_is_ended_without_asking_and_another_is_started(rig):
    """Its process lives, so nobody but main can tell: it does not refresh its lease."""
    rig.run()
    await eventually_async(lambda: rig.launcher.epochs == [1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("actors.plans.election.STUCK_AFTER_MS", 0)
        rig.lease.refresh(rig.owner, 1, boot_ms() - STALE_AFTER_MS - 1)
        await eventually_async(lambda: rig.launcher.epochs == [1, 2])
    assert [one.within_ms for one in rig.launcher.commands if isinstance(one, StopTree)] == [0]
    assert rig.lease.read().epoch == 2


@reigning
async def test_a_lease_that_cannot_be_read_says_nothing_about_the_leader(rig):
    rig.run()
    await eventually_async(lambda: rig.launcher.epochs == [1])
    old = boot_ms() - STALE_AFTER_MS - 1
    rig.lease.refresh(rig.owner, 1, old)
    await eventually_async(lambda: rig.watch.record.heartbeat_ms == old)
    looks = []

    def refuse():
        looks.append(boot_ms())
        raise StoreUnavailable()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("actors.plans.election.STUCK_AFTER_MS", 0)
        patch.setattr(rig.lease, "read", refuse)
        await eventually_async(lambda: len(looks) > 5)
    assert not [one for one in rig.launcher.commands if isinstance(one, StopTree)]


@reigning
async def test_a_start_that_failed_is_ended_and_tried_again(rig):
    rig.run()
    await eventually_async(lambda: rig.launcher.epochs == [1])
    rig.launcher.tell("start-failed", text="no socket")
    await eventually_async(lambda: rig.launcher.epochs == [1, 2])
    assert rig.reign.failure == "no socket"


@reigning
@pytest.mark.case("L196")
async def test_a_deposed_leader_stops_its_tree_and_leaves_the_row_alone(rig):
    task = rig.run()
    await eventually_async(lambda: rig.launcher.epochs == [1])
    other = Owner(1, rig.owner.boot_id, "1:start:0", "1:1")
    won = rig.lease.campaign(rig.lease.read(), other, boot_ms(), "t" * 43)
    assert await task is ReignEnd.DEPOSED
    assert rig.lease.read() == won
    assert rig.watch.standing is not Standing.OURS
    assert isinstance(rig.launcher.commands[-1], StopTree)


@reigning
async def test_the_trees_own_word_deposes_too(rig):
    task = rig.run()
    rig.launcher.on_lead = lambda command: rig.launcher.tell("deposed", text="")
    assert await task is ReignEnd.DEPOSED


@reigning
async def test_a_refused_token_ends_only_a_start(rig):
    rig.ready = True
    task = rig.run()
    await eventually_async(lambda: rig.launcher.epochs == [1])
    rig.launcher.tell("token-refused", text="Unauthorized")
    await eventually_async(lambda: rig.heard == ["token-refused"])
    rig.ready = False
    rig.launcher.tell("token-refused", text="Unauthorized")
    assert await task is ReignEnd.TOKEN_REFUSED
    assert rig.reign.refusal == "Unauthorized"
    assert rig.lease.read().owner is None


@reigning
async def test_a_foreign_poller_makes_it_yield(rig):
    task = rig.run()
    rig.launcher.on_lead = lambda command: rig.launcher.tell("foreign-poller")
    assert await task is ReignEnd.FOREIGN_POLLER
    assert rig.lease.read().owner is None


@reigning
async def test_a_bot_api_that_answers_elsewhere_ends_it_in_order(rig):
    task = rig.run()
    await eventually_async(lambda: rig.launcher.epochs == [1])
    rig.reign.move()
    assert await task is ReignEnd.MOVED
    assert isinstance(rig.launcher.commands[-1], StopTree)
    assert rig.lease.read().owner is None


@reigning
async def test_the_late_end_of_an_earlier_tree_is_none_of_this_one(rig):
    rig.events.put_nowait(TreeEnded(reason=LEADER_DIED))
    rig.run()
    await eventually_async(lambda: rig.launcher.epochs == [1])
    rig.events.put_nowait(TreeEnded(reason="stopped"))
    rig.launcher.tell("bot", username="x")
    await eventually_async(lambda: rig.heard == ["bot"])
    assert rig.launcher.epochs == [1]
