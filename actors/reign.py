"""One reign of this instance: from the lease that it won until it leads no more.

It has the launcher start the tree, lets the own follower register through the private endpoint, and
starts the tree afresh under a new epoch when it ends by itself. It writes the lease row only where
the tree cannot: to renew the epoch between two trees, and to give the lease up. Decisions about
failing trees are those of `ReignPlan`.
"""

import asyncio
import contextlib
import dataclasses
import enum
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from actors.clock import boot_ms
from actors.event_log import log_event, redact
from actors.follower import EndpointUnreachable, Follower, RegistrationRefused
from actors.launcher_handle import LauncherHandle
from actors.lease_watch import LeaseWatch
from actors.plans.election import Pulse, ReignPlan, Standing
from actors.plans.follower import backoff_ms
from messages.launcher import STOPPED, LeadTree, StopTree, TreeEnded, TreeEvent
from stores.lease import Lease, LeaseRecord, Owner

LEADER_CLASS = "actors.leader.Leader"
DEPOSED_STOP_MS = 1_000
YIELD_STOP_MS = 3_000
REGISTER_AGAIN_S = 0.05


class ReignEnd(enum.Enum):
    """Why it is over."""

    DEPOSED = "deposed"
    GIVEN_UP = "given-up"  # the trees do not stand
    TOKEN_REFUSED = "token-refused"
    FOREIGN_POLLER = "foreign-poller"
    YIELDED = "yielded"  # an operator wants another process to lead
    PAIRED = "paired"
    MOVED = "moved"  # the Bot API answers elsewhere


def new_secret() -> str:
    """A secret of the bus, known to the log as one."""
    secret = secrets.token_urlsafe(32)
    redact(secret)
    return secret


@dataclasses.dataclass(frozen=True, slots=True)
class Court:
    """What a reign works with, the same for every reign of the instance."""

    launcher: LauncherHandle
    events: "asyncio.Queue[Any]"
    lease: Lease
    watch: LeaseWatch
    owner: Owner
    follower: Follower
    settings: Callable[[], Mapping[str, Any]]
    """Asked whenever a tree starts."""

    log_path: str
    on_serving: Callable[[], None]
    """The tree serves and the own thread is there."""

    on_registered: Callable[[], None]
    on_lost: Callable[[], None]
    on_news: Callable[[str, Mapping[str, Any]], None]
    """Whatever else the tree reports."""

    only_pairs: bool = False
    """The reign is over when the bot has an owner; else the next tree serves that one."""


class _LeaseLost:
    """Put among the events: the row names somebody else."""


class _Moved:
    """Put among the events: the Bot API answers elsewhere."""


class Reign:
    """Leads until it cannot."""

    def __init__(self, court: Court, record: LeaseRecord, plan: ReignPlan) -> None:
        self._court = court
        self.record = record
        self.plan = plan
        self._endpoint = ""
        self._own: asyncio.Task[None] | None = None
        self._serves = False
        self._is_registered = False
        self._tree_runs = False
        self._stop_asked = False
        self._renewing = False
        self._was_stuck = False
        self.refusal = ""
        """Telegram's words about the token, once it refused it."""

        self.failure = ""
        """Why the last tree did not start."""

    async def run(self, gives_up_without_token: Callable[[], bool]) -> ReignEnd:
        """Start the tree and keep it; `gives_up_without_token` tells whether a 401 ends it."""
        while not self._court.events.empty():
            # Of an earlier reign.
            self._court.events.get_nowait()
        watching = asyncio.create_task(self._watch_lease())
        try:
            await self._start_tree()
            while True:
                end = await self._heed(await self._court.events.get(), gives_up_without_token)
                if end is not None:
                    return end
        finally:
            watching.cancel()
            await self._end_own()

    def move(self) -> None:
        """End in order: the tree speaks to an address where nobody is any more."""
        self._court.events.put_nowait(_Moved())

    async def stop(self, within_ms: int) -> None:
        """End the tree in order; what is not ended in time is killed by the launcher."""
        await self._end_own()
        if not self._tree_runs:
            return
        with contextlib.suppress(OSError, TimeoutError):
            await self._court.launcher.send(StopTree(within_ms=within_ms))
            async with asyncio.timeout(within_ms / 1_000 + 1.0):
                while not isinstance(await self._court.events.get(), TreeEnded):
                    pass
            self._tree_runs = False

    # -- the tree -------------------------------------------------------------------------------

    async def _start_tree(self) -> None:
        self._serves = False
        self._tree_runs, self._stop_asked = True, False
        settings = {
            **self._court.settings(),
            "owner": dataclasses.asdict(self._court.owner),
            "epoch": self.record.epoch,
        }
        log_event("reign.starting", epoch=self.record.epoch)
        await self._court.launcher.send(
            LeadTree(leader=LEADER_CLASS, log_path=self._court.log_path, settings=settings)
        )

    async def _heed(
        self, event: Any, gives_up_without_token: Callable[[], bool]
    ) -> ReignEnd | None:
        match event:
            case _LeaseLost():
                return await self._ended(ReignEnd.DEPOSED)
            case _Moved():
                return await self._ended(ReignEnd.MOVED)
            case TreeEnded(reason=reason) if reason == STOPPED and not self._stop_asked:
                # The end of an earlier tree, told late.
                return None
            case TreeEnded(reason=reason, detail=detail):
                self._tree_runs = False
                return await self._tree_ended(reason, detail)
            case TreeEvent(name="endpoint", body={"path": str(path)}):
                await self._serve_own(path)
            case TreeEvent(name="serving"):
                self._serves = True
                self._tell_when_serving()
            case TreeEvent(name="deposed"):
                return await self._ended(ReignEnd.DEPOSED)
            case TreeEvent(name="foreign-poller"):
                return await self._ended(ReignEnd.FOREIGN_POLLER)
            case TreeEvent(name="yield"):
                return await self._ended(ReignEnd.YIELDED, YIELD_STOP_MS)
            case TreeEvent(name="paired", body=body):
                self._court.on_news("paired", body)
                if self._court.only_pairs:
                    return await self._ended(ReignEnd.PAIRED)
                await self._renew()
            case TreeEvent(name="token-refused", body=body):
                self.refusal = str(body.get("text") or body.get("description") or "")
                if gives_up_without_token():
                    return await self._ended(ReignEnd.TOKEN_REFUSED)
                self._court.on_news("token-refused", body)
            case TreeEvent(name="start-failed", body=body):
                self.failure = str(body.get("text", ""))
                log_event("reign.start_failed", "ERROR", text=self.failure)
                await self._end_tree()
            case TreeEvent(name=name, body=body):
                self._court.on_news(name, body)
        return None

    async def _renew(self) -> None:
        """End this tree, which gave up nothing; the next one has other settings."""
        self._renewing = True
        await self._end_tree()

    async def _end_tree(self, within_ms: int = DEPOSED_STOP_MS) -> None:
        """Have another one in its place, once its end is told."""
        self._stop_asked = True
        await self._court.launcher.send(StopTree(within_ms=within_ms))

    async def _tree_ended(self, reason: str, detail: str) -> ReignEnd | None:
        log_event("reign.tree_ended", "WARNING", reason=reason, detail=detail)
        await self._end_own()
        now = boot_ms()
        renewing, self._renewing = self._renewing, False
        was_stuck, self._was_stuck = self._was_stuck, False
        again = True
        if not renewing:
            self.plan, again = self.plan.on_tree_ended(now, was_stuck)
        owner, epoch = self._court.owner, self.record.epoch
        if not again:
            self._court.lease.release(owner, epoch)
            return ReignEnd.GIVEN_UP
        renewed = self._court.lease.renew_epoch(owner, epoch, now, new_secret())
        if renewed is None:
            return ReignEnd.DEPOSED
        self.record = renewed
        await self._start_tree()
        return None

    async def _ended(self, end: ReignEnd, within_ms: int = DEPOSED_STOP_MS) -> ReignEnd:
        log_event("reign.ended", "WARNING", end=end.value, epoch=self.record.epoch)
        await self.stop(within_ms)
        if end is not ReignEnd.DEPOSED:
            self._court.lease.release(self._court.owner, self.record.epoch)
        return end

    async def _watch_lease(self) -> None:
        watch, pulse = self._court.watch, Pulse()
        while True:
            await watch.rest()
            if watch.look() is not Standing.OURS:
                self._court.events.put_nowait(_LeaseLost())
                return
            if not watch.is_current:
                # What cannot be read says nothing about the Leader.
                pulse = Pulse()
                continue
            pulse, is_stuck = pulse.on_look(watch.record.heartbeat_ms, boot_ms())
            if is_stuck:
                log_event("reign.leader_stuck", "ERROR", epoch=self.record.epoch)
                self._was_stuck = True
                # Nothing in order can be had from it.
                await self._end_tree(within_ms=0)

    # -- the own follower -----------------------------------------------------------------------

    async def _serve_own(self, endpoint: str) -> None:
        if endpoint == self._endpoint and self._own is not None and not self._own.done():
            return
        await self._end_own()
        self._endpoint = endpoint
        self._own = asyncio.create_task(self._keep_own_registered())

    async def _keep_own_registered(self) -> None:
        refused = 0
        while True:
            pause = REGISTER_AGAIN_S
            try:
                await self._court.follower.serve(
                    self._endpoint, self.record.secret or "", self._registered
                )
                refused = 0
            except EndpointUnreachable:
                pass
            except RegistrationRefused as refusal:
                self._court.on_news("registration-refused", {"text": str(refusal)})
                pause = backoff_ms(refused) / 1_000
                refused += 1
            finally:
                self._lost()
            await asyncio.sleep(pause)

    async def _end_own(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            own.cancel()
            await asyncio.gather(own, return_exceptions=True)

    def _registered(self) -> None:
        self._is_registered = True
        self._court.on_registered()
        self._tell_when_serving()

    def _lost(self) -> None:
        if self._is_registered:
            self._is_registered = False
            self._court.on_lost()

    def _tell_when_serving(self) -> None:
        if self._serves and self._is_registered:
            self._court.on_serving()
