"""Giving a thread to a follower: what reusing one and creating one have in common.

A grant knows who waits for it, writes the active binding together with the end of its write-ahead row, and
answers everybody with the same result; only then a new thread gets its first words.
"""

import dataclasses
import enum
from typing import Any, Self

from actors.plans import thread_refusals, thread_rows, thread_texts
from actors.plans.effects import Effect, Effects, Notify, Now, Reply, Write
from actors.plans.telegram_verdict import Meaning, Verdict
from actors.plans.thread_step import Scene, Step, ask_telegram, refused
from messages.target_provisioner import ProvisionTarget, ReplaceTarget, TargetProvisioned

SLOW_MS = 1_000
"""From here on a grant is worth an event."""

SLOTS_TAKEN = "26 processes have a thread already, and all of them may still be running. End one first."
UNCLEAR_CREATION = (
    "Telegram did not answer when a thread was being created, so there may be one. "
    "This waits for Telegram's word of it."
)


class Notice(enum.Enum):
    """What is said in the thread after the answer."""

    NOTHING = "nothing"
    CONNECTED = "connected"
    REPLACED = "replaced"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ThreadGrant:
    """One ProvisionTarget or ReplaceTarget under way, with everyone who waits for its result."""

    command_id: str
    command: ProvisionTarget | ReplaceTarget
    callers: tuple[tuple[str, str], ...]
    """(command id, instance id) of each; the last one is the live process."""
    began_at: int = 0
    awaiting: str | None = None
    thread_id: int | None = None
    thread_name: str = ""
    slot: str | None = None
    reused: bool = False
    notice: Notice = Notice.NOTHING

    @property
    def key(self) -> str:
        """The binding it works for."""
        return self.command.binding_key

    @property
    def instance_id(self) -> str:
        """The process that gets the thread."""
        return self.callers[-1][1]

    def joined(self, command_id: str, instance_id: str) -> Self:
        """With one more who gets the same result."""
        return dataclasses.replace(self, callers=(*self.callers, (command_id, instance_id)))

    # -- the end --------------------------------------------------------------------------------

    def _activate(self, action: str, before: Effects, scene: Scene, now: Now) -> Step:
        active = thread_rows.with_action(self._bound("active", scene, now), action)
        writes: list[Effect] = [*before, active]
        pending = scene.book.provision(self.key)
        if pending is not None:
            writes.append(thread_rows.creation_finished(pending.provision_id, scene.epoch))
        result = TargetProvisioned(
            chat_id=scene.chat_id,
            thread_id=self.thread_id,
            slot=self.slot or "",
            thread_name=self.thread_name,
            reused=self.reused,
        )
        elapsed = now.boot - self.began_at
        late: Effects = ()
        if elapsed >= SLOW_MS:
            slow = "bus.follower-register-critical"
            late = (self._event(slow, elapsedMs=elapsed, reused=self.reused),)
        return Step(None, (*writes, *self._answers(result), *self._first_words(scene), *late))

    def _bound(self, status: str, scene: Scene, now: Now) -> Write:
        return thread_rows.bound(
            status,
            binding_key=self.key,
            instance_id=self.instance_id,
            chat_id=scene.chat_id,
            thread_id=self._thread,
            thread_name=self.thread_name,
            slot=self.slot,
            epoch=scene.epoch,
            now=now.wall,
        )

    def _first_words(self, scene: Scene) -> Effects:
        if self.notice is Notice.NOTHING:
            return ()
        text = self._greeting()
        if self.notice is Notice.REPLACED:
            text = thread_texts.replaced(self.thread_name, self.slot)
        params = thread_texts.message(scene.chat_id, self._thread, text)
        return (ask_telegram(f"{self.command_id}/announce", "sendMessage", params),)

    def _greeting(self) -> str:
        place = self.command.place if isinstance(self.command, ProvisionTarget) else ""
        return thread_texts.connected(self.thread_name, self.slot, place)

    def _refuse_by(self, said: Verdict, scene: Scene, *effects: Effect) -> Step:
        text = thread_refusals.sentence(said, scene.chat_id)
        if said.meaning is Meaning.TOPICS_OFF:
            return self._refuse("topics-off", text, *effects)
        reason = "deposed" if said.meaning is Meaning.FENCED else "telegram"
        return self._refuse(reason, text, *effects)

    def _refuse(self, reason: str, text: str, *effects: Effect) -> Step:
        return Step(None, (*effects, *self._answers(refused(reason, text))))

    def _answers(self, body: Any) -> Effects:
        return tuple(Reply(command_id, body) for command_id, _ in self.callers)

    def _asked(self, purpose: str, method: str, params: dict[str, Any]) -> tuple[Self, Effect]:
        call_id = f"{self.command_id}/{purpose}"
        job = dataclasses.replace(self, awaiting=call_id)
        return job, ask_telegram(call_id, method, params)

    @property
    def _thread(self) -> int:
        assert self.thread_id is not None
        return self.thread_id

    def _event(self, action: str, level: str = "INFO", **fields: Any) -> Notify:
        known = {"instanceId": self.instance_id, "threadId": self.thread_id, **fields}
        return Notify(action, known, level)
