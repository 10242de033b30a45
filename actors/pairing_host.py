"""The pairing host: has somebody hear the code while it is shown, and is over when somebody sent it.

Where a process leads the bot, that one hears it. Where none does, this process leads it for the time, with
a tree that only polls. So there is never a second reader, and nothing that comes in is lost.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from actors import instance_texts as texts
from actors.clock import boot_ms
from actors.event_log import log_event, log_path
from actors.follower import Follower
from actors.launcher_handle import LauncherHandle
from actors.lease_watch import LeaseWatch
from actors.pairing_desk import PairingDesk
from actors.pairing_failure import PairingFailed
from actors.plans.election import ReignPlan, Standing
from actors.plans.follower import FollowerPlan
from actors.reign import Court, Reign, ReignEnd, new_secret
from actors.silent_owner import make_way
from messages.launcher import LauncherReady, TreeStarted
from stores.lease import Lease, Owner
from stores.pairing import PairingRecord

REFUSED, BAD_CONFIGURATION, INTERNAL = 3, 4, 5
STOP_MS = 2_000


@dataclasses.dataclass(frozen=True, slots=True)
class PairingHost:
    """What it works with."""

    owner: Owner
    lease: Lease
    launcher: LauncherHandle
    desk: PairingDesk
    settings: Callable[[], Mapping[str, Any]]
    tree_log: str
    bot_shown: str
    on_news: Callable[[str, Mapping[str, Any]], None]

    async def run(self) -> PairingRecord:
        """Until somebody is the owner; raises PairingFailed."""
        events: asyncio.Queue[Any] = asyncio.Queue()
        pump = asyncio.create_task(self._pump(events))
        watch = LeaseWatch(self.lease, self.owner.instance_id)
        desk = asyncio.create_task(self.desk.run())
        try:
            while not desk.done():
                await self._hear(watch, events, desk)
            return desk.result()
        finally:
            desk.cancel()
            pump.cancel()
            await asyncio.gather(desk, pump, return_exceptions=True)
            watch.close()

    async def _hear(
        self, watch: LeaseWatch, events: "asyncio.Queue[Any]", desk: "asyncio.Task[Any]"
    ) -> None:
        """Until the code was heard or whoever listened is gone."""
        if watch.look().leaderless:
            await make_way(watch, self.lease.database.path)
            record = self.lease.campaign(watch.record, self.owner, boot_ms(), new_secret())
            if record is not None:
                watch.look()
                reign = Reign(self._court(watch, events), record, ReignPlan())
                await self._reign(reign, desk)
                return
        elif watch.standing is Standing.OURS:
            self.lease.release(self.owner, watch.record.epoch)
            return
        changed = asyncio.create_task(watch.changed())
        await asyncio.wait({changed, desk}, return_when=asyncio.FIRST_COMPLETED)
        changed.cancel()
        await asyncio.gather(changed, return_exceptions=True)

    async def _reign(self, reign: Reign, desk: "asyncio.Task[Any]") -> None:
        reigning = asyncio.create_task(reign.run(lambda: True))
        try:
            await asyncio.wait({reigning, desk}, return_when=asyncio.FIRST_COMPLETED)
            if desk.done():
                # The new owner is told by this tree, which then ends by itself.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(STOP_MS / 1_000):
                        await asyncio.shield(reigning)
            if reigning.done() and not desk.done():
                end = reigning.result()
                if end is ReignEnd.PAIRED:
                    # On record by now, and the desk looks there.
                    await desk
                elif end is not ReignEnd.DEPOSED:
                    raise PairingFailed(*self._why(end))
        finally:
            if not reigning.done():
                reigning.cancel()
                await asyncio.gather(reigning, return_exceptions=True)
                await reign.stop(STOP_MS)
                self.lease.release(self.owner, reign.record.epoch)

    def _why(self, end: ReignEnd) -> tuple[int, str]:
        match end:
            case ReignEnd.TOKEN_REFUSED:
                return BAD_CONFIGURATION, texts.TOKEN_REFUSED
            case ReignEnd.FOREIGN_POLLER:
                return REFUSED, texts.FOREIGN_POLLER.format(bot=self.bot_shown)
        return INTERNAL, texts.TREES_FAILED_HERE.format(log=log_path())

    def _court(self, watch: LeaseWatch, events: "asyncio.Queue[Any]") -> Court:
        return Court(
            launcher=self.launcher,
            events=events,
            lease=self.lease,
            watch=watch,
            owner=self.owner,
            follower=_nobody(self.owner),
            settings=lambda: {**self.settings(), "pairing": True},
            log_path=self.tree_log,
            on_serving=lambda: None,
            on_registered=lambda: None,
            on_lost=lambda: None,
            on_news=self.on_news,
            only_pairs=True,
        )

    async def _pump(self, events: "asyncio.Queue[Any]") -> None:
        async for event in self.launcher.events():
            if not isinstance(event, (LauncherReady, TreeStarted)):
                events.put_nowait(event)
        log_event("setup.launcher_ended", "ERROR")


def _nobody(owner: Owner) -> Follower:
    """A tree that only polls gives no thread, so this never registers."""

    async def admit(*delivery: Any) -> Any:
        raise RuntimeError("there is no thread")

    plan = FollowerPlan(
        instance_id=owner.instance_id,
        binding_key="",
        thread_name="",
        cwd="/",
        pid=owner.pid,
        birth=owner.birth,
    )
    return Follower(plan, admit)
