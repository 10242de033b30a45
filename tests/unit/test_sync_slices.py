"""How sure the leader is: a suspect slice remembers when it was last fresh."""

from actors.plans.sync_slices import FRESH, SUSPECT, UNKNOWN, Slice, SyncSlices


def test_a_slice_is_unknown_then_fresh_then_suspect_then_fresh() -> None:
    """Marking it fresh drops what made it suspect."""
    slices = SyncSlices()
    assert slices.get("pairing") == Slice(UNKNOWN)
    slices = slices.fresh(["pairing"], "leader-startup", 5)
    slices = slices.suspect(["pairing"], "stale-api-error", "topic-target-stale", 9)
    assert slices.get("pairing") == Slice(SUSPECT, 5, 9, "stale-api-error", "topic-target-stale")
    slices = slices.fresh(["pairing"], "leader-health-tick", 12)
    assert slices.get("pairing") == Slice(FRESH, updated_at=12, action="leader-health-tick")
    assert slices.plain() == {
        "pairing": {"status": FRESH, "updated_at": 12, "action": "leader-health-tick"}
    }
