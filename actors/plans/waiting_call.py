"""One call of the Bot API on its way through the gateway, and which other calls it must not pass.

Calls that touch the same thing share a *lane*, and of a lane at most one is under way: two messages to one
thread keep their order, and an edit never overtakes the edit before it. Different lanes go in parallel.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from messages.telegram_gateway import PRIORITIES

RANK: Mapping[str, int] = {priority: rank for rank, priority in enumerate(PRIORITIES)}

ANSWER_MARGIN_MS = 300
"""A call that can no longer go is answered this long before its deadline, so that the answer is heard."""

Lane = tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that was accepted and has not ended; `command_id` is None for one of the gateway's own."""

    call_id: str
    command_id: str | None
    method: str
    params: Mapping[str, Any]
    priority: str
    number: int
    deadline: int | None = None
    attempts: int = 0
    floods: int = 0
    not_before: int = 0

    @property
    def chat(self) -> str:
        """The chat whose budget it needs, empty for none; an id is the same as number and as text."""
        chat = self.params.get("chat_id")
        return "" if chat is None else str(chat).strip()

    @property
    def thread(self) -> str:
        """The thread it names, empty for none."""
        thread = self.params.get("message_thread_id")
        return "" if thread is None else str(thread)

    @property
    def lane(self) -> Lane:
        """What it shares with the calls that it must not pass; empty when order does not matter."""
        message = self.params.get("message_id")
        if message is not None:
            return ("message", self.chat, str(message))
        if self.priority == "typing":
            return ("typing", self.chat, self.thread)
        # A control answer does not wait until Telegram has taken a final one, hence the priority.
        return ("thread", self.chat, self.thread, self.priority) if self.chat else ()

    @property
    def order(self) -> tuple[int, int]:
        """Who goes first."""
        return RANK[self.priority], self.number

    @property
    def is_cheap(self) -> bool:
        """Whether it may be shed."""
        return self.priority in ("edit", "typing")

    def supersedes(self, other: "WaitingCall") -> bool:
        """Whether `other`, which came before, need not happen any more."""
        return (
            other.priority == "edit"
            and self.lane == other.lane
            and self.lane[:1] == ("message",)
            and self.method in (other.method, "deleteMessage")
        )

    @property
    def gives_up_at(self) -> int | None:
        """From when on nobody will listen to its answer any more."""
        return None if self.deadline is None else self.deadline - ANSWER_MARGIN_MS

    def is_over(self, now: int) -> bool:
        """Whether it waited too long."""
        return self.gives_up_at is not None and now >= self.gives_up_at
