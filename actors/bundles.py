"""Envelopes to one peer that travel together: what one message of the mailbox led to.

A transmit of Thespian's costs a round trip, and many at once cost more than their number. So the kinds that
come in crowds wait until the message at hand is dealt with and then go in one list for each peer, in their
order. All others go at once.
"""

from collections.abc import Iterator
from typing import Any

from actors.correspondence import Transmission
from actors.transport import refuse_too_large

BUNDLED = frozenset({"CallTelegram", "TelegramAnswered", "TelegramRefused"})
"""Kinds whose order beside other kinds does not matter."""
MOST = 64
"""Envelopes of one bundle."""
MOST_BYTES = 4 * 1024 * 1024
"""Of one bundle, unless it is a single envelope; far below what a frame may hold."""


class Bundle:
    """Envelopes for one address."""

    def __init__(self, address: Any) -> None:
        self.address = address
        self.plains: list[dict[str, Any]] = []
        self._bytes = 0

    def has_room(self, size: int) -> bool:
        """Whether so many more bytes may join."""
        return len(self.plains) < MOST and self._bytes + size <= MOST_BYTES

    def add(self, plain: dict[str, Any], size: int) -> None:
        """One more."""
        self.plains.append(plain)
        self._bytes += size


class Bundles:
    """The bundles of one actor."""

    def __init__(self) -> None:
        self._full: list[Bundle] = []
        self._open: list[Bundle] = []

    def put(self, transmission: Transmission) -> bool:
        """Take it if it may wait; raises MessageTooLarge, now rather than when it is too late."""
        if transmission.plain["kind"] not in BUNDLED:
            return False
        size = refuse_too_large(transmission.plain)
        # Addresses cannot be hashed; an actor has few peers in one message.
        bundle = next((one for one in self._open if one.address == transmission.address), None)
        if bundle is not None and not bundle.has_room(size):
            self._open.remove(bundle)
            self._full.append(bundle)
            bundle = None
        if bundle is None:
            bundle = Bundle(transmission.address)
            self._open.append(bundle)
        bundle.add(transmission.plain, size)
        return True

    def take(self) -> Iterator[tuple[Any, Any]]:
        """(address, message) of everything that waited; a single envelope travels as ever."""
        bundles, self._full, self._open = [*self._full, *self._open], [], []
        for bundle in bundles:
            yield bundle.address, bundle.plains[0] if len(bundle.plains) == 1 else bundle.plains
