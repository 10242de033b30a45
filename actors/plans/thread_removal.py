"""How a thread is deleted, or kept without a process: nothing happens to a thread somebody else has by now.

The intent is written down before Telegram is asked, and goes in one write with the binding once Telegram
confirmed that the thread is gone. Until then it stays, and every later leader takes it up again.
"""

import dataclasses
import enum
from typing import Any

from actors.plans import thread_rows
from actors.plans.effects import Effect, Effects, Notify, Now, Reply
from actors.plans.telegram_verdict import Meaning, Verdict
from actors.plans.thread_book import CleanupIntent
from actors.plans.thread_step import Scene, Step, ask_telegram, is_group, refused
from messages.target_provisioner import TargetPreserved, TargetRemoved

SUPERSEDED = "Another process has this thread by now, so it was kept."


class Stage(enum.Enum):
    """What a removal waits for."""

    NEW = "new"
    CLOSING = "closing"
    DELETING = "deleting"


@dataclasses.dataclass(frozen=True)
class ThreadRemoval:
    """One RemoveTarget, or one intent that an earlier leader left."""

    command_id: str
    binding_key: str
    instance_id: str
    generation: str
    replayed: CleanupIntent | None = None
    """The intent that is taken up again; nobody waits for this one by name."""
    by_operator: bool = False
    """Whoever stood behind the thread, it is to go."""
    stage: Stage = Stage.NEW
    awaiting: str | None = None
    chat_id: int = 0
    thread_id: int = 0

    is_ready = False

    @classmethod
    def of(cls, envelope: Any) -> "ThreadRemoval":
        """From the command."""
        asked = envelope.body
        return cls(envelope.message_id, asked.binding_key, asked.instance_id, asked.generation)

    @classmethod
    def closing(cls, envelope: Any) -> "ThreadRemoval":
        """From an operator's command, which names no instance."""
        return cls(envelope.message_id, envelope.body.binding_key, "", "", by_operator=True)

    @classmethod
    def again(cls, intent: CleanupIntent, replay_id: str, number: int) -> "ThreadRemoval":
        """From an intent; the number tells the calls of one replay apart."""
        return cls(
            command_id=f"{replay_id}/{number}",
            binding_key=intent.binding_key,
            instance_id=intent.instance_id,
            generation=intent.generation,
            replayed=intent,
        )

    @property
    def key(self) -> str:
        """The binding it works on."""
        return self.binding_key

    def begin(self, scene: Scene, now: Now) -> Step:
        """Write the intent down and ask, unless there is nothing to delete for this instance."""
        if self.replayed is not None:
            intent = self.replayed
            job = self._about(intent.chat_id, intent.thread_id)
            holder = scene.book.holder(intent.chat_id, intent.thread_id)
            if holder is not None and (holder.instance_id or "") != self.instance_id:
                return job._superseded(scene)
            return job._intend(scene, now)
        binding = scene.book.binding(self.key)
        if binding is None:
            return self._settle(TargetRemoved())
        job = self._about(binding.chat_id, binding.thread_id or 0)
        if self.by_operator:
            job = dataclasses.replace(job, instance_id=binding.instance_id or "")
        elif binding.instance_id != self.instance_id:
            return job._superseded(scene)
        if binding.thread_id is None:
            removed = thread_rows.binding_removed(self.key, scene.epoch, now.wall)
            return self._settle(TargetRemoved(), removed)
        return job._intend(scene, now)

    def _about(self, chat_id: int, thread_id: int) -> "ThreadRemoval":
        return dataclasses.replace(self, chat_id=chat_id, thread_id=thread_id)

    def _intend(self, scene: Scene, now: Now) -> Step:
        intended = thread_rows.deletion_intended(
            binding_key=self.binding_key,
            instance_id=self.instance_id,
            generation=self.generation,
            chat_id=self.chat_id,
            thread_id=self.thread_id,
            epoch=scene.epoch,
            now=now.wall,
        )
        # Private chats cannot close a thread, and one that is being deleted need not be.
        return self._ask(Stage.CLOSING if is_group(self.chat_id) else Stage.DELETING, intended)

    def answered(self, said: Verdict, scene: Scene, now: Now) -> Step:
        """Closing may fail; deleting counts when Telegram did it, or has no such thread."""
        if self.stage is Stage.CLOSING and said.meaning is not Meaning.FENCED:
            return self._ask(Stage.DELETING)
        if said.meaning not in (Meaning.DONE, Meaning.DELETED):
            return self._unconfirmed(said)
        removed: list[Effect] = []
        holder = scene.book.holder(self.chat_id, self.thread_id)
        if holder is not None:
            removed.append(thread_rows.binding_removed(holder.binding_key, scene.epoch, now.wall))
        removed += self._intents_settled(scene)
        noted = self._event("bus.thread-reconciler-graceful-shutdown-topic-delete")
        return self._settle(TargetRemoved(), *removed, noted)

    def advance(self, scene: Scene, now: Now) -> Step:
        """It never goes on by itself."""
        return Step(self)

    def _ask(self, stage: Stage, *before: Effect) -> Step:
        method, purpose = "deleteForumTopic", "delete"
        if stage is Stage.CLOSING:
            method, purpose = "closeForumTopic", "close"
        call_id = f"{self.command_id}/{purpose}"
        params = {"chat_id": self.chat_id, "message_thread_id": self.thread_id}
        job = dataclasses.replace(self, stage=stage, awaiting=call_id)
        return Step(job, (*before, ask_telegram(call_id, method, params, resend=True)))

    def _superseded(self, scene: Scene) -> Step:
        cancelled = self._intents_settled(scene)
        effects: Effects = tuple(cancelled)
        if cancelled:
            effects = (*effects, self._event("bus.thread-reconciler-cleanup-superseded"))
        return self._settle(refused("superseded", SUPERSEDED), *effects)

    def _intents_settled(self, scene: Scene) -> list[Effect]:
        mine = (self.instance_id, self.chat_id, self.thread_id)
        return [
            thread_rows.deletion_settled(intent.cleanup_id, scene.epoch)
            for intent in scene.book.cleanups
            if (intent.instance_id, intent.chat_id, intent.thread_id) == mine
        ]

    def _unconfirmed(self, said: Verdict) -> Step:
        text = said.text
        noted = self._event("bus.thread-reconciler-cleanup-incomplete", "WARNING", text=text)
        reason = "deposed" if said.meaning is Meaning.FENCED else "telegram"
        step = self._settle(refused(reason, text), noted)
        return dataclasses.replace(step, done=False)

    def _settle(self, body: Any, *effects: Effect) -> Step:
        answer = () if self.replayed is not None else (Reply(self.command_id, body),)
        return Step(None, (*effects, *answer))

    def _event(self, action: str, level: str = "INFO", **fields: Any) -> Notify:
        known = {"instanceId": self.instance_id, "threadId": self.thread_id, **fields}
        return Notify(action, known, level)


@dataclasses.dataclass(frozen=True)
class ThreadPreservation:
    """One PreserveTarget: the process is gone, the thread stays."""

    command_id: str
    binding_key: str
    instance_id: str

    awaiting = None
    is_ready = False

    @classmethod
    def of(cls, envelope: Any) -> "ThreadPreservation":
        """From the command."""
        return cls(envelope.message_id, envelope.body.binding_key, envelope.body.instance_id)

    @property
    def key(self) -> str:
        """The binding it works on."""
        return self.binding_key

    def begin(self, scene: Scene, now: Now) -> Step:
        """Take the process off the binding, if it is still that process's."""
        binding = scene.book.binding(self.key)
        answer = Reply(self.command_id, TargetPreserved())
        if binding is None or binding.instance_id != self.instance_id:
            return Step(None, (answer,))
        gone = thread_rows.process_gone(self.key, self.instance_id, scene.epoch, now.wall)
        return Step(None, (gone, answer))

    def answered(self, said: Verdict, scene: Scene, now: Now) -> Step:
        """It asks nobody."""
        return Step(self)

    def advance(self, scene: Scene, now: Now) -> Step:
        """It is done at once."""
        return Step(self)
