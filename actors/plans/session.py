"""The queue of one instance: pure decisions about what runs, what waits, and what is asked.

Prompts run one after another in the order of their admission; the next one starts when the answer
of the one before is settled. Everything else (commands, buttons, edits) acts at once, whatever
runs. A delivery is marked before it is started and settled after its answer, so that a successor
knows of each what may have happened to it: nothing runs twice unasked, and nothing accepted
vanishes.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.command_run import duration
from actors.plans.delivery import Content, Item, Progress
from actors.plans.effects import Effects, Notify, Now, Perform, WakeAfter, Write
from actors.plans.question import (
    CLOSE,
    KEEP,
    STOP,
    WORDINGS,
    Choice,
    Held,
    Question,
    close_buttons,
    pressed,
    stop_button,
)
from actors.plans.session_effects import (
    RETRY_WAITS_MS,
    STORE,
    TRIES,
    answer_press,
    ask,
    deliver,
    keep_progress,
    rewrite,
    run,
    say,
    write,
)
from actors.plans.session_events import Delivered, Delivery, Restored, RunEnded, RunOutcome, Traits
from messages import texts

WAKE_RETRY = "retry"


@dataclasses.dataclass(frozen=True, slots=True)
class SessionPlan:
    """The state of the session."""

    traits: Traits
    started_at: int
    """When this process took the queue up, on the wall clock."""

    next_order: int = 0
    queue: tuple[Item, ...] = ()
    running: Item | None = None
    running_since: int = 0
    run_is_over: bool = False
    """Whether `running` only waits for its answer to be sent."""

    stops: tuple[Item, ...] = ()
    """Who asked for the end of the run and is told when it ended."""

    telling: tuple[Item, ...] = ()
    """Answers that are sent again, beside the queue."""

    retelling: tuple[Item, ...] = ()
    """Answers that were refused and wait for their next try."""

    held: tuple[Held, ...] = ()
    closing: bool = False

    # -- deliveries arrive ----------------------------------------------------------------------

    def on_started(self, rows: tuple[Restored, ...], now: Now) -> tuple["SessionPlan", Effects]:
        """Take up what an earlier process left, in the order of admission."""
        plan: SessionPlan = self
        effects: Effects = ()
        for row in rows:
            item = dataclasses.replace(row.item, order=plan.next_order)
            plan = dataclasses.replace(plan, next_order=plan.next_order + 1)
            plan, more = plan._restored(item, row.state, now)
            effects += more
        plan, more = plan._advanced(now)
        return plan, effects + more

    def on_admitted(self, item: Item, now: Now) -> tuple["SessionPlan", Effects]:
        """A delivery is durable; a message from before our start was sent while nobody was here."""
        late = item.sent_at is not None and item.sent_at + 999 < self.started_at
        item = dataclasses.replace(item, order=self.next_order, late=late)
        plan = dataclasses.replace(self, next_order=self.next_order + 1)
        announced: Effects = ()
        if item.content is Content.PROMPT and self.running and self.traits.announces_queue:
            text = texts.QUEUED.format(count=1 + len(self.queue))
            announced = (say("announce", item, text),)
        plan, effects = plan._taken(item, now)
        plan, more = plan._advanced(now)
        return plan, announced + effects + more

    def _restored(self, item: Item, state: str, now: Now) -> tuple["SessionPlan", Effects]:
        if state == "running":
            if item.progress.parts is not None:
                return self._restored_answer(item, now)
            if self.traits.repeats or item.content is not Content.PROMPT:
                requeued = write("requeue", item, now, attempts=0, due_at=None)
                return self._taken(item, now, (requeued,))
            return self._asked(item, Question.CUT_OFF, now)
        if state in set(Question):
            held = Held(item, Question(state))
            plan = dataclasses.replace(self, held=(*self.held, held))
            return plan, () if item.progress.asked else (ask(held),)
        if state != "pending":
            # Kept aside by somebody else's decision.
            return self, ()
        if item.progress.parts is not None:
            return dataclasses.replace(self, retelling=(*self.retelling, item)), ()
        return self._taken(item, now)

    def _restored_answer(self, item: Item, now: Now) -> tuple["SessionPlan", Effects]:
        # To edit the same text in twice is harmless; only a message sent twice would be seen.
        if self.traits.repeats or item.progress.draft is not None:
            return self._told(item)
        return self._asked(item, Question.UNCLEAR, now)

    def _taken(
        self, item: Item, now: Now, written: Effects = ()
    ) -> tuple["SessionPlan", Effects]:
        """Queue a prompt; act on anything else."""
        match item.content:
            case Content.PROMPT:
                return self._queued(item), written
            case Content.STOP if self._is_stoppable:
                plan = dataclasses.replace(self, stops=(*self.stops, item))
                return plan, (*written, Perform("stop", item.delivery_id, {}))
            case Content.STOP:
                return self, (*written, say("say", item, texts.NOTHING_IS_RUNNING))
            case Content.STATUS:
                return self, (*written, say("say", item, self._status(now)))
            case Content.HELP:
                return self, (*written, say("say", item, texts.HELP))
            case Content.NEW:
                return self, (*written, say("say", item, texts.NOTHING_TO_FORGET))
            case Content.CLOSE:
                return self, (*written, say("say", item, texts.CLOSE, close_buttons(item)))
            case Content.NO_TEXT if self.traits.shows_everything:
                return self._queued(item), written
            case Content.NO_TEXT:
                return self, (*written, say("say", item, texts.ONLY_TEXT))
            case Content.EDIT:
                plan, effects = self._edited(item, now)
                return plan, written + effects
            case Content.PRESS:
                plan, effects = self._pressed(item, now)
                return plan, written + effects
        return self, (*written, write("mark_done", item, now))

    def _edited(self, edit: Item, now: Now) -> tuple["SessionPlan", Effects]:
        """Change a prompt that has not started; message ids are unique within a chat only."""
        done = write("mark_done", edit, now)
        for item in self.queue:
            if (item.chat_id, item.message_id) == (edit.chat_id, edit.message_id):
                changed = dataclasses.replace(item, text=edit.text)
                queue = tuple(changed if other is item else other for other in self.queue)
                written = write("edit_pending", item, now, text=edit.text)
                return dataclasses.replace(self, queue=queue), (written, done)
        if self.traits.shows_everything:
            return self._queued(edit), ()
        return self, (done,)

    # -- buttons --------------------------------------------------------------------------------

    def _pressed(self, press: Item, now: Now) -> tuple["SessionPlan", Effects]:
        """Settle the question of the button, and the press with it, in one transaction."""
        done = write("mark_done", press, now)
        verb, token = pressed(press.text) or ("", "")
        if verb == STOP:
            if self.running is None or self.running.token != token or not self._is_stoppable:
                return self, (done, answer_press(press, texts.NOTHING_IS_RUNNING))
            plan = dataclasses.replace(self, stops=(*self.stops, press))
            return plan, (done, answer_press(press, None), Perform("stop", press.delivery_id, {}))
        if verb == KEEP:
            return self, (done, answer_press(press, None), rewrite(press, texts.CLOSE_KEPT))
        if verb == CLOSE:
            leave = Perform("leave", press.delivery_id, {"message_id": press.message_id})
            return self, (done, answer_press(press, texts.CLOSING), leave)
        for held in self.held:
            choices = WORDINGS[held.question].choices
            if held.item.token == token and verb in choices:
                choice = Choice(verb)
                waiting = tuple(other for other in self.held if other is not held)
                plan, effects = dataclasses.replace(self, held=waiting)._chosen(held, choice, now)
                outcome = rewrite(press, choices[choice][1])
                return plan, (done, answer_press(press, None), outcome, *effects)
        return self, (done, answer_press(press, texts.ALREADY_SETTLED if verb else None))

    def on_settled_by_hand(
        self, delivery_id: str, again: bool, now: Now
    ) -> tuple["SessionPlan", Effects]:
        """An operator decided what a button in the thread asks."""
        held = next((one for one in self.held if one.item.delivery_id == delivery_id), None)
        if held is None:
            return self, ()
        yes, no = tuple(WORDINGS[held.question].choices)
        waiting = tuple(other for other in self.held if other is not held)
        plan = dataclasses.replace(self, held=waiting)
        plan, effects = plan._chosen(held, yes if again else no, now)
        plan, more = plan._advanced(now)
        return plan, effects + more

    def _chosen(self, held: Held, choice: Choice, now: Now) -> tuple["SessionPlan", Effects]:
        item = dataclasses.replace(held.item, attempts=0, due_at=0)
        progress = dataclasses.replace(item.progress, asked=False)
        match choice:
            case Choice.DROP:
                return self, (write("mark_done", item, now),)
            case Choice.ARRIVED:
                progress = dataclasses.replace(progress, sent=progress.sent + 1)
                if progress.sent >= len(progress.parts or ()):
                    return self, (write("mark_done", item, now),)
        if choice is Choice.RUN_AGAIN or progress.parts is None:
            item = dataclasses.replace(item, progress=Progress())
            requeued = write("requeue", item, now, attempts=0, due_at=None)
            return self._queued(item), (requeued, keep_progress(item, now))
        item = dataclasses.replace(item, progress=progress)
        plan, effects = self._told(item)
        return plan, (write("mark_running", item, now), keep_progress(item, now), *effects)

    # -- the run --------------------------------------------------------------------------------

    def on_performed_run(self, ended: RunEnded, now: Now) -> tuple["SessionPlan", Effects]:
        """The mode is done with the running prompt."""
        item = self.running
        if item is None or item.delivery_id != ended.delivery_id or self.run_is_over:
            return self, ()
        if ended.outcome is RunOutcome.INTERRUPTED:
            # This process ends. The row stays `running`, which tells the next one that it was cut
            # off.
            return self, ()
        stopped = tuple(say("say", stop, texts.STOPPED) for stop in self.stops)
        plan = dataclasses.replace(self, stops=(), run_is_over=True)
        plan, effects = plan._ended(item, ended, now)
        plan, more = plan._advanced(now)
        return plan, stopped + effects + more

    def _ended(self, item: Item, ended: RunEnded, now: Now) -> tuple["SessionPlan", Effects]:
        if ended.outcome is not RunOutcome.ANSWERED:
            note = Notify(
                "session.run_failed", {"delivery": item.token, "reason": ended.reason}, "WARNING"
            )
            free = dataclasses.replace(self, running=None)
            if ended.outcome is RunOutcome.BROKE and not self.traits.repeats:
                plan, effects = free._asked(item, Question.CUT_OFF, now)
            else:
                plan, effects = free._failed(item, now)
            return plan, (note, *effects)
        if not ended.parts:
            free = dataclasses.replace(self, running=None)
            return free, (write("mark_done", item, now),)
        progress = Progress(parts=ended.parts, draft=ended.draft)
        item = dataclasses.replace(item, progress=progress, attempts=0)
        if ended.doubtful is not None and ended.doubtful.strip() == ended.parts[0].strip():
            # What may be in the thread already is the first part itself.
            return dataclasses.replace(self, running=None)._asked(item, Question.UNCLEAR, now)
        kept: Effects = () if self.traits.repeats else (keep_progress(item, now),)
        if ended.doubtful is not None:
            # It showed less than the answer, which is therefore no repetition of it.
            kept += (Notify("session.draft_unclear", {"delivery": item.token}, "WARNING"),)
        return dataclasses.replace(self, running=item), (*kept, deliver(item))

    def on_silent(self, delivery_id: str, minutes: int, now: Now) -> tuple["SessionPlan", Effects]:
        """The running prompt has printed nothing for so long that its owner may want to end it."""
        if self.running is None or self.running.delivery_id != delivery_id or self.run_is_over:
            return self, ()
        text = texts.NO_OUTPUT_YET.format(minutes=minutes)
        return self, (say("announce", self.running, text, stop_button(self.running)),)

    def _failed(self, item: Item, now: Now) -> tuple["SessionPlan", Effects]:
        """Count a failure: of the run, or of sending its answer when there is one already."""
        if item.attempts + 1 >= TRIES:
            return self._asked(item, Question.DEAD, now)
        wait = RETRY_WAITS_MS[item.attempts]
        item = dataclasses.replace(item, attempts=item.attempts + 1, due_at=now.boot + wait)
        requeued = write(
            "requeue", item, now, attempts=item.attempts, due_at=now.wall + wait
        )
        if item.progress.parts is None:
            return self._queued(item), (requeued,)
        plan = dataclasses.replace(self, retelling=(*self.retelling, item))
        return plan, (requeued, keep_progress(item, now))

    # -- the answer -----------------------------------------------------------------------------

    def on_part_sent(self, delivery_id: str, now: Now) -> tuple["SessionPlan", Effects]:
        """One more part of an answer is surely in the thread."""
        item = self._being_told(delivery_id)
        if item is None or item.progress.parts is None:
            return self, ()
        progress = dataclasses.replace(item.progress, sent=item.progress.sent + 1, draft=None)
        item = dataclasses.replace(item, progress=progress)
        last = progress.sent >= len(item.progress.parts or ())
        kept = () if last or self.traits.repeats else (keep_progress(item, now),)
        return self._with_told(item), kept

    def on_performed_deliver(self, told: Delivered, now: Now) -> tuple["SessionPlan", Effects]:
        """The sending of an answer came to an end."""
        item = self._being_told(told.delivery_id)
        if item is None:
            return self, ()
        if told.outcome is Delivery.DRAFT_LOST:
            progress = dataclasses.replace(item.progress, draft=None)
            item = dataclasses.replace(item, progress=progress)
            return self._with_told(item), (keep_progress(item, now), deliver(item))
        plan = self._without_told(item)
        match told.outcome:
            case Delivery.SENT:
                effects: Effects = (write("mark_done", item, now),)
            case Delivery.UNKNOWN:
                plan, effects = plan._asked(item, Question.UNCLEAR, now)
            case _:
                note = Notify(
                    "session.answer_refused",
                    {"delivery": item.token, "reason": told.reason},
                    "WARNING",
                )
                plan, effects = plan._failed(item, now)
                effects = (note, *effects)
        plan, more = plan._advanced(now)
        return plan, effects + more

    # -- other endings --------------------------------------------------------------------------

    def on_performed_say(self, delivery_id: str, now: Now) -> tuple["SessionPlan", Effects]:
        """An answer to a command or to an unusable message is in the thread, or given up."""
        return self, (Write(STORE, "mark_done", {"delivery_id": delivery_id, "now": now.wall}),)

    def on_performed_ask(self, delivery_id: str, now: Now) -> tuple["SessionPlan", Effects]:
        """A question is in the thread, or may be: it is not shown again."""
        for held in self.held:
            if held.item.delivery_id == delivery_id:
                progress = dataclasses.replace(held.item.progress, asked=True)
                item = dataclasses.replace(held.item, progress=progress)
                asked = dataclasses.replace(held, item=item)
                all_held = tuple(asked if other is held else other for other in self.held)
                return dataclasses.replace(self, held=all_held), (keep_progress(item, now),)
        return self, ()

    def on_wakeup_retry(self, now: Now) -> tuple["SessionPlan", Effects]:
        """Something may be due."""
        return self._advanced(now)

    def on_left(self, now: Now) -> tuple["SessionPlan", Effects]:
        """The thread is deleted: what waited in it, or was asked there, is dropped with it."""
        dropped = [
            *self.queue,
            *(held.item for held in self.held),
            *self.telling,
            *self.retelling,
            *((self.running,) if self.running is not None else ()),
        ]
        plan = dataclasses.replace(
            self, queue=(), held=(), telling=(), retelling=(), running=None, closing=True
        )
        return plan, tuple(write("mark_done", item, now) for item in dropped)

    def on_closing(self, now: Now) -> tuple["SessionPlan", Effects]:
        """The process ends: nothing is started any more, what was started may still be settled."""
        return dataclasses.replace(self, closing=True), ()

    def describe(self, now: Now) -> Mapping[str, Any]:
        """For `status`: what the session does and how many prompts wait."""
        return {
            "state": "idle" if self.running is None else "working",
            "running_ms": None if self.running is None else now.boot - self.running_since,
            "waiting": len(self.queue),
            "asked": len(self.held),
        }

    # -- the state ------------------------------------------------------------------------------

    @property
    def _is_stoppable(self) -> bool:
        return self.running is not None and not self.run_is_over and self.traits.stoppable

    def _status(self, now: Now) -> str:
        words = texts.STATUS_IDLE
        if self.running is not None:
            took = duration(now.boot - self.running_since)
            words = texts.STATUS_WORKING.format(duration=took, count=len(self.queue))
        if not self.held:
            return words
        count = len(self.held)
        asked = texts.STATUS_ONE_ASKED if count == 1 else texts.STATUS_SOME_ASKED
        return f"{words} {asked.format(count=count)}"

    def _queued(self, item: Item) -> "SessionPlan":
        queue = tuple(sorted((*self.queue, item), key=lambda queued: queued.order))
        return dataclasses.replace(self, queue=queue)

    def _asked(self, item: Item, question: Question, now: Now) -> tuple["SessionPlan", Effects]:
        progress = dataclasses.replace(item.progress, asked=False, draft=None)
        held = Held(dataclasses.replace(item, progress=progress), question)
        written = write(f"mark_{question}", item, now)
        plan = dataclasses.replace(self, held=(*self.held, held))
        return plan, (written, keep_progress(held.item, now), ask(held))

    def _told(self, item: Item) -> tuple["SessionPlan", Effects]:
        return dataclasses.replace(self, telling=(*self.telling, item)), (deliver(item),)

    def _being_told(self, delivery_id: str) -> Item | None:
        told = (*self.telling, *((self.running,) if self.running and self.run_is_over else ()))
        return next((item for item in told if item.delivery_id == delivery_id), None)

    def _with_told(self, item: Item) -> "SessionPlan":
        if self.running is not None and self.running.delivery_id == item.delivery_id:
            return dataclasses.replace(self, running=item)
        telling = tuple(
            item if other.delivery_id == item.delivery_id else other for other in self.telling
        )
        return dataclasses.replace(self, telling=telling)

    def _without_told(self, item: Item) -> "SessionPlan":
        if self.running is not None and self.running.delivery_id == item.delivery_id:
            return dataclasses.replace(self, running=None)
        telling = tuple(
            other for other in self.telling if other.delivery_id != item.delivery_id
        )
        return dataclasses.replace(self, telling=telling)

    def _advanced(self, now: Now) -> tuple["SessionPlan", Effects]:
        """Start whatever is due, and wake for whatever will be."""
        if self.closing:
            return self, ()
        plan, effects = self, ()  # type: tuple[SessionPlan, Effects]
        for item in self.retelling:
            if item.due_at <= now.boot:
                rest = tuple(other for other in plan.retelling if other is not item)
                plan, more = dataclasses.replace(plan, retelling=rest)._told(item)
                effects += (write("mark_running", item, now), *more)
        due = next((item for item in plan.queue if item.due_at <= now.boot), None)
        if plan.running is None and due is not None:
            plan = dataclasses.replace(
                plan,
                queue=tuple(other for other in plan.queue if other is not due),
                running=due,
                running_since=now.boot,
                run_is_over=False,
            )
            effects += (write("mark_running", due, now), run(due))
        later = [item.due_at for item in (*plan.queue, *plan.retelling) if item.due_at > now.boot]
        if later:
            effects += (WakeAfter(WAKE_RETRY, min(later) - now.boot),)
        return plan, effects
