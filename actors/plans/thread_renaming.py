"""How a thread gets another name: Telegram first, and only what Telegram did is written down."""

import dataclasses
from typing import Any

from actors.plans import thread_rows
from actors.plans.effects import Now, Reply
from actors.plans.telegram_verdict import Meaning, Verdict
from actors.plans.thread_step import Scene, Step, ask_telegram, refused
from messages.target_provisioner import TargetRenamed

NO_THREAD = "There is no such thread any more."
NAME_TAKEN = "Another thread is called {name}."


@dataclasses.dataclass(frozen=True)
class ThreadRenaming:
    """One RenameTarget."""

    command_id: str
    binding_key: str
    thread_name: str
    awaiting: str | None = None

    is_ready = False

    @classmethod
    def of(cls, envelope: Any) -> "ThreadRenaming":
        """From the command."""
        asked = envelope.body
        return cls(envelope.message_id, asked.binding_key, asked.thread_name.strip())

    @property
    def key(self) -> str:
        """The binding it works on."""
        return self.binding_key

    def begin(self, scene: Scene, now: Now) -> Step:
        """Ask Telegram, unless there is nothing to rename or the name would be mistaken for another's."""
        binding = scene.book.binding(self.key)
        if binding is None:
            return self._settle(refused("superseded", NO_THREAD))
        wanted = self.thread_name.casefold()
        if any(name.casefold() == wanted for name in scene.book.names_but(self.key)):
            return self._settle(refused("name-taken", NAME_TAKEN.format(name=self.thread_name)))
        if binding.thread_id is None:
            return self._renamed(scene, now)
        params = {
            "chat_id": binding.chat_id,
            "message_thread_id": binding.thread_id,
            "name": self.thread_name,
        }
        call_id = f"{self.command_id}/rename"
        job = dataclasses.replace(self, awaiting=call_id)
        return Step(job, (ask_telegram(call_id, "editForumTopic", params, resend=True),))

    def answered(self, said: Verdict, scene: Scene, now: Now) -> Step:
        """A name that it had already counts as given."""
        if said.meaning in (Meaning.DONE, Meaning.UNCHANGED):
            if scene.book.binding(self.key) is None:
                return self._settle(refused("superseded", NO_THREAD))
            return self._renamed(scene, now)
        reason = "deposed" if said.meaning is Meaning.FENCED else "telegram"
        return self._settle(refused(reason, said.text))

    def advance(self, scene: Scene, now: Now) -> Step:
        """It never goes on by itself."""
        return Step(self)

    def _renamed(self, scene: Scene, now: Now) -> Step:
        written = thread_rows.thread_renamed(self.key, self.thread_name, scene.epoch, now.wall)
        step = self._settle(TargetRenamed(thread_name=self.thread_name))
        return dataclasses.replace(step, effects=(written, *step.effects))

    def _settle(self, body: Any) -> Step:
        return Step(None, (Reply(self.command_id, body),))
