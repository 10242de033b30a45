"""What a process runs behind its thread: one mode a file, driven by the session all in one way."""

import dataclasses
from collections.abc import Callable
from typing import Protocol

from actors.plans.session_events import Traits

Show = Callable[[Callable[[], str]], None]
"""Tells that a run has more to show; the argument gives the text when it is drawn."""


class NotStarted(Exception):
    """The mode could not begin; nothing was executed, so it may be tried again."""


class Interrupted(Exception):
    """The run was ended because this process ends."""


@dataclasses.dataclass(frozen=True, slots=True)
class Prompt:
    """What the owner asks for."""

    token: str
    """Names the delivery, the same in every try."""

    text: str
    remark: str = ""
    """What came with the text: `photo`, `voice message`, or that it is `edited`."""

    sent_at: int | None = None
    """When it was sent, in milliseconds, where that is known."""


class Mode(Protocol):
    """One way to answer prompts; the session calls `run` for one prompt at a time."""

    traits: Traits

    async def run(self, prompt: Prompt, show: Show) -> tuple[str, ...]:
        """Answer a prompt; returns the messages of the answer.

        Raises NotStarted or Interrupted; any other error means that it broke in the middle.
        """

    def stop(self) -> None:
        """End the present run soon; its `run` returns what there is."""

    async def clear(self, token: str) -> None:
        """End what is left of a run by a process that was killed."""

    async def close(self) -> None:
        """End the present run within four seconds and start no other."""
