"""Who is retired: silence against proof, one look after the other."""

import pytest

from actors.correspondence import Unanswered
from actors.plans.effects import Notify, Now, Reply, Send, WakeAfter
from actors.plans.prune_supervisor import (
    ALIVE,
    BURST_MS,
    BURST_TICK_MS,
    CALM_TICK_MS,
    DEAD,
    FORGIVING_MS,
    OBSERVED_AT_MOST,
    SILENT_MS,
    SLEPT_MS,
    STALE_AFTER_MS,
    TICK_MS,
    UNKNOWN,
    UNREADABLE,
    PruneSupervisorPlan,
)
from messages.actor import CommandFailed
from messages.envelope import Envelope
from messages.follower_registry import (
    DescribeFollowers,
    FollowerRetired,
    FollowersDescribed,
    FollowerUnreachable,
    RetireFollower,
)
from messages.prune_supervisor import PruningStarted, PruningStopped, StartPruning, StopPruning


def follower(number=1, silent=0, generation="g1", **changed):
    """An entry as the registry describes it."""
    return {
        "instance_id": f"{number}:0",
        "pid": 1000 + number,
        "boot_id": "boot",
        "birth": f"{1000 + number}:start:7",
        "slot": "A",
        "thread_name": "api",
        "chat_id": 1,
        "thread_id": 10 + number,
        "binding_key": f"manual:{number}",
        "generation": generation,
        "heartbeat_age_ms": silent,
        "connected": True,
        "capabilities": [],
        **changed,
    }


class Watch:
    """A PruneSupervisor's plan, watching; the test is the registry and the clock."""

    def __init__(self, cleanup=False):
        self.boot = 50_000
        self.sent: list[Send] = []
        self.events: list[Notify] = []
        self.wakes: list[WakeAfter] = []
        self.plan = PruneSupervisorPlan(cleanup=cleanup)
        self.take(self.plan.on_start_pruning(Envelope(StartPruning(), "s1", "p"), self.now))

    @property
    def now(self):
        return Now(wall=1_700_000_000_000 + self.boot, boot=self.boot)

    def take(self, decision):
        self.plan, effects = decision
        for effect in effects:
            match effect:
                case Send():
                    self.sent.append(effect)
                case Notify():
                    self.events.append(effect)
                case WakeAfter():
                    self.wakes.append(effect)
        return effects

    def describe(self, *followers, **liveness):
        """The registry answers the description under way; liveness by `n<number>=`."""
        asked = next(one for one in self.sent if isinstance(one.body, DescribeFollowers))
        self.sent.remove(asked)
        known = {f"{key[1:]}:0": value for key, value in liveness.items()}
        facts = {one["instance_id"]: ALIVE for one in followers} | known
        body = FollowersDescribed(followers=list(followers))
        answer = Envelope(body, "x", "p", in_reply_to=asked.message_id)
        return self.take(self.plan.on_followers_described(answer, facts, self.now))

    def tick(self, *followers, **liveness):
        """A second later, the next look."""
        self.boot += TICK_MS
        self.take(self.plan.on_wakeup_tick(self.now))
        return self.describe(*followers, **liveness)

    def retiring(self):
        """Take the retirements that were asked for."""
        asked = [one for one in self.sent if isinstance(one.body, RetireFollower)]
        self.sent = [one for one in self.sent if one not in asked]
        return asked

    def settle(self, send):
        """The registry retired it."""
        answer = Envelope(FollowerRetired(), "x", "p", in_reply_to=send.message_id)
        return self.take(self.plan.on_follower_retired(answer, self.now))

    def fail(self, send, text="full disk"):
        """The registry could not."""
        answer = Envelope(
            CommandFailed(reason="store", text=text), "x", "p", in_reply_to=send.message_id
        )
        return self.take(self.plan.on_command_failed(answer, self.now))

    def named(self):
        """The events so far."""
        return [event.action for event in self.events]


def what(sends):
    """(instance, proven dead) of retirements."""
    return [(one.body.instance_id, one.body.proven_dead) for one in sends]


# -- silence and proof --------------------------------------------------------------------------


@pytest.mark.case("L8", "L85")
@pytest.mark.parametrize("silent, retired", [(STALE_AFTER_MS, []), (STALE_AFTER_MS + 1, ["1:0"])])
def test_the_threshold_is_strict(silent, retired):
    watch = Watch()
    watch.describe(follower(silent=silent))
    assert [instance for instance, _ in what(watch.retiring())] == retired


@pytest.mark.case("L86", "L87", "L91", "L104")
@pytest.mark.parametrize(
    "known, told, more",
    [
        (ALIVE, "alive-or-unknown", []),
        (UNKNOWN, "unknown", []),
        (UNREADABLE, "alive-or-unknown", ["bus.follower-process-liveness"]),
    ],
)
def test_silence_without_proof_ends_the_registration_alone(known, told, more):
    watch = Watch()
    watch.describe(follower(silent=STALE_AFTER_MS + 1), n1=known)
    assert what(watch.retiring()) == [("1:0", False)]
    assert watch.named() == [*more, "bus.follower-pruned"]
    assert watch.events[-1].fields == {"instanceId": "1:0", "processLiveness": told}


@pytest.mark.parametrize("cleanup, told", [(False, "preserved"), (True, "cleanup")])
def test_proof_does_not_wait_for_silence(cleanup, told):
    watch = Watch(cleanup)
    watch.describe(follower(), n1=DEAD)
    (retirement,) = watch.retiring()
    assert retirement.body == RetireFollower(
        instance_id="1:0", generation="g1", proven_dead=True, binding_key="manual:1"
    )
    watch.settle(retirement)
    assert watch.named() == [f"bus.follower-confirmed-dead-{told}"]
    assert watch.events[-1].fields == {
        "instanceId": "1:0", "pid": 1001, "cleanupEnabled": cleanup
    }


def test_a_retirement_under_way_is_not_asked_for_again():
    watch = Watch()
    watch.describe(follower(), n1=DEAD)
    assert len(watch.retiring()) == 1
    watch.tick(follower(), n1=DEAD)
    assert watch.retiring() == []


def test_a_new_registration_of_the_same_process_is_judged_by_itself():
    watch = Watch()
    watch.describe(follower(silent=STALE_AFTER_MS + 1))
    assert len(watch.retiring()) == 1
    watch.tick(follower(generation="g2"))
    assert watch.retiring() == []


# -- the silent one that died later -------------------------------------------------------------


def silent_one(cleanup=False):
    """One who was retired for silence, and is no longer registered."""
    watch = Watch(cleanup)
    watch.describe(follower(silent=STALE_AFTER_MS + 1))
    (retirement,) = watch.retiring()
    watch.settle(retirement)
    return watch


@pytest.mark.case("L101")
def test_a_silent_one_that_is_proven_dead_later_loses_its_process():
    watch = silent_one()
    watch.tick(n1=ALIVE)
    assert watch.retiring() == []
    watch.tick(n1=DEAD)
    (retirement,) = watch.retiring()
    assert what([retirement]) == [("1:0", True)]
    assert retirement.body.binding_key == "manual:1"
    watch.settle(retirement)
    watch.tick(n1=DEAD)
    assert watch.retiring() == []
    assert watch.named().count("bus.follower-pruned") == 1


@pytest.mark.case("L99")
def test_with_cleanup_on_a_silent_one_is_never_deleted_later():
    watch = silent_one(cleanup=True)
    watch.tick(n1=DEAD)
    assert watch.retiring() == []


@pytest.mark.case("L9", "L10", "L96")
@pytest.mark.parametrize(
    "successor",
    [
        follower(2, binding_key="manual:1"),
        follower(2, thread_id=11),
        follower(1, generation="g2"),
    ],
)
def test_whoever_took_its_place_ends_the_observation(successor):
    watch = silent_one()
    watch.tick(successor)
    watch.tick(n1=DEAD)
    assert watch.retiring() == []


@pytest.mark.case("L98")
def test_a_preservation_that_failed_is_tried_again():
    watch = silent_one()
    watch.tick(n1=DEAD)
    (first,) = watch.retiring()
    watch.fail(first)
    assert watch.named()[-1] == "bus.follower-confirmed-dead-preserve"
    watch.tick(n1=DEAD)
    (second,) = watch.retiring()
    assert second.body == first.body
    assert second.message_id != first.message_id, "a repeated id would get the old answer"


def test_a_fresh_dead_one_whose_retirement_failed_is_not_forgotten():
    watch = Watch()
    watch.describe(follower(), n1=DEAD)
    (first,) = watch.retiring()
    watch.take(
        watch.plan.on_unanswered(Unanswered(first.message_id, first.body, "deadline"), watch.now)
    )
    watch.tick(n1=DEAD)
    assert what(watch.retiring()) == [("1:0", True)]


@pytest.mark.case("L100")
def test_only_so_many_are_observed():
    watch = Watch()
    crowd = [follower(n, silent=STALE_AFTER_MS + 1) for n in range(OBSERVED_AT_MOST + 1)]
    watch.describe(*crowd)
    for retirement in watch.retiring():
        watch.settle(retirement)
    assert watch.named().count("bus.follower-preservation-capacity") == 1
    dead = {f"n{n}": DEAD for n in range(OBSERVED_AT_MOST + 1)}
    watch.tick(**dead)
    assert len(watch.retiring()) == OBSERVED_AT_MOST


@pytest.mark.parametrize(
    "lacking", [{"pid": None}, {"generation": None}, {"thread_id": None}]
)
def test_what_could_not_be_proven_is_not_observed(lacking):
    watch = Watch()
    watch.describe(follower(silent=STALE_AFTER_MS + 1, **lacking))
    assert watch.plan.observed == {}


# -- when to look -------------------------------------------------------------------------------


def test_the_end_of_a_connection_is_looked_into_at_once_and_again_soon():
    watch = Watch()
    watch.describe(follower())
    gone = Envelope(FollowerUnreachable(binding_key="manual:1", instance_id="1:0"), "u", "p")
    watch.wakes.clear()
    watch.take(watch.plan.on_follower_unreachable(gone, watch.now))
    watch.describe(follower(), n1=ALIVE)
    assert watch.retiring() == []
    assert watch.wakes == [WakeAfter("burst", BURST_TICK_MS)]
    watch.boot += BURST_TICK_MS
    watch.take(watch.plan.on_wakeup_burst(watch.now))
    watch.describe(follower(), n1=DEAD)
    assert what(watch.retiring()) == [("1:0", True)]


def test_a_burst_ends():
    watch = Watch()
    watch.describe(follower())
    gone = Envelope(FollowerUnreachable(binding_key="manual:1", instance_id="1:0"), "u", "p")
    watch.take(watch.plan.on_follower_unreachable(gone, watch.now))
    watch.describe(follower())
    watch.boot += BURST_MS + 1
    assert watch.take(watch.plan.on_wakeup_burst(watch.now)) == ()


@pytest.mark.case("L92")
def test_one_look_at_a_time():
    watch = Watch()
    for _ in range(3):
        watch.take(watch.plan.on_wakeup_tick(watch.now))
    assert len(watch.sent) == 1


def test_a_look_that_failed_is_an_event_and_the_next_tick_looks_again():
    watch = Watch()
    watch.fail(watch.sent.pop())
    assert watch.named() == ["bus.follower-prune-owner"]
    watch.take(watch.plan.on_wakeup_tick(watch.now))
    assert len(watch.sent) == 1


def test_a_look_that_was_given_up_does_not_count_any_more():
    watch = Watch()
    late = watch.sent.pop()
    watch.take(watch.plan.on_unanswered(Unanswered(late.message_id, late.body, "deadline"), watch.now))
    body = FollowersDescribed(followers=[follower(silent=STALE_AFTER_MS + 1)])
    answer = Envelope(body, "x", "p", in_reply_to=late.message_id)
    assert watch.plan.on_followers_described(answer, {}, watch.now) == (watch.plan, ())


def test_whoever_slept_accuses_nobody_of_silence():
    watch = Watch()
    watch.describe(follower())
    watch.boot += 3_600_000
    watch.take(watch.plan.on_wakeup_tick(watch.now))
    watch.describe(follower(silent=3_600_000), follower(2, silent=3_600_000), n2=DEAD)
    assert what(watch.retiring()) == [("2:0", True)], "proof needs no patience"
    for _ in range(FORGIVING_MS // TICK_MS - 1):
        watch.tick(follower(silent=3_600_000))
    assert watch.retiring() == []
    watch.tick(follower(silent=3_600_000))
    assert what(watch.retiring()) == [("1:0", False)]


# -- start and stop -----------------------------------------------------------------------------


def test_start_answers_and_looks_at_once():
    plan = PruneSupervisorPlan()
    plan, effects = plan.on_start_pruning(Envelope(StartPruning(), "s1", "p"), Now(1, 1))
    assert effects[0] == Reply("s1", PruningStarted())
    assert isinstance(effects[1].body, DescribeFollowers)
    assert effects[2] == WakeAfter("tick", TICK_MS)


@pytest.mark.case("L93")
def test_stop_drops_everything():
    watch = silent_one()
    watch.boot += TICK_MS
    watch.take(watch.plan.on_wakeup_tick(watch.now))
    asked = watch.sent[-1]
    (reply,) = watch.take(watch.plan.on_stop_pruning(Envelope(StopPruning(), "e", "p"), watch.now))
    assert reply == Reply("e", PruningStopped())
    body = FollowersDescribed(followers=[follower()])
    late = Envelope(body, "x", "p", in_reply_to=asked.message_id)
    assert watch.take(watch.plan.on_followers_described(late, {"1:0": DEAD}, watch.now)) == ()
    assert watch.take(watch.plan.on_wakeup_tick(watch.now)) == ()
    assert watch.plan == PruneSupervisorPlan()


def test_the_ids_of_two_watches_never_meet():
    first, second = Watch(), Watch()
    second.boot += 1
    second.take(second.plan.on_start_pruning(Envelope(StartPruning(), "s1", "p"), second.now))
    assert first.sent[0].message_id != second.sent[-1].message_id


def test_a_calm_pace_is_quick_enough_and_is_no_sleep():
    """The pace is chosen by the look before: of two calm ones the second sees who is silent, in time."""
    assert SILENT_MS + 2 * CALM_TICK_MS < STALE_AFTER_MS
    assert SLEPT_MS > CALM_TICK_MS + TICK_MS
