"""What the jobs of the TargetProvisioner are given and give back."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from actors.plans.effects import Effects, Now, Send
from actors.plans.slots import free_slot, longest_inactive
from actors.plans.telegram_verdict import Verdict
from actors.plans.thread_book import ThreadBook
from actors.plans.thread_rows import slot_taken_away
from messages.target_provisioner import TargetRefused
from messages.telegram_gateway import CallTelegram

CALL_DEADLINE_MS = 20_000


def is_group(chat_id: int) -> bool:
    """Whether the chat is a supergroup; only there a thread can be closed."""
    return chat_id < 0


@dataclasses.dataclass(frozen=True)
class Scene:
    """The world of one decision: the rows, and what the provisioner itself knows."""

    book: ThreadBook
    chat_id: int
    epoch: int
    busy: Collection[str] = ()
    """Binding keys with a job of their own."""
    unclear: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Binding key -> the instance whose probing message may have arrived."""

    def claim_slot(
        self, binding_key: str, preferred: str | None, now: Now
    ) -> tuple[str, Effects] | None:
        """A letter for this key and what must be written to have it; None when all are in use.

        When none is free the binding that lost its process the longest time ago loses its letter too; it
        keeps its thread, and gets another letter when it comes back.
        """
        others = [one for one in self.book.bindings if one.binding_key != binding_key]
        unavailable = self.book.slots_of_creations_but(binding_key)
        occupied = unavailable | {one.slot for one in others if one.slot is not None}
        slot = free_slot(occupied, preferred, self.book.last_slot)
        if slot is not None:
            return slot, ()
        # One that is coming back just now is no loser, whatever its row says.
        idle = [one for one in others if one.binding_key not in self.busy]
        loser = longest_inactive(idle, now.wall, unavailable)
        if loser is None or loser.slot is None:
            return None
        return loser.slot, (slot_taken_away(loser.binding_key, self.epoch, now.wall),)


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a job: the job as it goes on, None when it is settled, and the effects."""

    job: "Job | None"
    effects: Effects = ()
    done: bool = True
    """Of a settled removal: whether its intent is settled as well."""
    unclear: str | None = None
    """The instance whose probing message may have arrived."""


class Job(Protocol):
    """One piece of work on one binding; a binding has one at a time."""

    @property
    def key(self) -> str:
        """The binding key."""

    @property
    def awaiting(self) -> str | None:
        """The id of the call that it waits for."""

    @property
    def is_ready(self) -> bool:
        """Whether it goes on without hearing anything."""

    def begin(self, scene: Scene, now: Now) -> Step:
        """The first step."""

    def answered(self, said: Verdict, scene: Scene, now: Now) -> Step:
        """The call was answered, or never will be."""

    def advance(self, scene: Scene, now: Now) -> Step:
        """The next step of one that is ready."""


def ask_telegram(
    call_id: str, method: str, params: dict[str, Any], *, resend: bool = False
) -> Send:
    """Have the gateway call Telegram.

    Only what may happen twice is said again to a gateway that was replaced.
    """
    call = CallTelegram(method=method, params=params, priority="control")
    return Send("telegram_gateway", call, call_id, CALL_DEADLINE_MS, resend)


def refused(reason: str, text: str) -> TargetRefused:
    """The answer that says no."""
    return TargetRefused(reason=reason, text=text or "Telegram was not to be reached.")
