"""Watching the lease: the row, and the life of the process in it, without trusting either alone.

A death is known at once, by a pidfd of the owner in the event loop (where there is none, by
asking); any other change of the row within a second, and within 50 ms while nobody can be
registered with. It only reads.
"""

import asyncio
import contextlib
from collections.abc import Callable

from actors.clock import boot_ms, until_next
from actors.event_log import log_event
from actors.plans.election import LOOKED_AWAY_MS, Standing, standing
from actors.process_watch import ProcessWatch
from stores.errors import StoreError
from stores.lease import Lease, LeaseRecord, Owner
from stores.process_birth import Liveness, liveness

LOOK_EVERY_S = 1.0
LOOK_CLOSELY_EVERY_S = 0.05
ASK_EVERY_S = 0.25

Alive = Callable[[int, str, str], Liveness]


class LeaseWatch:
    """The lease as this process sees it."""

    def __init__(
        self,
        lease: Lease,
        instance_id: str,
        alive: Alive = liveness,
        clock: Callable[[], int] = boot_ms,
    ) -> None:
        self._lease = lease
        self._instance_id = instance_id
        self._alive = alive
        self._clock = clock
        self._watch: ProcessWatch | None = None
        self._watched: Owner | None = None
        self._is_proven = False
        """Whether the watched process was seen to be the owner after the watch began: then the watch tells all."""

        self._looked_at = clock()
        self._awake_since: int | None = None
        """When this process came back from a sleep, as far as it had one."""

        self._look_now = asyncio.Event()
        self.record: LeaseRecord = lease.read()
        self.is_current = True
        """Whether the last look could read the row; else the record is of an earlier one."""

        self.standing = Standing.VACANT
        self.last_owner: Owner | None = None
        """Who led last, other than this process."""
        self.look()

    def look(self) -> Standing:
        """Read the row now, and judge it. A store that refuses changes nothing that is known."""
        # Before reading: what happens from here on is for the next look.
        self._look_now.clear()
        self.is_current = False
        with contextlib.suppress(StoreError):
            self.record = self._lease.read()
            self.is_current = True
        owner = self.record.owner
        if owner != self._watched:
            self._follow(owner)
        now = self._clock()
        if now - self._looked_at > LOOKED_AWAY_MS:
            self._awake_since = now
        self._looked_at = now
        seen = standing(self.record, self._instance_id, self._is_dead(owner), now, self._awake_since)
        if seen is not self.standing:
            log_event("lease.seen", standing=seen.value, epoch=self.record.epoch)
        self.standing = seen
        if owner is not None and owner.instance_id != self._instance_id:
            self.last_owner = owner
        return seen

    def _is_dead(self, owner: Owner | None) -> bool:
        if owner is None:
            return False
        if self._watch is not None and self._is_proven:
            return self._watch.ended()
        known = self._alive(owner.pid, owner.boot_id, owner.birth)
        has_pidfd = self._watch is not None and self._watch.pidfd is not None
        self._is_proven = has_pidfd and known is Liveness.ALIVE
        return known is Liveness.DEAD

    async def rest(self) -> None:
        """Return when it is time to look again, or as soon as the owner's process ends."""
        # No timeout: that a rest is over is no exception.
        alarm = asyncio.get_running_loop().call_later(until_next(self._pause_s()), self._look_now.set)
        try:
            await self._look_now.wait()
        finally:
            alarm.cancel()

    async def changed(self) -> None:
        """Return once the row or its standing differ from what they are now, heartbeats aside."""
        before = self._gist()
        while True:
            await self.rest()
            self.look()
            if self._gist() != before:
                return

    def close(self) -> None:
        """Watch nobody."""
        self._follow(None)

    def _gist(self) -> tuple[object, ...]:
        record = self.record
        return (record.epoch, record.owner, record.endpoint, self.standing)

    def _pause_s(self) -> float:
        if self.standing.leaderless or self.record.endpoint is None:
            return LOOK_CLOSELY_EVERY_S
        if self._watch is not None and self._watch.pidfd is None:
            return ASK_EVERY_S
        return LOOK_EVERY_S

    def _follow(self, owner: Owner | None) -> None:
        """Hear of the end of this process from now on."""
        if self._watch is not None:
            if self._watch.pidfd is not None:
                asyncio.get_running_loop().remove_reader(self._watch.pidfd)
            self._watch.close()
        self._watch, self._watched, self._is_proven = None, owner, False
        if owner is None or owner.instance_id == self._instance_id:
            return
        self._watch = ProcessWatch(owner.pid)
        if self._watch.pidfd is not None:
            asyncio.get_running_loop().add_reader(self._watch.pidfd, self._owner_ended)

    def _owner_ended(self) -> None:
        if self._watch is not None and self._watch.pidfd is not None:
            # Readable for ever from now on.
            asyncio.get_running_loop().remove_reader(self._watch.pidfd)
        self._look_now.set()
