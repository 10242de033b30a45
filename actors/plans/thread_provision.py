"""How a follower gets the thread it had, if that thread is still there.

    probing ──► reused
       │ gone?
       ▼
    confirming ──► alive: the same thread
       │ gone
       ▼
    a new one (`thread_creation`)

No binding is given up on one error: what a message found missing is looked at again by another method
first, and an answer that proves nothing changes nothing.
"""

import dataclasses
import enum
from typing import Any

from actors.plans import thread_rows, thread_texts
from actors.plans.effects import Now
from actors.plans.telegram_verdict import Meaning, Verdict
from actors.plans.thread_book import BoundThread
from actors.plans.thread_creation import ThreadCreation
from actors.plans.thread_grant import SLOTS_TAKEN, Notice, ThreadGrant
from actors.plans.thread_step import Scene, Step
from messages.target_provisioner import ProvisionTarget, ReplaceTarget

CONTRADICTION = "Telegram says that the thread exists, and refuses messages to it: {text}"
OUTSIDE = "The message appeared outside the thread."
NOT_YOURS = "This thread belongs to another process by now."

REUSED, HANDED_OVER = "follower-register-reuse", "follower-session-handoff"


class Stage(enum.Enum):
    """What a provision waits for."""

    NEW = "new"
    PROBING = "probing"  # a message to the thread it had
    CONFIRMING = "confirming"  # a rename to the same name, which fails where there is no thread


@dataclasses.dataclass(frozen=True, kw_only=True)
class ThreadProvision(ThreadGrant):
    """A grant that looks at what is on record first."""

    stage: Stage = Stage.NEW
    complaint: str = ""
    """What is said against the thread, while that is being confirmed."""

    is_ready = False

    @classmethod
    def of(cls, envelope: Any) -> "ThreadProvision":
        """From the command."""
        command, command_id = envelope.body, envelope.message_id
        callers = ((command_id, command.instance_id),)
        return cls(command_id=command_id, command=command, callers=callers)

    # -- begin ----------------------------------------------------------------------------------

    def begin(self, scene: Scene, now: Now) -> Step:
        """Decide by what is on record."""
        job = dataclasses.replace(self, began_at=now.boot)
        binding = scene.book.binding(self.key)
        if binding is not None and binding.chat_id != scene.chat_id:
            # A thread of a chat that this bot served before: nothing there is touched.
            binding = None
        if isinstance(self.command, ReplaceTarget):
            return job._begin_replacing(self.command, binding, scene, now)
        if binding is None or binding.thread_id is None:
            return ThreadCreation.of(job).begin(scene, now)
        return job._begin_reusing(self.command, binding, scene, now)

    def _begin_reusing(
        self, command: ProvisionTarget, binding: BoundThread, scene: Scene, now: Now
    ) -> Step:
        job = self._with(binding)
        same = binding.instance_id == self.instance_id and binding.is_current
        if command.own or same:
            # The leading instance is in its thread already, and one that never left needs no proof.
            return job._reuse(REUSED, scene, now)
        if scene.claim_slot(self.key, binding.slot, now) is None:
            return job._refuse("slots-taken", SLOTS_TAKEN)
        job = dataclasses.replace(job, stage=Stage.PROBING)
        if scene.unclear.get(self.key) == self.instance_id:
            # Its message of the last try may have arrived; a second one would be noise.
            place = {"chat_id": scene.chat_id, "message_thread_id": job._thread}
            return Step(*job._ask("probe", "sendChatAction", {**place, "action": "typing"}))
        words = job._welcome(binding, scene, now)
        params = thread_texts.message(scene.chat_id, job._thread, words)
        return Step(*job._ask("probe", "sendMessage", params))

    def _welcome(self, binding: BoundThread, scene: Scene, now: Now) -> str:
        """What the probing message says: one that was away is back, anybody else is connected."""
        back = scene.book.comes_back(self.key)
        if back is None:
            return self._greeting()
        since = back.away_since or binding.inactive_since
        return thread_texts.back(now.wall - since if since else None, back.waiting)

    def _begin_replacing(
        self, command: ReplaceTarget, binding: BoundThread | None, scene: Scene, now: Now
    ) -> Step:
        if binding is None or binding.thread_id is None:
            # An earlier replacement lost the old thread and did not get a new one.
            if scene.book.remembered(self.key) is None:
                return self._refuse("superseded", NOT_YOURS)
            return ThreadCreation.of(self, Notice.REPLACED).begin(scene, now)
        if binding.instance_id != self.instance_id:
            return self._refuse("superseded", NOT_YOURS)
        job = dataclasses.replace(self._with(binding), complaint=command.error)
        if binding.thread_id != command.thread_id:
            return job._reuse(REUSED, scene, now)
        return job._confirm(scene)

    def _with(self, binding: BoundThread) -> "ThreadProvision":
        return dataclasses.replace(
            self,
            thread_id=binding.thread_id,
            thread_name=binding.thread_name,
            slot=binding.slot,
            reused=True,
        )

    # -- answers --------------------------------------------------------------------------------

    def answered(self, said: Verdict, scene: Scene, now: Now) -> Step:
        """Telegram answered the call that this waits for, or never will."""
        if self.stage is Stage.CONFIRMING:
            return self._confirmed(said, scene, now)
        outside = isinstance(said.result, dict) and said.thread_id != self.thread_id
        if said.meaning is Meaning.DONE and not outside:
            return self._reuse(HANDED_OVER, scene, now)
        if outside or said.meaning in (Meaning.DELETED, Meaning.CLOSED):
            return dataclasses.replace(self, complaint=said.text or OUTSIDE)._confirm(scene)
        return self._not_proven(said, scene)

    def _confirm(self, scene: Scene) -> Step:
        place = {"chat_id": scene.chat_id, "message_thread_id": self._thread}
        job = dataclasses.replace(self, stage=Stage.CONFIRMING)
        return Step(*job._ask("confirm", "editForumTopic", {**place, "name": self.thread_name}))

    def _confirmed(self, said: Verdict, scene: Scene, now: Now) -> Step:
        exists = said.meaning in (Meaning.DONE, Meaning.UNCHANGED)
        # A closed thread can be renamed, and is of no use to a process all the same.
        closed = said.meaning is Meaning.CLOSED or (exists and "closed" in self.complaint.lower())
        if said.meaning is Meaning.DELETED or closed:
            error = said.text or self.complaint
            gone = thread_rows.thread_gone(
                scene.chat_id, self._thread, error, scene.epoch, now.wall
            )
            return ThreadCreation.of(self, Notice.REPLACED).create((gone,), scene, now)
        if exists and isinstance(self.command, ReplaceTarget):
            return self._reuse(REUSED, scene, now)
        if exists:
            said = Verdict(Meaning.REFUSED, CONTRADICTION.format(text=self.complaint))
        return self._not_proven(said, scene)

    def advance(self, scene: Scene, now: Now) -> Step:
        """It never goes on by itself."""
        return Step(self)

    # -- the end --------------------------------------------------------------------------------

    def _reuse(self, action: str, scene: Scene, now: Now) -> Step:
        claimed = scene.claim_slot(self.key, self.slot, now)
        if claimed is None:
            return self._refuse("slots-taken", SLOTS_TAKEN)
        slot, writes = claimed
        return dataclasses.replace(self, slot=slot)._activate(action, writes, scene, now)

    def _not_proven(self, said: Verdict, scene: Scene) -> Step:
        event = self._event("telegram.follower-topic-reuse-probe", "WARNING", text=said.text)
        step = self._refuse_by(said, scene, event)
        unclear = self.stage is Stage.PROBING and said.meaning is Meaning.UNKNOWN
        if unclear or scene.unclear.get(self.key) == self.instance_id:
            return dataclasses.replace(step, unclear=self.instance_id)
        return step

    def _ask(self, purpose: str, method: str, params: dict[str, Any]) -> Any:
        job, call = self._asked(purpose, method, params)
        return job, (call,)
