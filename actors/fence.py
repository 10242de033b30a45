"""The fence before every call of the Bot API: does this instance still lead, and did it say so lately?

It is asked with the connection in hand and nothing written. What is past it may land late, at most one
call on each connection; what is not past it never happens.
"""

from collections.abc import Callable, Mapping
from typing import Any

from actors.clock import boot_ms
from actors.plans.call_result import CallResult, Ending
from actors.tree_stores import open_bus, owner_of
from stores.errors import StoreError
from stores.lease import Lease

LATE_AFTER_MS = 6_000
"""Two seconds before others may call the lease stale."""

Fence = Callable[[], CallResult | None]
"""None lets the call pass; a result is how the call ended instead."""

_DEPOSED = CallResult(Ending.DEPOSED, description="This process does not lead any more.")
_LATE = CallResult(Ending.LATE, description="The lease was not refreshed for too long.")


class LeaseFence:
    """The fence of one actor, with its own connection to the lease row."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._database = open_bus(settings)
        self._lease = Lease(self._database)
        self._owner = owner_of(settings)
        self._epoch = settings["epoch"]

    def open(self) -> None:
        """Connect and ask once, in the thread that will ask: the first time costs milliseconds."""
        self._database.open()
        self()

    def close(self) -> None:
        """Give the connection back."""
        self._database.close()

    def __call__(self) -> CallResult | None:
        """How the call ends if it must not go."""
        try:
            now = boot_ms()
            if self._lease.epoch_holds(self._owner, self._epoch, now, LATE_AFTER_MS):
                return None
            # Ours, but old: after a suspend the Leader has only to refresh it.
            held = self._lease.epoch_holds(self._owner, self._epoch, now, now)
            return _LATE if held else _DEPOSED
        except StoreError:
            # Not knowing is no permission.
            return CallResult(Ending.UNSENT, description="The lease could not be read.")
