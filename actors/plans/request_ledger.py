"""The ledger of requests: the same request, sent again, is carried out once and answered alike.

A deterministic structure without a clock: O(1) a request, at most `CAPACITY` entries, of which the
oldest settled one makes room. It lives as long as the endpoint.
"""

import collections
import dataclasses
from collections.abc import Hashable
from enum import Enum

CAPACITY = 4_096


class Heard(Enum):
    """What the ledger says to a request."""

    NEW = "new"
    PENDING = "pending"  # the answer will go to this connection too
    SETTLED = "settled"  # the answer is known
    COLLISION = "collision"  # the same id was used for something else
    OVERLOADED = "overloaded"  # nothing can be evicted


@dataclasses.dataclass(slots=True)
class Entry:
    """One request: what it said, who waits, and the answer once there is one."""

    digest: bytes
    waiting: list[int]
    answer: bytes | None = None


class RequestLedger:
    """Requests by key, in order of arrival; settled ones kept apart, so that eviction needs no search."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._pending: dict[Hashable, Entry] = {}
        self._settled: collections.OrderedDict[Hashable, Entry] = collections.OrderedDict()

    def hear(self, key: Hashable, digest: bytes, connection: int) -> tuple[Heard, bytes | None]:
        """Enter a request, or find it; the second value is the known answer."""
        entry = self._pending.get(key) or self._settled.get(key)
        if entry is not None:
            if entry.digest != digest:
                return Heard.COLLISION, None
            if entry.answer is not None:
                return Heard.SETTLED, entry.answer
            entry.waiting.append(connection)
            return Heard.PENDING, None
        if len(self._pending) + len(self._settled) >= self._capacity:
            if not self._settled:
                return Heard.OVERLOADED, None
            self._settled.popitem(last=False)
        self._pending[key] = Entry(digest=digest, waiting=[connection])
        return Heard.NEW, None

    def settle(self, key: Hashable, answer: bytes) -> tuple[int, ...]:
        """The request is answered; returns the connections that wait for it."""
        entry = self._pending.pop(key, None)
        if entry is None:
            return ()
        waiting = tuple(entry.waiting)
        entry.answer, entry.waiting = answer, []
        self._settled[key] = entry
        return waiting
