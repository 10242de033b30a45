"""A thread of one chat, kept in memory: what is in it, what was asked of it, and how calls fail."""

import dataclasses
from collections.abc import Sequence

from actors.thread import Button, CommitUnknown, ThreadError


@dataclasses.dataclass
class Message:
    """One message of ours."""

    message_id: int
    text: str
    reply_to: int | None
    buttons: tuple[Button, ...]


class ScriptedThread:
    """Implements `actors.thread.Thread`; `failures` are raised by the next calls of that name.

    A CommitUnknown("arrived") is raised after the call had its effect.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.calls: list[str] = []
        self.answered: list[tuple[str, str | None]] = []
        self.failures: dict[str, list[ThreadError]] = {}

    @property
    def texts(self) -> list[str]:
        """What stands in the thread."""
        return [message.text for message in self.messages]

    def button(self, label: str) -> tuple[int, str]:
        """The message and the data of the newest button of this label."""
        return next(
            (message.message_id, button.data)
            for message in reversed(self.messages)
            for button in message.buttons
            if button.label == label
        )

    async def send(
        self, text: str, *, reply_to: int | None = None, buttons: Sequence[Button] | None = None
    ) -> int:
        """Add a message."""
        failure = self._failure("send")
        message = Message(len(self.messages) + 1_000, text, reply_to, tuple(buttons or ()))
        if failure is None or str(failure) == "arrived":
            self.messages.append(message)
        if failure is not None:
            raise failure
        return message.message_id

    async def edit(
        self, message_id: int, text: str, buttons: Sequence[Button] | None = None
    ) -> None:
        """Change a message."""
        failure = self._failure("edit")
        if failure is not None:
            raise failure
        message = next(one for one in self.messages if one.message_id == message_id)
        message.text, message.buttons = text, tuple(buttons or ())

    async def typing(self) -> None:
        """Nothing is kept of it."""
        self._failure("typing")

    async def leave(self) -> None:
        """The thread is gone, unless the test says otherwise."""
        failure = self._failure("leave")
        if failure is not None:
            raise failure

    async def answer_callback(self, callback_id: str, text: str | None = None) -> None:
        """Keep the answer."""
        failure = self._failure("answer_callback")
        if failure is not None:
            raise failure
        self.answered.append((callback_id, text))

    def _failure(self, call: str) -> ThreadError | None:
        self.calls.append(call)
        failures = self.failures.get(call)
        return failures.pop(0) if failures else None


ARRIVED = CommitUnknown("arrived")
"""The message is in the thread, and nobody knows."""

VANISHED = CommitUnknown("vanished")
"""The message is not in the thread, and nobody knows."""
