"""The same request is carried out once (leader.md 2.1, point 3)."""

import pytest

from actors.plans.request_ledger import Heard, RequestLedger


@pytest.mark.case("L19", "F13")
def test_a_request_in_flight_is_joined() -> None:
    """Both connections get the one answer."""
    ledger = RequestLedger()
    assert ledger.hear("k", b"d", 1) == (Heard.NEW, None)
    assert ledger.hear("k", b"d", 2) == (Heard.PENDING, None)
    assert ledger.settle("k", b"answer") == (1, 2)
    assert ledger.hear("k", b"d", 3) == (Heard.SETTLED, b"answer")
    assert ledger.settle("k", b"again") == ()


@pytest.mark.case("L20", "F14")
def test_the_same_id_for_something_else_collides() -> None:
    """Pending or settled, the first content stands."""
    ledger = RequestLedger()
    ledger.hear("k", b"d", 1)
    assert ledger.hear("k", b"e", 1)[0] is Heard.COLLISION
    ledger.settle("k", b"answer")
    assert ledger.hear("k", b"e", 1)[0] is Heard.COLLISION


@pytest.mark.case("L21")
def test_only_settled_entries_make_room() -> None:
    """A full ledger of unsettled requests refuses; the oldest settled one goes first."""
    ledger = RequestLedger(capacity=1)
    ledger.hear("a", b"d", 1)
    assert ledger.hear("b", b"d", 1)[0] is Heard.OVERLOADED
    ledger.settle("a", b"answer")
    assert ledger.hear("b", b"d", 1)[0] is Heard.NEW
    assert ledger.hear("a", b"d", 1)[0] is Heard.OVERLOADED
