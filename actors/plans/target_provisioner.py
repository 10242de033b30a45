"""What the TargetProvisioner decides: one job a binding at a time, different bindings side by side.

The jobs themselves are in `thread_provision`, `thread_creation` and `thread_removal`; here commands become
jobs, answers find theirs, and what waited goes on. Every decision is made on the rows as they are then.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans import thread_rows
from actors.plans.effects import Effects, Notify, Now, Reply, Send, WakeAfter
from actors.plans.telegram_verdict import NEVER_ANSWERED, Meaning, Verdict, verdict
from actors.plans.thread_book import ThreadBook
from actors.plans.thread_creation import ThreadCreation
from actors.plans.thread_grant import ThreadGrant
from actors.plans.thread_provision import ThreadProvision
from actors.plans.thread_removal import ThreadPreservation, ThreadRemoval
from actors.plans.thread_renaming import ThreadRenaming
from actors.plans.thread_step import Job, Scene, Step
from messages.leader import TopicsDoubted
from messages.target_provisioner import CleanupsReplayed, ProvisionTarget

REPLAY_MS = 8_000
"""The start of a leader waits no longer than this for old intents; they go on beside it."""

Decision = tuple["TargetProvisionerPlan", Effects]


@dataclasses.dataclass(frozen=True, slots=True)
class Replay:
    """A ReplayCleanups under way."""

    command_id: str
    unsettled: int
    kept: int = 0


@dataclasses.dataclass(frozen=True)
class TargetProvisionerPlan:
    """The jobs under way and those that wait for their binding."""

    chat_id: int
    epoch: int
    jobs: Mapping[str, Job] = dataclasses.field(default_factory=dict)
    waiting: Mapping[str, tuple[Job, ...]] = dataclasses.field(default_factory=dict)
    unclear: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Binding key -> the instance whose probing message may have arrived."""
    replay: Replay | None = None

    # -- commands -------------------------------------------------------------------------------

    def on_provision_target(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """Whoever asks for the same binding while it is being provisioned gets the same result."""
        asked = envelope.body
        running = self.jobs.get(asked.binding_key)
        if isinstance(running, ThreadGrant) and isinstance(running.command, ProvisionTarget):
            job = running.joined(envelope.message_id, asked.instance_id)
            return self._with_job(job), ()
        return self._take(ThreadProvision.of(envelope), book, now)

    def on_replace_target(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """A thread is said to be gone."""
        return self._take(ThreadProvision.of(envelope), book, now)

    def on_remove_target(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """A thread is to be deleted."""
        return self._take(ThreadRemoval.of(envelope), book, now)

    def on_close_target(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """An operator wants a thread deleted."""
        return self._take(ThreadRemoval.closing(envelope), book, now)

    def on_rename_target(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """An operator wants a thread called something else."""
        return self._take(ThreadRenaming.of(envelope), book, now)

    def on_preserve_target(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """A process is gone and its thread stays."""
        return self._take(ThreadPreservation.of(envelope), book, now)

    def on_replay_cleanups(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """Take up every intent that an earlier leader left, under this epoch."""
        if not book.cleanups:
            return self, (Reply(envelope.message_id, CleanupsReplayed(pending=0)),)
        plan = dataclasses.replace(
            self, replay=Replay(envelope.message_id, unsettled=len(book.cleanups))
        )
        for number, intent in enumerate(book.cleanups):
            plan = plan._queued(ThreadRemoval.again(intent, envelope.message_id, number))
        return plan, (*plan._alarm(), WakeAfter("replay", REPLAY_MS))

    def on_wakeup_replay(self, book: ThreadBook, now: Now) -> Decision:
        """Long enough: what is not settled yet counts as staying."""
        return self._replayed(over=True)

    # -- what Telegram says ---------------------------------------------------------------------

    def on_telegram_answered(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """A call succeeded."""
        return self._heard(envelope.in_reply_to, verdict(envelope.body), book, now)

    def on_telegram_refused(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """A call did not succeed, or nobody knows."""
        return self._heard(envelope.in_reply_to, verdict(envelope.body), book, now)

    def on_command_failed(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """The gateway could not carry a call out."""
        return self._heard(envelope.in_reply_to, verdict(envelope.body), book, now)

    def on_unanswered(self, unanswered: Any, book: ThreadBook, now: Now) -> Decision:
        """The gateway never answered, or was replaced in the middle of the call."""
        return self._heard(unanswered.command_id, NEVER_ANSWERED, book, now)

    def on_topic_created_seen(self, envelope: Any, book: ThreadBook, now: Now) -> Decision:
        """Telegram reports a thread that this bot made: it may settle an unclear creation."""
        seen = envelope.body
        if seen.chat_id != self.chat_id or book.knows(seen.thread_id):
            return self, ()
        name = seen.name.strip()
        for pending in book.provisions:
            if pending.thread_id is not None or pending.thread_name.strip() != name:
                continue
            job = self.jobs.get(pending.binding_key)
            if isinstance(job, ThreadCreation) and job.is_under_way:
                # The answer to the call itself decides; this is kept in case it never comes.
                return self._with_job(job.seen(seen.thread_id)), ()
            noted = thread_rows.thread_noted(pending.provision_id, seen.thread_id, self.epoch)
            adopted = {"threadId": seen.thread_id, "instanceId": pending.instance_id}
            return self, (noted, Notify("telegram.topic-adopted", adopted))
        return self, ()

    def evidence(self, call_id: str | None, said: Any, book: ThreadBook) -> Effects:
        """What must be left on record although this instance does not lead any more.

        A thread that Telegram made is known to nobody else: the next leader finds it here.
        """
        job = self._job_awaiting(call_id)
        pending = book.provision(job.key) if job is not None else None
        thread_id = verdict(said).thread_id
        if not isinstance(job, ThreadCreation) or pending is None or thread_id is None:
            return ()
        return (
            thread_rows.thread_orphaned(
                pending.provision_id, pending.instance_id, pending.epoch, thread_id
            ),
        )

    # -- going on -------------------------------------------------------------------------------

    def on_wakeup_advance(self, book: ThreadBook, now: Now) -> Decision:
        """One step of one job: each is durable before the next is decided."""
        job = self._next_ready()
        if job is None:
            return self, ()
        scene = self._scene(job.key, book)
        if job.key in self.jobs:
            return self._after(job, job.advance(scene, now))
        return self._dequeued(job)._after(job, job.begin(scene, now))

    def _take(self, job: Job, book: ThreadBook, now: Now) -> Decision:
        if job.key in self.jobs or job.key in self.waiting:
            return self._queued(job), ()
        return self._after(job, job.begin(self._scene(job.key, book), now))

    def _heard(self, call_id: str | None, said: Verdict, book: ThreadBook, now: Now) -> Decision:
        job = self._job_awaiting(call_id)
        if job is not None:
            plan, effects = self._after(job, job.answered(said, self._scene(job.key, book), now))
            doubt = (Send("leader", TopicsDoubted()),) if said.meaning is Meaning.TOPICS_OFF else ()
            return plan, (*doubt, *effects)
        if call_id is not None and call_id.endswith("/announce") and said.meaning is not Meaning.DONE:
            # The thread is there and its process was told so: a greeting is not worth more than this.
            failed = {"call": call_id, "text": said.text}
            return self, (Notify("telegram.follower-topic-announce", failed, "WARNING"),)
        return self, ()

    def _after(self, job: Job, step: Step) -> Decision:
        if step.job is not None:
            plan = self._with_job(step.job)
        else:
            jobs = {key: one for key, one in self.jobs.items() if key != job.key}
            unclear = {key: one for key, one in self.unclear.items() if key != job.key}
            if step.unclear is not None:
                unclear[job.key] = step.unclear
            plan = dataclasses.replace(self, jobs=jobs, unclear=unclear)
        effects = step.effects
        if step.job is None and isinstance(job, ThreadRemoval) and job.replayed is not None:
            plan, more = plan._one_replayed(step.done)
            effects += more
        return plan, (*effects, *plan._alarm())

    def _one_replayed(self, done: bool) -> Decision:
        if self.replay is None:
            return self, ()
        replay = dataclasses.replace(
            self.replay,
            unsettled=self.replay.unsettled - 1,
            kept=self.replay.kept + (0 if done else 1),
        )
        return dataclasses.replace(self, replay=replay)._replayed(over=replay.unsettled == 0)

    def _replayed(self, over: bool) -> Decision:
        if self.replay is None or not over:
            return self, ()
        pending = self.replay.kept + self.replay.unsettled
        answer = Reply(self.replay.command_id, CleanupsReplayed(pending=pending))
        return dataclasses.replace(self, replay=None), (answer,)

    # -- state ----------------------------------------------------------------------------------

    def _scene(self, binding_key: str, book: ThreadBook) -> Scene:
        busy = frozenset({*self.jobs, *self.waiting} - {binding_key})
        return Scene(
            book=book,
            chat_id=self.chat_id,
            epoch=self.epoch,
            busy=busy,
            unclear=self.unclear,
        )

    def _job_awaiting(self, call_id: str | None) -> Job | None:
        if call_id is None:
            return None
        return next((job for job in self.jobs.values() if job.awaiting == call_id), None)

    def _next_ready(self) -> Job | None:
        running = (job for job in self.jobs.values() if job.is_ready)
        following = (jobs[0] for key, jobs in self.waiting.items() if key not in self.jobs)
        return next(running, None) or next(following, None)

    def _alarm(self) -> Effects:
        return (WakeAfter("advance", 1),) if self._next_ready() is not None else ()

    def _with_job(self, job: Job) -> "TargetProvisionerPlan":
        return dataclasses.replace(self, jobs={**self.jobs, job.key: job})

    def _queued(self, job: Job) -> "TargetProvisionerPlan":
        behind = (*self.waiting.get(job.key, ()), job)
        return dataclasses.replace(self, waiting={**self.waiting, job.key: behind})

    def _dequeued(self, job: Job) -> "TargetProvisionerPlan":
        waiting = {key: jobs for key, jobs in self.waiting.items() if key != job.key}
        behind = self.waiting[job.key][1:]
        if behind:
            waiting[job.key] = behind
        return dataclasses.replace(self, waiting=waiting)

    def describe(self, now: Now) -> dict[str, Any]:
        """For `status`."""
        waiting = sum(len(jobs) for jobs in self.waiting.values())
        return {"jobs": len(self.jobs), "waiting": waiting, "replaying": self.replay is not None}
