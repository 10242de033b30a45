"""An instance: one `run.py` from its first look at the lease to its last line.

It drives the follower, the election, the reign when it leads, and the session behind the thread,
and tells on the terminal what place it has. It follows whoever holds the lease; where nobody does,
the election decides. It ends in order within five seconds and keeps its thread.
"""

import asyncio
import contextlib
import dataclasses
import traceback
from collections.abc import Mapping
from typing import Any

from actors import instance_texts as texts
from actors.bulletins import Bulletins
from actors.clock import boot_ms, wall_ms
from actors.ending import Ending
from actors.event_log import log_event, log_path, redact
from actors.follower import EndpointUnreachable, RegistrationRefused
from actors.lease_watch import LeaseWatch
from actors.pairing_texts import PAIRED, owner_shown
from actors.parts import Parts
from actors.plans.election import (
    GRACE_MS,
    REST_MS,
    ElectionPlan,
    ReignPlan,
    Role,
    Standing,
    Verdict,
)
from actors.plans.follower import FollowerPlan, backoff_ms
from actors.reign import Court, Reign, ReignEnd, new_secret
from actors.silent_owner import make_way, suspended_writer
from actors.terminal import place_line
from messages.launcher import LauncherReady, Prepare, TreeStarted
from stores.errors import StoreBusy, StoreError, StoreUnavailable
from stores.lease import LeaseRecord, Owner
from stores.pairing import PairingRecord
from stores.process_birth import Liveness, liveness

OK, REFUSED, BAD_CONFIGURATION, INTERNAL = 0, 3, 4, 5

LOST_PAUSE_S = 0.05
UNREACHABLE_PAUSE_S = 0.25
STORE_PAUSE_S = 1.0
UNREACHABLE_MS = 10_000
"""Longer than a leader that stands still is waited for before somebody takes over."""


class Instance:
    """Runs until a signal or a reason to end; `run` returns the exit status."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._election = ElectionPlan(role=parts.role)
        self._reigns = ReignPlan()
        self._reign: Reign | None = None
        self._events: asyncio.Queue[Any] = asyncio.Queue()
        self._ending = Ending(parts)
        self._role = ""
        self._is_prepared = False
        self._preparing: asyncio.Task[None] | None = None
        self._refusals = 0
        self._unreachable_since = 0
        self._unreachable_from = 0
        self._predecessor: tuple[Owner | None, Standing] = (None, Standing.VACANT)
        self._succession: Mapping[str, Any] = {}
        self._bulletins = Bulletins(parts.terminal, parts.bot_shown)
        self._pairing: asyncio.Task[PairingRecord] | None = None

    async def run(self) -> int:
        """Live; then end in order."""
        parts = self._parts
        self._ending.heed_signals()
        self._watch = LeaseWatch(parts.lease, parts.owner.instance_id)
        parts.session.pause()
        parts.follower.on_roster = self._on_roster
        life = asyncio.create_task(self._life())
        session = asyncio.create_task(parts.session.run())
        launcher = asyncio.create_task(self._pump())
        signalled = asyncio.create_task(self._ending.asked())
        reasons = {life, session, launcher, signalled}
        await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
        status = self._status(life, session, launcher, signalled)
        log_event("instance.ending", status=status)
        try:
            await self._end(life)
        except Exception:
            log_event("instance.end_failed", "ERROR", exception=True)
        for task in reasons:
            task.cancel()
        await asyncio.gather(*reasons, return_exceptions=True)
        self._watch.close()
        return status

    def _status(
        self,
        life: asyncio.Task[int],
        session: asyncio.Task[None],
        launcher: asyncio.Task[None],
        signalled: asyncio.Task[Any],
    ) -> int:
        if signalled.done():
            return OK
        if launcher.done():
            log_event("instance.launcher_ended", "ERROR")
            self._parts.terminal.tell(texts.LAUNCHER_ENDED.format(log=log_path()))
            return INTERNAL
        if life.done() and life.exception() is None:
            return life.result()
        failed = life if life.done() else session
        failure = failed.exception()
        log_event("instance.failed", "ERROR", text=repr(failure), trace=_trace(failure))
        if isinstance(failure, StoreError):
            self._parts.terminal.tell(str(failure))
        else:
            self._parts.terminal.tell(texts.FAILED_INSIDE.format(log=log_path()))
        return INTERNAL

    async def _end(self, life: asyncio.Task[int]) -> None:
        """In order; from here on this process neither campaigns nor serves anew."""
        self._election = dataclasses.replace(self._election, role=Role.FOLLOWER)
        await self._ending.end_session()
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)
        if self._reign is not None:
            await self._ending.end_reign(self._reign)
        await self._ending.end_claims()

    async def _pump(self) -> None:
        """What the launcher reports; returns when it has ended."""
        async for event in self._parts.launcher.events():
            if not isinstance(event, (LauncherReady, TreeStarted)):
                self._events.put_nowait(event)

    # -- living ---------------------------------------------------------------------------------

    async def _life(self) -> int:
        """Follow, or lead; returns the exit status when there is a reason to end."""
        while True:
            try:
                status = await self._turn()
            except (StoreBusy, StoreUnavailable) as failure:
                await self._store_refused(failure)
            else:
                if status is not None:
                    return status

    async def _store_refused(self, failure: StoreError) -> None:
        """A full disk, say: whoever ended for that would not be there when it has room again."""
        log_event("instance.store_refused", "ERROR", text=str(failure))
        self._reign = None
        self._parts.session.pause()
        refusal = texts.STORE_REFUSES.format(text=failure)
        if isinstance(failure, StoreBusy):
            pid = await asyncio.to_thread(suspended_writer, self._parts.lease.database.path)
            if pid is not None:
                refusal = texts.STORE_IS_HELD.format(text=failure, pid=pid)
        self._parts.terminal.tell_once(refusal)
        await asyncio.sleep(STORE_PAUSE_S)

    async def _turn(self) -> int | None:
        """Look, and do what there is to do; an exit status when that is to end."""
        seen = self._watch.look()
        was_waiting = self._election.waiting_since
        self._election, verdict = self._election.on_look(seen, boot_ms())
        if was_waiting is None and self._election.waiting_since is not None:
            log_event("follower-promotion-slot-priority", slot=self._election.slot)
        match verdict:
            case Verdict.REFUSE:
                self._parts.terminal.tell(self._already_leads())
                return REFUSED
            case Verdict.RELEASE:
                self._parts.lease.release(self._parts.owner, self._watch.record.epoch)
            case Verdict.CAMPAIGN:
                return await self._campaign(seen)
            case Verdict.FOLLOW if self._watch.record.endpoint:
                await self._follow()
            case _:
                if self._parts.role is Role.FOLLOWER and seen.leaderless:
                    self._parts.terminal.tell_once(texts.WAITS_FOR_LEADER)
                elif seen is Standing.FRESH and not self._parts.settings.owner_and_chat()[0]:
                    self._parts.terminal.tell_once(self._waits_for_pairing())
                await self._watch.rest()
        return None

    async def _follow(self) -> None:
        """Be registered with the present leader until it, or the lease, is another."""
        record, parts = self._watch.record, self._parts
        secret = record.secret or ""
        redact(secret)
        parts.set_secret(secret)
        serving = asyncio.create_task(
            parts.follower.serve(record.endpoint or "", secret, self._on_following)
        )
        changed = asyncio.create_task(self._watch.changed())
        try:
            await asyncio.wait({serving, changed}, return_when=asyncio.FIRST_COMPLETED)
            given_up = not serving.done()
        finally:
            serving.cancel()
            changed.cancel()
            ends = await asyncio.gather(serving, changed, return_exceptions=True)
            parts.session.pause()
        if not given_up:
            await self._after_following(ends[0])

    async def _after_following(self, end: Any) -> None:
        pause = LOST_PAUSE_S
        if isinstance(end, RegistrationRefused):
            self._bulletins.refused(str(end))
            pause = backoff_ms(self._refusals) / 1_000
            self._refusals += 1
        elif isinstance(end, EndpointUnreachable):
            pause = UNREACHABLE_PAUSE_S
            self._note_unreachable()
        elif isinstance(end, BaseException):
            raise end
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._watch.changed()

    def _note_unreachable(self) -> None:
        """A live owner behind a dead endpoint is waited for, and said so now and then."""
        now, record = boot_ms(), self._watch.record
        self._unreachable_from = self._unreachable_from or now
        if record.owner is not None and now - self._unreachable_from >= UNREACHABLE_MS:
            self._parts.terminal.tell_once(texts.LEADER_UNREACHABLE.format(pid=record.owner.pid))
        if now - self._unreachable_since >= GRACE_MS:
            self._unreachable_since = now
            leader = record.owner.instance_id if record.owner is not None else ""
            log_event(
                "follower-promotion-live-owner", "WARNING", leader=leader, epoch=record.epoch
            )

    def _on_following(self) -> None:
        self._refusals = self._unreachable_from = 0
        plan = self._parts.follower.plan
        self._election = self._election.on_joined(plan.slot, plan.roster)
        self._parts.session.resume()
        self._bulletins.followed()
        self._announce(Role.FOLLOWER)

    def _on_roster(self, plan: FollowerPlan) -> None:
        """Among the next to lead, be ready to."""
        self._election = dataclasses.replace(
            self._election, slot=plan.slot, roster=plan.roster
        )
        if self._election.is_heir and not self._is_prepared:
            self._is_prepared = True
            self._preparing = asyncio.create_task(self._parts.launcher.send(Prepare()))

    # -- leading --------------------------------------------------------------------------------

    async def _campaign(self, seen: Standing) -> int | None:
        parts = self._parts
        await make_way(self._watch, parts.lease.database.path)
        if self._election.role is Role.FOLLOWER:
            # Asked to end meanwhile.
            return None
        secret = new_secret()
        self._succession = _succession(self._watch.record, parts.owner)
        record = parts.lease.campaign(self._watch.record, parts.owner, boot_ms(), secret)
        if record is None:
            log_event("lease.lost_campaign", epoch=self._watch.record.epoch)
            return None
        self._is_prepared = True
        log_event("lease.won", epoch=record.epoch, standing=seen.value)
        parts.set_secret(secret)
        self._predecessor = (self._watch.last_owner, seen)
        self._watch.look()
        reign = self._reign = Reign(self._court(), record, self._reigns)
        keeping = asyncio.create_task(self._keep_practice(reign))
        try:
            end = await reign.run(lambda: not self._role)
        finally:
            keeping.cancel()
        self._end_pairing()
        self._reigns, self._reign = reign.plan, None
        parts.session.pause()
        return self._after_reign(end, reign)

    async def _keep_practice(self, reign: Reign) -> None:
        """Without the practice chat there is nobody to lead for."""
        if self._parts.practice is not None:
            address = await self._parts.practice.keep()
            self._parts.terminal.tell(texts.PRACTICE_AGAIN.format(url=address.url))
            reign.move()

    def _after_reign(self, end: ReignEnd, reign: Reign) -> int | None:
        terminal = self._parts.terminal
        match end:
            case ReignEnd.TOKEN_REFUSED:
                log_event("instance.token_refused", "ERROR", text=reign.refusal)
                terminal.tell(texts.TOKEN_REFUSED)
                return BAD_CONFIGURATION
            case ReignEnd.FOREIGN_POLLER:
                terminal.tell(texts.FOREIGN_POLLER.format(bot=self._parts.bot_shown()))
                return REFUSED
            case ReignEnd.YIELDED:
                self._election = self._election.on_yielded(boot_ms())
            case ReignEnd.GIVEN_UP:
                if reign.failure:
                    because = texts.TREES_FAILED_BECAUSE.format(reason=reign.failure)
                    terminal.tell_once(because)
                else:
                    terminal.tell(texts.TREES_FAILED.format(log=log_path()))
                self._election = self._election.on_trees_failed(boot_ms() + REST_MS)
        return None

    def _court(self) -> Court:
        parts = self._parts
        return Court(
            launcher=parts.launcher,
            events=self._events,
            lease=parts.lease,
            watch=self._watch,
            owner=parts.owner,
            follower=parts.follower,
            settings=self._tree_settings,
            log_path=parts.tree_log,
            on_serving=self._on_leading,
            on_registered=parts.session.resume,
            on_lost=parts.session.pause,
            on_news=self._on_news,
        )

    def _practice_root(self) -> Mapping[str, Any]:
        practice = self._parts.practice
        return {"api_root": practice.api_root()} if practice is not None else {}

    def _on_leading(self) -> None:
        plan = self._parts.follower.plan
        self._election = self._election.on_joined(plan.slot, plan.roster)
        predecessor, seen = self._predecessor
        if self._role == Role.FOLLOWER.value and predecessor is not None:
            self._parts.terminal.tell(_took_over(predecessor, seen))
        self._announce(Role.LEADER)

    def _tree_settings(self) -> Mapping[str, Any]:
        paired, self._pairing = self._pairing, None
        if paired is not None and paired.done() and not paired.cancelled():
            # The word of it may have been lost with the tree that had it.
            record = paired.result()
            self._parts.settings.adopt(record.owner_id or 0, record.chat_id or 0)
        elif paired is not None:
            paired.cancel()
        return {**self._parts.settings.tree(), **self._succession, **self._practice_root()}

    def _on_news(self, name: str, body: Mapping[str, Any]) -> None:
        settings = self._parts.settings
        log_event("instance.news", name=name)
        match name:
            case "pairing" if self._pairing is None:
                self._pairing = asyncio.create_task(self._parts.pairing_desk().run())
            case "paired":
                self._end_pairing()
                settings.adopt(body["owner_id"], body["chat_id"])
                owner = owner_shown(body["owner_id"], body["owner_name"])
                bot = self._parts.bot_shown()
                self._parts.terminal.tell(PAIRED.format(owner=owner, bot=bot))
            case "proven":
                settings.note_proven()
        self._bulletins.hear(name, body, in_private=settings.owner_and_chat()[1] >= 0)

    def _end_pairing(self) -> None:
        if self._pairing is not None:
            self._pairing.cancel()
            self._pairing = None

    # -- what is told ---------------------------------------------------------------------------

    def _announce(self, role: Role) -> None:
        if role.value == self._role:
            return
        plan = self._parts.follower.plan
        prefix = "" if self._role else "ready"
        if not self._role:
            # Its thread knows by now that this process is back.
            with contextlib.suppress(StoreError):
                self._parts.identities.record_welcome(
                    self._parts.binding_key, self._parts.owner.instance_id
                )
        joined = None if self._role else self._parts.joined()
        if joined:
            self._parts.terminal.tell(joined)
        self._role = role.value
        self._parts.terminal.say(
            place_line(prefix, role.value, plan.thread_name, plan.slot, plan.pid)
        )

    def _waits_for_pairing(self) -> str:
        owner = self._watch.record.owner
        pid = owner.pid if owner is not None else "?"
        return texts.WAITS_FOR_PAIRING.format(pid=pid, bot=self._parts.bot_shown())

    def _already_leads(self) -> str:
        owner = self._watch.record.owner
        if owner is None:
            return texts.LEADS_ALREADY_UNNAMED.format(pid="?", bot=self._parts.bot_shown())
        name = None
        with contextlib.suppress(StoreError):
            name = self._parts.thread_name_of(owner.instance_id)
        text = texts.LEADS_ALREADY if name else texts.LEADS_ALREADY_UNNAMED
        return text.format(pid=owner.pid, name=name, bot=self._parts.bot_shown())


def _succession(before: LeaseRecord, owner: Owner) -> Mapping[str, Any]:
    """Who leads no more, and when it was heard of last, for what is said in its thread."""
    gone = before.owner
    if gone is None or before.heartbeat_ms is None or gone.boot_id != owner.boot_id:
        # Heartbeats of another boot tell nothing about the wall clock.
        return {}
    heard_at = wall_ms() - (boot_ms() - before.heartbeat_ms)
    return {"took_over_from": gone.instance_id, "predecessor_heard_at": heard_at}


def _took_over(predecessor: Owner, seen: Standing) -> str:
    """Why this process talks to Telegram now; whoever gave the lease up may well live on."""
    pid, boot_id, birth = predecessor.pid, predecessor.boot_id, predecessor.birth
    if liveness(pid, boot_id, birth) is Liveness.DEAD:
        text = texts.TOOK_OVER
    else:
        text = texts.TOOK_OVER_STALE if seen is Standing.STALE else texts.HANDED_OVER
    return text.format(pid=pid)


def _trace(failure: BaseException | None) -> str:
    return "".join(traceback.format_exception(failure)) if failure is not None else ""
