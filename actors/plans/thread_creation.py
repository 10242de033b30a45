"""How a new thread is made, once, and an unfinished creation is taken up.

    creating ──► noted ──► started ──► active, answered, announced

A creation is written down before Telegram is asked, and a thread id before anything is made of it. Where
nobody knows whether a creation happened it is never repeated; Telegram reports every thread that the bot
made, and that report settles it.
"""

import dataclasses
import enum

from actors.plans import thread_rows, thread_texts
from actors.plans.effects import Effects, Now
from actors.plans.telegram_verdict import Meaning, Verdict
from actors.plans.thread_book import UnfinishedProvision
from actors.plans.thread_grant import (
    SLOTS_TAKEN,
    UNCLEAR_CREATION,
    Notice,
    ThreadGrant,
)
from actors.plans.thread_step import Scene, Step
from messages.target_provisioner import ProvisionTarget

ACTION = "follower-provision"


class Stage(enum.Enum):
    """How far the creation is."""

    NEW = "new"
    CREATING = "creating"
    NOTED = "noted"  # the thread id is durable
    STARTED = "started"  # the binding is durable


@dataclasses.dataclass(frozen=True, kw_only=True)
class ThreadCreation(ThreadGrant):
    """A grant of a thread that did not exist, or was not finished."""

    stage: Stage = Stage.NEW
    seen_thread: int | None = None
    """A thread of this name that Telegram reported before it answered the call."""

    @classmethod
    def of(cls, grant: ThreadGrant, notice: Notice = Notice.CONNECTED) -> "ThreadCreation":
        """Go on with a grant that found no thread; a name and letter that it had are kept."""
        return cls(
            command_id=grant.command_id,
            command=grant.command,
            callers=grant.callers,
            began_at=grant.began_at,
            thread_name=grant.thread_name,
            slot=grant.slot,
            notice=notice,
        )

    @property
    def is_ready(self) -> bool:
        """Whether it goes on by itself."""
        return self.stage in (Stage.NOTED, Stage.STARTED)

    @property
    def is_under_way(self) -> bool:
        """Whether Telegram was asked and has not answered."""
        return self.stage is Stage.CREATING

    def seen(self, thread_id: int) -> "ThreadCreation":
        """Telegram reported a thread of this name."""
        return dataclasses.replace(self, seen_thread=thread_id)

    def begin(self, scene: Scene, now: Now) -> Step:
        """Take up what is unfinished, else create."""
        pending = scene.book.provision(self.key)
        if pending is None:
            return self.create((), scene, now)
        if pending.thread_id is not None:
            return self._adopt(pending, scene, now)
        if pending.status == "ambiguous":
            return self._refuse("ambiguous", UNCLEAR_CREATION)
        # Whoever began it died before it could write down how it ended.
        unclear = thread_rows.creation_unclear(pending.provision_id, scene.epoch)
        return self._refuse("ambiguous", UNCLEAR_CREATION, unclear)

    def create(self, before: Effects, scene: Scene, now: Now) -> Step:
        """Write it down and ask Telegram once."""
        former = scene.book.remembered(self.key)
        wanted = carried = None
        if isinstance(self.command, ProvisionTarget):
            wanted, carried = self.command.thread_name, self.command.carried_slot
        known = self.thread_name or (former.thread_name if former else None) or wanted or ""
        name = thread_texts.unique_name(known, scene.book.names_but(self.key))
        preferred = self.slot or carried or (former.slot if former else None)
        claimed = scene.claim_slot(self.key, preferred, now)
        if claimed is None:
            return self._refuse("slots-taken", SLOTS_TAKEN, *before)
        slot, writes = claimed
        begun = thread_rows.creation_begun(
            f"provision:{self.instance_id}:{slot}:{now.wall}",
            binding_key=self.key,
            instance_id=self.instance_id,
            thread_name=name,
            slot=slot,
            chat_id=scene.chat_id,
            epoch=scene.epoch,
            now=now.wall,
        )
        job, call = dataclasses.replace(
            self, stage=Stage.CREATING, thread_name=name, slot=slot
        )._asked("create", "createForumTopic", {"chat_id": scene.chat_id, "name": name})
        return Step(job, (*before, *writes, begun, call))

    def answered(self, said: Verdict, scene: Scene, now: Now) -> Step:
        """Telegram made the thread, did not, or nobody knows."""
        pending = scene.book.provision(self.key)
        if pending is None:
            return self._refuse("telegram", said.text)
        # A success that names no thread is no more than a lost answer.
        unclear = said.meaning in (Meaning.DONE, Meaning.UNKNOWN)
        thread_id = (said.thread_id or self.seen_thread) if unclear else None
        if thread_id is not None:
            noted = thread_rows.thread_noted(pending.provision_id, thread_id, scene.epoch)
            job = dataclasses.replace(
                self, stage=Stage.NOTED, awaiting=None, thread_id=thread_id
            )
            return Step(job, (noted,))
        if unclear:
            write = thread_rows.creation_unclear(pending.provision_id, scene.epoch)
            return self._refuse("ambiguous", UNCLEAR_CREATION, write)
        dropped = thread_rows.creation_finished(pending.provision_id, scene.epoch)
        return self._refuse_by(said, scene, dropped)

    def advance(self, scene: Scene, now: Now) -> Step:
        """Go on after something became durable."""
        if self.stage is Stage.NOTED:
            return self._start(scene, now)
        return self._activate(ACTION, (), scene, now)

    def _adopt(self, pending: UnfinishedProvision, scene: Scene, now: Now) -> Step:
        job = dataclasses.replace(
            self,
            thread_id=pending.thread_id,
            thread_name=pending.thread_name,
            slot=pending.slot,
            reused=True,
        )
        return job._start(scene, now)

    def _start(self, scene: Scene, now: Now) -> Step:
        claimed = scene.claim_slot(self.key, self.slot, now)
        if claimed is None:
            return self._refuse("slots-taken", SLOTS_TAKEN)
        slot, writes = claimed
        job = dataclasses.replace(self, stage=Stage.STARTED, slot=slot)
        return Step(job, (*writes, job._bound("starting", scene, now)))
