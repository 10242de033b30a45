"""Letters as a table: which one is given, and whose is taken."""

import string

import pytest

from actors.plans.slots import free_slot, longest_inactive
from actors.plans.thread_book import BoundThread

ALL = string.ascii_uppercase


@pytest.mark.case("L156")
@pytest.mark.parametrize(
    "occupied, preferred, cursor, given",
    [
        ("AC", None, "C", "D"),
        ("BZ", None, "Z", "A"),
        (ALL, None, "C", None),
        ("", None, None, "A"),
        ("AC", None, None, "D"),
        ("AZ", None, None, "B"),
        ("AC", "K", "C", "K"),
        ("AC", "A", "C", "D"),
        ("AC", "a", "C", "D"),
        (ALL.replace("Q", ""), None, "R", "Q"),
        ("A", None, "?", "B"),
    ],
)
def test_the_letter_given(occupied, preferred, cursor, given):
    assert free_slot(set(occupied), preferred, cursor) == given


def bound(slot, inactive_since, instance=None):
    """A binding with this letter."""
    return BoundThread(
        binding_key=f"manual:{slot}",
        chat_id=1,
        thread_id=ord(slot),
        status="active",
        thread_name=slot,
        slot=slot,
        instance_id=instance,
        inactive_since=inactive_since,
    )


@pytest.mark.case("L158")
@pytest.mark.parametrize(
    "bindings, unavailable, loser",
    [
        ([bound("A", 20), bound("B", 10), bound("C", 30)], "", "B"),
        ([bound("C", 10), bound("B", 10)], "", "B"),
        ([bound("A", None), bound("B", 50)], "", "B"),
        ([bound("A", 10, "1:1"), bound("B", 50)], "", "B"),
        ([bound("A", 101), bound("B", 100)], "", "B"),
        ([bound("A", 10), bound("B", 50)], "A", "B"),
        ([bound("A", -1)], "", None),
        ([bound("A", None, "1:1")], "", None),
        ([], "", None),
    ],
)
def test_who_loses_a_letter(bindings, unavailable, loser):
    found = longest_inactive(bindings, 100, unavailable)
    assert (found.slot if found else None) == loser
