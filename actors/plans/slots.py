"""Which letter a thread gets: pure allocation over what is occupied.

A letter belongs to one binding at a time. The durable cursor (the letter given last) makes new threads
walk through the alphabet instead of reusing a letter that somebody just saw on another thread.
"""

import string
from collections.abc import Collection, Iterable
from typing import Protocol

SLOTS = string.ascii_uppercase


class Holder(Protocol):
    """What the takeover of a letter needs to know of a binding."""

    @property
    def binding_key(self) -> str:
        """Durable owner key."""

    @property
    def slot(self) -> str | None:
        """Its letter, if it has one."""

    @property
    def instance_id(self) -> str | None:
        """Its process, None when that is known to be gone."""

    @property
    def inactive_since(self) -> int | None:
        """Since when its process is gone, wall-clock milliseconds."""


def free_slot(
    occupied: Collection[str], preferred: str | None, last_slot: str | None
) -> str | None:
    """The preferred letter if it is free, else the next free one after the cursor, else None.

    Without a cursor the letter after the highest occupied one is tried first.
    """
    if preferred is not None and preferred in SLOTS and preferred not in occupied:
        return preferred
    cursor = last_slot if last_slot is not None and last_slot in SLOTS else None
    cursor = cursor or max((letter for letter in occupied if letter in SLOTS), default=SLOTS[-1])
    start = SLOTS.index(cursor) + 1
    for letter in SLOTS[start:] + SLOTS[:start]:
        if letter not in occupied:
            return letter
    return None


def longest_inactive(
    bindings: Iterable[Holder], now: int, unavailable: Collection[str] = ()
) -> Holder | None:
    """The binding that may lose its letter: no process, gone for the longest time; ties by letter.

    A binding whose process is not known to be gone is never chosen, and neither is one whose time lies
    in the future: a clock that jumped proves nothing. `unavailable` are letters that are not to be had.
    """
    candidates = [
        (binding.inactive_since, binding.slot, binding)
        for binding in bindings
        if binding.slot is not None
        and binding.slot not in unavailable
        and binding.instance_id is None
        and binding.inactive_since is not None
        and 0 <= binding.inactive_since <= now
    ]
    return min(candidates, key=lambda one: one[:2])[2] if candidates else None
