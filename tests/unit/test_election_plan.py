"""Who leads next, as tables: standings of a lease, and what each process makes of them."""

import dataclasses

import pytest

from actors.plans.election import (
    AWAKE_FOR_MS,
    GRACE_MS,
    STALE_AFTER_MS,
    ElectionPlan,
    Pulse,
    ReignPlan,
    Role,
    Standing,
    Verdict,
    standing,
)


@dataclasses.dataclass(frozen=True)
class Owner:
    instance_id: str = "1:1"


@dataclasses.dataclass(frozen=True)
class Record:
    owner: Owner | None = Owner()
    heartbeat_ms: int | None = 100_000


@pytest.mark.case("L193")
@pytest.mark.parametrize(
    ("record", "instance_id", "dead", "now", "expected"),
    [
        (Record(owner=None), "2:2", False, 100_000, Standing.VACANT),
        (Record(), "1:1", False, 999_999, Standing.OURS),
        (Record(), "2:2", False, 108_000, Standing.FRESH),
        (Record(), "2:2", False, 108_001, Standing.STALE),
        (Record(), "2:2", True, 100_001, Standing.OWNER_DEAD),
        (Record(), "2:2", True, 999_999, Standing.OWNER_DEAD),
        (Record(heartbeat_ms=None), "2:2", False, 1, Standing.STALE),
        (Record(), "2:2", False, 50_000, Standing.FRESH),
    ],
)
def test_what_a_lease_means(record, instance_id, dead, now, expected):
    assert standing(record, instance_id, dead, now) is expected


LEADERLESS = [Standing.VACANT, Standing.OWNER_DEAD, Standing.STALE]


@pytest.mark.case("F38")
@pytest.mark.parametrize("seen", LEADERLESS)
def test_a_process_without_a_slot_campaigns_at_once(seen):
    _, verdict = ElectionPlan().on_look(seen, 0)
    assert verdict is Verdict.CAMPAIGN


@pytest.mark.case("L204", "F34")
def test_a_live_owner_is_followed_however_long_it_is_unreachable():
    plan = ElectionPlan().on_joined("A", ("A",))
    for now in range(0, 600_000, 1_000):
        plan, verdict = plan.on_look(Standing.FRESH, now)
        assert verdict is Verdict.FOLLOW


@pytest.mark.case("L205")
@pytest.mark.parametrize("seen", LEADERLESS)
def test_the_lowest_live_slot_campaigns_at_once_and_the_others_wait(seen):
    low = ElectionPlan().on_joined("B", ("B", "C"))
    high = ElectionPlan().on_joined("C", ("B", "C"))
    assert low.on_look(seen, 0)[1] is Verdict.CAMPAIGN
    high, verdict = high.on_look(seen, 0)
    assert verdict is Verdict.WAIT
    assert high.on_look(Standing.FRESH, 50)[1] is Verdict.FOLLOW


@pytest.mark.case("L206", "F36")
def test_who_waited_one_grace_campaigns():
    plan = ElectionPlan().on_joined("C", ("A", "B", "C"))
    plan, _ = plan.on_look(Standing.STALE, 1_000)
    assert plan.on_look(Standing.STALE, 1_000 + GRACE_MS - 1)[1] is Verdict.WAIT
    assert plan.on_look(Standing.OWNER_DEAD, 1_000 + GRACE_MS)[1] is Verdict.CAMPAIGN


@pytest.mark.case("F37")
def test_a_new_owner_ends_the_waiting_and_the_next_loss_waits_anew():
    plan = ElectionPlan().on_joined("C", ("A", "C"))
    plan, _ = plan.on_look(Standing.VACANT, 0)
    plan, verdict = plan.on_look(Standing.FRESH, 100)
    assert verdict is Verdict.FOLLOW
    plan, verdict = plan.on_look(Standing.VACANT, GRACE_MS + 1)
    assert verdict is Verdict.WAIT


@pytest.mark.parametrize("seen", LEADERLESS)
def test_a_mere_follower_never_campaigns(seen):
    plan = ElectionPlan(role=Role.FOLLOWER)
    assert plan.on_look(seen, 10**9)[1] is Verdict.WAIT


def test_to_lead_is_refused_while_another_leads_and_only_at_first():
    plan = ElectionPlan(role=Role.LEADER)
    assert plan.on_look(Standing.FRESH, 0)[1] is Verdict.REFUSE
    assert plan.on_look(Standing.STALE, 0)[1] is Verdict.CAMPAIGN
    assert plan.on_joined("A", ()).on_look(Standing.FRESH, 0)[1] is Verdict.FOLLOW


def test_a_lease_of_ours_that_we_do_not_use_is_given_back():
    assert ElectionPlan().on_look(Standing.OURS, 0)[1] is Verdict.RELEASE


def test_after_failed_trees_it_rests():
    plan = ElectionPlan().on_trees_failed(until=500)
    assert plan.on_look(Standing.VACANT, 499)[1] is Verdict.WAIT
    assert plan.on_look(Standing.VACANT, 500)[1] is Verdict.CAMPAIGN


def test_five_trees_a_minute_are_renewed_and_no_more():
    plan = ReignPlan()
    for now in range(5):
        plan, again = plan.on_tree_ended(now)
        assert again
    _, again = plan.on_tree_ended(59_999)
    assert not again
    _, again = plan.on_tree_ended(60_001)
    assert again


STALE = STALE_AFTER_MS + 1


@pytest.mark.parametrize(
    "awake_since, expected",
    [
        (None, Standing.STALE),
        (STALE, Standing.FRESH),
        (STALE - AWAKE_FOR_MS + 1, Standing.FRESH),
        (STALE - AWAKE_FOR_MS, Standing.STALE),
    ],
)
def test_after_a_sleep_the_owner_has_time_to_refresh_its_lease(awake_since, expected):
    record = Record(owner=Owner("2:2"), heartbeat_ms=0)
    assert standing(record, "1:1", False, STALE, awake_since) is expected
    # What is proven needs no time.
    assert standing(record, "1:1", True, STALE, awake_since) is Standing.OWNER_DEAD


@pytest.mark.parametrize(
    "looks, stuck_at",
    [
        # (heartbeat, now) of each look
        ([(0, STALE + second * 1_000) for second in range(6)], STALE + 5_000),
        ([(0, STALE + second * 1_000) for second in range(5)], None),
        # It spoke in between.
        ([(0, STALE), (0, STALE + 2_000), (STALE, STALE + 3_000), (STALE, 2 * STALE + 3_000)], None),
        # Who looks slept as well, and sleeps again.
        ([(0, STALE), (0, STALE + 100_000), (0, STALE + 103_001), (0, STALE + 107_000)], None),
        # An owner without a heartbeat is none of ours.
        ([(None, 90_000), (None, 96_000)], None),
    ],
    ids=["stuck", "not yet", "spoke", "slept", "vacant"],
)
def test_a_lease_of_our_own_that_stays_stale_under_our_eyes_means_a_stuck_leader(looks, stuck_at):
    pulse, verdicts = Pulse(), []
    for heartbeat, now in looks:
        pulse, is_stuck = pulse.on_look(heartbeat, now)
        verdicts += [now] * is_stuck
    assert verdicts == ([] if stuck_at is None else [stuck_at])


def test_a_leader_that_stays_stuck_is_told_again():
    pulse, told = Pulse(), []
    for second in range(13):
        pulse, is_stuck = pulse.on_look(0, STALE + second * 1_000)
        told += [second] * is_stuck
    assert told == [5, 11]


def test_of_trees_that_get_stuck_three_are_renewed_however_slowly():
    plan = ReignPlan()
    for number in range(3):
        plan, again = plan.on_tree_ended(number * 90_000, was_stuck=True)
        assert again
    assert not plan.on_tree_ended(270_000, was_stuck=True)[1]
    assert plan.on_tree_ended(300_001, was_stuck=True)[1]


def test_the_two_lowest_slots_keep_themselves_ready():
    roster = ("B", "C", "D")
    heirs = [slot for slot in roster if ElectionPlan().on_joined(slot, roster).is_heir]
    assert heirs == ["B", "C"]
    assert not ElectionPlan(role=Role.FOLLOWER).on_joined("B", roster).is_heir
    assert not ElectionPlan().on_joined("A", ()).is_heir
