"""Supervision as a table: who is started again, who is killed, when the supervisor gives up."""

import pytest

from actors.plans.effects import KillChild, Send
from actors.plans.supervision import (
    MOVES,
    PATROL_MS,
    PING_EVERY_MS,
    PINGS_MISSED,
    SLEPT_MS,
    ChildSpec,
    ChildStatus,
    Escalate,
    Ignore,
    Restart,
    RestartRule,
    SupervisionPlan,
)

SPEC = ChildSpec(
    key="inbox",
    class_name="actors.inbox.Inbox",
    max_restarts=2,
    period_ms=10_000,
    stop_deadline_ms=1_500,
    start_deadline_ms=5_000,
)
OTHER = ChildSpec(key="poller", class_name="actors.poller.Poller")
TEMPORARY = ChildSpec(
    key="mutation", class_name="actors.follower_mutation.X", restart=RestartRule.TEMPORARY
)


def running(*specs, now=0):
    """A supervisor all of whose children run."""
    plan = SupervisionPlan.of(*specs)
    for spec in specs:
        plan, incarnation = plan.start(spec.key, now)
        plan = plan.started(spec.key, incarnation, 100, now)
    return plan


@pytest.mark.parametrize(
    ("exits", "verdicts"),
    [
        ([100], [Restart(2)]),
        ([100, 200], [Restart(2), Restart(3)]),
        ([100, 200, 300], [Restart(2), Restart(3), Escalate("inbox ended 3 times within 10000 ms")]),
        ([100, 5_000, 10_100], [Restart(2), Restart(3), Restart(4)]),
        ([100, 5_000, 10_099], [Restart(2), Restart(3), Escalate("inbox ended 3 times within 10000 ms")]),
        ([100, 20_000, 40_000, 60_000], [Restart(2), Restart(3), Restart(4), Restart(5)]),
    ],
)
def test_a_permanent_child_is_started_again_up_to_its_limit(exits, verdicts):
    plan = running(SPEC)
    seen = []
    for now in exits:
        plan, verdict = plan.exited("inbox", now)
        seen.append(verdict)
    assert seen == verdicts


@pytest.mark.parametrize(
    ("spec", "status", "verdict", "after"),
    [
        (SPEC, ChildStatus.ABSENT, Ignore(), ChildStatus.ABSENT),
        (SPEC, ChildStatus.STARTING, Restart(2), ChildStatus.STARTING),
        (SPEC, ChildStatus.RUNNING, Restart(2), ChildStatus.STARTING),
        (SPEC, ChildStatus.STOPPING, Ignore(), ChildStatus.ABSENT),
        (TEMPORARY, ChildStatus.ABSENT, Ignore(), ChildStatus.ABSENT),
        (TEMPORARY, ChildStatus.STARTING, Ignore(), ChildStatus.ABSENT),
        (TEMPORARY, ChildStatus.RUNNING, Ignore(), ChildStatus.ABSENT),
        (TEMPORARY, ChildStatus.STOPPING, Ignore(), ChildStatus.ABSENT),
    ],
)
def test_an_exit_in_every_status(spec, status, verdict, after):
    plan = SupervisionPlan.of(spec)
    if status is not ChildStatus.ABSENT:
        plan, _ = plan.start(spec.key, 0)
    if status in (ChildStatus.RUNNING, ChildStatus.STOPPING):
        plan = plan.started(spec.key, 1, 100, 0)
    if status is ChildStatus.STOPPING:
        plan = plan.stopping(spec.key, 0)
    plan, seen = plan.exited(spec.key, 50)
    assert (seen, plan.status(spec.key)) == (verdict, after)


def test_a_stranger_is_ignored_everywhere():
    plan = SupervisionPlan.of(SPEC)
    assert plan.exited("nobody", 0) == (plan, Ignore())
    assert plan.started("nobody", 1, 100, 0) == plan
    assert plan.stopping("nobody", 0) == plan
    assert plan.pong("nobody", 0) == plan
    assert plan.status("nobody") is ChildStatus.ABSENT


def test_the_incarnation_rises_over_stops_and_temporary_lives():
    plan = running(TEMPORARY)
    plan, _ = plan.exited("mutation", 1)
    assert plan.admit(TEMPORARY) == plan
    plan, incarnation = plan.start("mutation", 2)
    assert incarnation == 2
    plan = plan.stopping("mutation", 3)
    plan, _ = plan.exited("mutation", 4)
    assert plan.start("mutation", 5)[1] == 3


def test_a_life_that_goes_on_cannot_be_started():
    with pytest.raises(ValueError, match="inbox is running"):
        running(SPEC).start("inbox", 1)


def test_late_words_of_an_earlier_life_change_nothing():
    plan, _ = running(SPEC).exited("inbox", 1)
    assert plan.started("inbox", 1, 100, 2) == plan
    assert plan.started("inbox", 2, 200, 2).is_running("inbox")


@pytest.mark.parametrize("before", ChildStatus)
@pytest.mark.parametrize("after", ChildStatus)
def test_every_move_is_allowed_or_refused_by_the_table(before, after):
    plan = SupervisionPlan.of(SPEC)
    child = plan.children["inbox"]
    paths = {
        ChildStatus.ABSENT: [],
        ChildStatus.STARTING: [ChildStatus.STARTING],
        ChildStatus.RUNNING: [ChildStatus.STARTING, ChildStatus.RUNNING],
        ChildStatus.STOPPING: [ChildStatus.STARTING, ChildStatus.STOPPING],
    }
    for status in paths[before]:
        child = child.moved(status, 0)
    if after in MOVES[before]:
        assert child.moved(after, 1).status is after
    else:
        with pytest.raises(ValueError, match="inbox"):
            child.moved(after, 1)


def test_pings_are_due_at_once_and_then_every_interval():
    plan = running(SPEC, OTHER)
    plan, pinged = plan.ping_due(0)
    assert pinged == ("inbox", "poller")
    plan, pinged = plan.ping_due(PING_EVERY_MS - 1)
    assert pinged == ()
    plan, pinged = plan.ping_due(PING_EVERY_MS)
    assert pinged == ("inbox", "poller")


def test_only_running_children_are_pinged():
    plan = SupervisionPlan.of(SPEC, OTHER)
    plan, _ = plan.start("inbox", 0)
    assert plan.ping_due(0)[1] == ()
    plan = plan.started("inbox", 1, 100, 0).stopping("inbox", 0)
    assert plan.ping_due(0)[1] == ()


def test_two_unanswered_pings_each_a_whole_interval_old_are_a_miss():
    plan = running(SPEC, OTHER)
    times = [n * PING_EVERY_MS for n in range(PINGS_MISSED)]
    for now in times:
        assert plan.missed(now) == ()
        plan = plan.ping_due(now)[0].pong("poller", now)
    assert plan.missed(times[-1] + PING_EVERY_MS - 1) == ()
    assert plan.missed(times[-1] + PING_EVERY_MS) == ("inbox",)
    assert plan.pong("inbox", times[-1]).missed(times[-1] + PING_EVERY_MS) == ()


def test_start_and_stop_have_deadlines():
    plan = SupervisionPlan.of(SPEC)
    plan, _ = plan.start("inbox", 0)
    assert plan.overdue(4_999) == ()
    assert plan.overdue(5_000) == ("inbox",)
    plan = plan.started("inbox", 1, 100, 100)
    assert plan.overdue(1_000_000) == ()
    plan = plan.stopping("inbox", 1_000).stopping("inbox", 2_000)
    assert plan.overdue(2_499) == ()
    assert plan.overdue(2_500) == ("inbox",)


def test_a_patrol_kills_the_stuck_and_pings_the_others():
    plan = running(SPEC, OTHER)
    killed = []
    for now in range(0, 2 * PING_EVERY_MS + PATROL_MS, PATROL_MS):
        plan, effects = plan.patrol(now)
        killed += [(effect.key, now) for effect in effects if isinstance(effect, KillChild)]
        for effect in effects:
            if isinstance(effect, Send) and effect.to == "poller":
                assert not effect.resend
                plan = plan.pong("poller", now)
    assert killed == [("inbox", 2 * PING_EVERY_MS)]


def test_a_supervisor_that_slept_accuses_nobody():
    plan = running(SPEC)
    plan, _ = plan.patrol(0)
    plan, _ = plan.patrol(PING_EVERY_MS)
    plan = plan.admit(OTHER)
    plan, _ = plan.start("poller", PING_EVERY_MS)
    late = PING_EVERY_MS + SLEPT_MS
    plan, effects = plan.patrol(late)
    assert [type(effect) for effect in effects] == [Send]
    plan, effects = plan.patrol(late + OTHER.start_deadline_ms)
    assert KillChild("poller") in effects and KillChild("inbox") not in effects


def test_it_describes_whoever_lived():
    plan = running(SPEC, OTHER, now=1_000)
    assert not plan.absent()
    plan, _ = plan.exited("inbox", 2_000)
    assert plan.running() == ("poller",)
    assert plan.describe(3_000) == [
        {"name": "inbox", "pid": None, "restarts": 1, "uptime_ms": 0, "status": "starting"},
        {"name": "poller", "pid": 100, "restarts": 0, "uptime_ms": 2_000, "status": "running"},
    ]
