"""The session of one instance: the queue behind its thread, and the mode that works it off.

It owns the deliveries of its binding and is their only writer. What the follower admits is durable
before it is acknowledged. Decisions are those of `SessionPlan`, taken one after another in one
mailbox; runs, sendings and answers go on beside it and report back to it. It never touches Thespian
or Telegram.

Promises: a delivery is run once however often it is admitted; nothing is sent before what it rests
on is durable; what waits for a leader waits without limit and is not lost.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from actors.clock import said_time, system_now
from actors.event_log import log_event
from actors.faults import fault
from actors.live_message import LiveMessage, Shown
from actors.modes import Interrupted, Mode, NotStarted, Prompt
from actors.outbox import Outbox, Sleep
from actors.plans.delivery import Progress, read
from actors.plans.effects import Effects, Notify, Now, Perform, WakeAfter, Write, in_order
from actors.plans.pace import SILENT_MINUTES
from actors.plans.session import SessionPlan
from actors.plans.session_events import Delivered, Delivery, Restored, RunEnded, RunOutcome
from actors.thread import Button, CallRefused, CommitUnknown, Thread, ThreadError
from messages import texts
from stores.deliveries import Deliveries
from stores.errors import StoreBusy, StoreError, StoreUnavailable

Operation = Callable[..., Coroutine[Any, Any, None]]

STORE_PAUSE = 1.0
"""Seconds between tries while the store refuses: nothing follows before it is durable."""

REMEMBERED = 10_000
REMEMBERED_DAYS = 7
"""Finished deliveries are known again this long, and this many of them in any case."""

SETTLE_GRACE = 0.5
"""Seconds that answers under way have to arrive when this process ends."""

FLUSH_GRACE = 0.3
"""Seconds that the last decisions have to become durable."""


class SessionClosed(Exception):
    """The session ends and takes nothing any more; the sender keeps it."""


class Session:
    """Drives one mode; `run` is its life, the other methods may be called while it runs."""

    def __init__(
        self,
        store: Deliveries,
        mode: Mode,
        thread: Thread,
        clock: Callable[[], Now] = system_now,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._store = store
        self._mode = mode
        self._outbox = Outbox(thread, sleep)
        self._clock = clock
        self._sleep = sleep
        self.plan = SessionPlan(traits=mode.traits, started_at=clock().wall)
        # One thread, so that commits do not hold up the loop and keep their order.
        self._storing = ThreadPoolExecutor(max_workers=1, thread_name_prefix="session-store")
        self._mailbox: asyncio.Queue[tuple[str, tuple[Any, ...], asyncio.Event]] = asyncio.Queue()
        self._beside: set[asyncio.Task[None]] = set()
        self._wakeup: asyncio.TimerHandle | None = None
        self._admitting = asyncio.Lock()
        self._started = asyncio.Event()
        self._life: asyncio.Task[Any] | None = None
        self._closing = False
        self._ended = False
        self._stop_wanted = False
        self._shown = Shown()
        self.left = asyncio.Event()
        """Set once the thread is deleted at its owner's wish: this process is to end."""

    # -- what the follower calls ----------------------------------------------------------------

    async def run(self) -> None:
        """Take up what is left from before, then work until `close`."""
        self._life = asyncio.current_task()
        try:
            if not self._closing:
                await self._work()
        except asyncio.CancelledError:
            # `close` ends a session whose store lets nothing be written any more.
            if not self._ended:
                raise

    async def admit(
        self,
        kind: str,
        delivery_id: str,
        source_update_id: int,
        carrier: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Accept a delivery; returns its receipt once it is durable, the same for every repeat.

        Raises SessionClosed and StoreError; the delivery is then not accepted.
        """
        # A caller that gives up in the middle must not leave a row that nobody was told of.
        admission = asyncio.create_task(
            self._admitted(kind, delivery_id, source_update_id, carrier)
        )
        return await asyncio.shield(admission)

    def pause(self) -> None:
        """The leader is lost: runs go on, what they say waits."""
        self._outbox.pause()

    def resume(self) -> None:
        """A leader is back."""
        self._outbox.resume()

    async def wish(self, wish: str, delivery_id: str | None) -> str:
        """Do what an operator wants of this process; returns why not, empty when it is done or begun."""
        match wish:
            case "close":
                self._perform((Perform("leave", "", {"message_id": None}),))
                return ""
            case "reload":
                return await self._take_up_again()
        known = any(held.item.delivery_id == delivery_id for held in self.plan.held)
        if known:
            await self._tell("on_settled_by_hand", delivery_id, wish == "retry").wait()
        return "" if known else texts.NOTHING_TO_DECIDE

    async def _take_up_again(self) -> str:
        """Begin anew from what is stored; only while nothing is under way, which would happen twice."""
        async with self._admitting:
            if not self._started.is_set() or self._closing:
                return texts.NOT_READY
            if self.plan.running is not None or self._beside or not self._mailbox.empty():
                return texts.STOP_IT_FIRST
            self.plan = SessionPlan(traits=self._mode.traits, started_at=self._clock().wall)
            await self._tell("on_started", await self._restore()).wait()
        return ""

    def describe(self) -> Mapping[str, Any]:
        """What the session does, for `status`."""
        return self.plan.describe(self._clock())

    async def close(self) -> None:
        """End within five seconds, with the run; what is not settled stays in the store."""
        if self._closing:
            return
        self._closing = True
        self._started.set()
        self._tell("on_closing")
        await self._mode.close()
        if self._beside:
            await asyncio.wait(set(self._beside), timeout=SETTLE_GRACE)
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        if self._wakeup is not None:
            self._wakeup.cancel()
        self._ended = True
        self._tell("on_closing")
        if self._life is not None:
            # What was told before is still written down, unless the store refuses it.
            await asyncio.wait([self._life], timeout=FLUSH_GRACE)
            self._life.cancel()
        self._storing.shutdown(wait=False)

    async def _admitted(
        self, kind: str, delivery_id: str, source_update_id: int, carrier: Mapping[str, Any]
    ) -> dict[str, Any]:
        # Before the rows of an earlier process are read, a new one would be taken for one of them.
        await self._started.wait()
        async with self._admitting:
            if self._closing:
                raise SessionClosed
            now = self._clock().wall
            admitted = await self._stored(
                self._store.admit, delivery_id, source_update_id, kind, carrier, now
            )
            if admitted.is_new:
                self._tell("on_admitted", read(delivery_id, kind, carrier))
        return {"deliveryId": delivery_id, "sourceUpdateId": admitted.source_update_id}

    # -- the mailbox ----------------------------------------------------------------------------

    async def _work(self) -> None:
        restored = await self._restore()
        if self._closing:
            return
        await self._step("on_started", (restored,))
        self._started.set()
        while not self._ended:
            handler, arguments, done = await self._mailbox.get()
            try:
                await self._step(handler, arguments)
            except Exception:
                # One delivery that cannot be decided about must not hold up those behind it.
                log_event("session.step_raised", "ERROR", exception=True, handler=handler)
            done.set()

    def _tell(self, handler: str, *arguments: Any) -> asyncio.Event:
        """Post an event; what is returned is set when everything it led to is durable."""
        done = asyncio.Event()
        self._mailbox.put_nowait((handler, arguments, done))
        return done

    async def _restore(self) -> tuple[Restored, ...]:
        while True:
            try:
                rows = await self._stored(self._store.outstanding)
                old = self._clock().wall - REMEMBERED_DAYS * 86_400_000
                await self._stored(self._store.forget_done, old, REMEMBERED)
                break
            except (StoreBusy, StoreUnavailable) as failure:
                await self._store_refused("outstanding", failure)
        now = self._clock()
        restored = []
        for row in rows:
            item = read(row.delivery_id, row.kind, row.carrier)
            wait = min(60_000, max(0, row.due_at - now.wall)) if row.due_at else 0
            progress = Progress.from_plain(row.progress)
            item = item.resumed(row.attempts, now.boot + wait, progress)
            if row.state == "running":
                await self._mode.clear(item.token)
            restored.append(Restored(item, str(row.state)))
        return tuple(restored)

    async def _step(self, handler: str, arguments: tuple[Any, ...]) -> None:
        """One decision: made, durable, and only then performed."""
        plan, effects = getattr(self.plan, handler)(*arguments, self._clock())
        ordered = in_order(effects)
        writes = [effect for effect in ordered if isinstance(effect, Write)]
        while writes:
            try:
                await self._stored(self._write, writes)
                break
            except (StoreBusy, StoreUnavailable) as failure:
                await self._store_refused(handler, failure)
        self.plan = plan
        self._perform(tuple(effect for effect in ordered if not isinstance(effect, Write)))

    def _write(self, writes: list[Write]) -> None:
        with self._store.transaction():
            for write in writes:
                getattr(self._store, write.method)(**write.arguments)

    async def _stored(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._storing, call, *arguments)

    async def _store_refused(self, what: str, failure: StoreError) -> None:
        log_event("session.store_refused", "ERROR", what=what, text=str(failure))
        await self._sleep(STORE_PAUSE)

    # -- effects --------------------------------------------------------------------------------

    def _perform(self, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case Perform(operation=operation, operation_id=delivery_id, arguments=arguments):
                    if operation == "run":
                        self._stop_wanted = False
                    perform: Operation = getattr(self, f"_do_{operation}")
                    task = asyncio.create_task(perform(delivery_id, **arguments))
                    self._beside.add(task)
                    task.add_done_callback(self._ended_beside)
                case WakeAfter(reason=reason, delay_ms=delay_ms):
                    if self._wakeup is not None:
                        self._wakeup.cancel()
                    self._wakeup = asyncio.get_running_loop().call_later(
                        delay_ms / 1_000, self._tell, f"on_wakeup_{reason}"
                    )
                case Notify(action=action, fields=fields, level=level):
                    log_event(action, level, **fields)

    def _ended_beside(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log_event("session.raised", "ERROR", text=repr(task.exception()))

    async def _do_run(
        self,
        delivery_id: str,
        text: str,
        reply_to: int | None,
        sent_at: int | None,
        sent_while_stopped: int | None,
        remark: str,
    ) -> None:
        if sent_while_stopped is not None:
            marked = texts.SENT_WHILE_STOPPED.format(
                time=said_time(sent_while_stopped, self._clock().wall)
            )
            await self._outbox.say(marked, reply_to=reply_to)
        live = LiveMessage(
            self._outbox,
            self._clock,
            reply_to,
            lambda: self._tell("on_silent", delivery_id, SILENT_MINUTES),
        )
        fault("session.before-run")
        prompt = Prompt(delivery_id[-8:], text, remark, sent_at)
        parts: tuple[str, ...] = ()
        reason = ""
        try:
            # It may have been stopped before it began, while its mark waited for a leader.
            if not self._stop_wanted:
                async with live:
                    parts = await self._mode.run(prompt, live.show)
            outcome = RunOutcome.ANSWERED
        except NotStarted as failure:
            outcome, reason = RunOutcome.NOT_STARTED, str(failure)
        except Interrupted:
            outcome = RunOutcome.INTERRUPTED
        except Exception as failure:
            log_event("session.run_raised", "ERROR", exception=True)
            outcome, reason = RunOutcome.BROKE, type(failure).__name__
        fault("session.after-run")
        self._shown = live.shown
        ended = RunEnded(
            delivery_id,
            outcome,
            parts=parts,
            draft=live.shown.message_id,
            doubtful=live.shown.doubtful,
            reason=reason,
        )
        self._tell("on_performed_run", ended)

    async def _do_deliver(
        self, delivery_id: str, parts: tuple[str, ...], draft: int | None, reply_to: int | None
    ) -> None:
        outcome, reason = Delivery.SENT, ""
        for part in parts:
            try:
                if draft is None:
                    await self._outbox.send(part, reply_to=reply_to)
                elif self._shown.message_id != draft or self._shown.text != part:
                    await self._outbox.edit(draft, part)
            except CommitUnknown:
                outcome = Delivery.UNKNOWN
                break
            except CallRefused as refused:
                outcome = Delivery.REFUSED if draft is None else Delivery.DRAFT_LOST
                reason = refused.description
                break
            draft = reply_to = None
            await self._tell("on_part_sent", delivery_id).wait()
        fault("session.after-answer")
        self._tell("on_performed_deliver", Delivered(delivery_id, outcome, reason))

    async def _do_ask(
        self,
        delivery_id: str,
        text: str,
        reply_to: int | None,
        buttons: tuple[tuple[str, str], ...],
    ) -> None:
        if await self._outbox.say(text, reply_to=reply_to, buttons=_buttons(buttons)):
            self._tell("on_performed_ask", delivery_id)

    async def _do_say(
        self,
        delivery_id: str,
        text: str,
        reply_to: int | None,
        buttons: tuple[tuple[str, str], ...],
    ) -> None:
        await self._outbox.say(text, reply_to=reply_to, buttons=_buttons(buttons))
        self._tell("on_performed_say", delivery_id)

    async def _do_announce(
        self,
        _delivery_id: str,
        text: str,
        reply_to: int | None,
        buttons: tuple[tuple[str, str], ...],
    ) -> None:
        """Say what is worth nothing later: one try, no waiting for a leader."""
        with contextlib.suppress(ThreadError):
            await self._outbox.thread.send(text, reply_to=reply_to, buttons=_buttons(buttons))

    async def _do_answer_callback(
        self, _delivery_id: str, callback_id: str, text: str | None
    ) -> None:
        with contextlib.suppress(ThreadError):
            await self._outbox.answer_callback(callback_id, text)

    async def _do_rewrite(self, _delivery_id: str, message_id: int | None, text: str) -> None:
        if message_id is not None:
            with contextlib.suppress(ThreadError):
                await self._outbox.edit(message_id, text)

    async def _do_leave(self, _delivery_id: str, message_id: int | None) -> None:
        try:
            await self._outbox.leave()
        except CommitUnknown:
            log_event("session.leave_unclear", "WARNING")
        except CallRefused as refused:
            text = texts.CLOSE_FAILED.format(reason=refused.description)
            await self._do_rewrite(_delivery_id, message_id, text)
            return
        await self._tell("on_left").wait()
        self.left.set()

    async def _do_stop(self, _delivery_id: str) -> None:
        self._stop_wanted = True
        self._mode.stop()


def _buttons(plain: tuple[tuple[str, str], ...]) -> tuple[Button, ...] | None:
    return tuple(Button(label, data) for label, data in plain) or None
