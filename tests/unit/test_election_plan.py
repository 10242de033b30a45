"""Who leads next, as tables: standings of a lease, and what each process makes of them."""

import dataclasses

import pytest

from actors.plans.election import (
    GRACE_MS,
    ElectionPlan,
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


def test_a_lease_of_our_own_that_stays_stale_means_a_leader_that_is_stuck():
    """Not one that was stale for a moment: the machine may have slept."""
    plan = ReignPlan()
    looks = [(0, 8_000, False), (0, 8_001, False), (0, 11_000, False), (11_000, 11_001, False), (11_000, 19_001, False)]
    for heartbeat, now, stuck in [*looks, (11_000, 22_000, False), (11_000, 22_001, True), (None, 90_000, False)]:
        plan, is_stuck = plan.on_look(heartbeat, now)
        assert is_stuck is stuck, now
    plan, _ = plan.on_look(0, 8_001)
    plan, _ = plan.on_tree_ended(9_000)
    assert plan.on_look(0, 12_000)[1] is False


def test_the_two_lowest_slots_keep_themselves_ready():
    roster = ("B", "C", "D")
    heirs = [slot for slot in roster if ElectionPlan().on_joined(slot, roster).is_heir]
    assert heirs == ["B", "C"]
    assert not ElectionPlan(role=Role.FOLLOWER).on_joined("B", roster).is_heir
    assert not ElectionPlan().on_joined("A", ()).is_heir
