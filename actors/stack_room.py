"""Room for the calls of a process that lives long: one function that calls another.

CPython keeps the frames of Python calls in chunks of 16 KiB, maps a chunk when one is full and unmaps it as
soon as it is empty again. Where a chunk happens to end, every call across the end costs a mapping, a page
fault and an unmapping; an actor, forked deep in its parent's calls, may do that several times a message
(a heartbeat of 25 followers took 1.4 times as long as with room).
"""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_SLOTS = 8_300


def with_room(function: Callable[..., T], *arguments: object) -> T:
    """Call the function so that it and all it calls find one chunk with room for some hundred frames."""
    return function(*arguments)


# The stack that this frame claims, and never touches, is more than half a chunk of 128 KiB: one is made for it,
# also within another such chunk, and the 62 KiB that are left of it are what the calls below it use.
with_room.__code__ = with_room.__code__.replace(co_stacksize=_SLOTS)
