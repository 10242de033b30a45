"""The Telegram thread of this process, as the session behind it sees it.

The follower gives it: calls go over the bus to whoever leads. A call ends in one of four ways, and
the caller must tell them apart, because only some of them may be tried again.
"""

import dataclasses
from collections.abc import Sequence
from typing import Protocol


class ThreadError(Exception):
    """A call to the thread did not end well."""


class LeaderUnavailable(ThreadError):
    """Nobody leads, or we are not registered: nothing was sent, the call may be repeated."""


class CommitUnknown(ThreadError):
    """The call may have had its effect or not: a message is never sent again unasked."""


class CallRefused(ThreadError):
    """Telegram or the leader refused the call: it had no effect."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


@dataclasses.dataclass(frozen=True, slots=True)
class Button:
    """One button under a message; `data` comes back in the callback, at most 64 bytes."""

    label: str
    data: str


class Thread(Protocol):
    """What can be done in the thread. Every method raises one of the three errors above."""

    async def send(
        self, text: str, *, reply_to: int | None = None, buttons: Sequence[Button] | None = None
    ) -> int:
        """Send a message, with its buttons in one row; returns its message id."""

    async def edit(
        self, message_id: int, text: str, buttons: Sequence[Button] | None = None
    ) -> None:
        """Replace the text and the buttons of a message; the same ones again are no error."""

    async def typing(self) -> None:
        """Show that something is being done; shown for about five seconds."""

    async def leave(self) -> None:
        """Have the thread deleted, with everything in it; this process asks for no other."""

    async def answer_callback(self, callback_id: str, text: str | None = None) -> None:
        """End the waiting of a pressed button, with a short text if there is something to say."""
