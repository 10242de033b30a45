"""What is typed in the console goes to the thread: in order, once, and with a word where it did not.

It waits for a leader as long as it takes. A message that may have been sent is not sent again. What is
not sent when the process ends is told: nobody else keeps it.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from actors import instance_texts as texts
from actors.outbox import Outbox
from actors.plans.output import clip, split
from actors.thread import CallRefused, CommitUnknown, Thread

SETTLE_GRACE_S = 0.5
"""How long what is under way may take when the process ends."""

PATIENCE_S = 3.0
"""After this long it is said that what was typed waits."""

_EXCERPT_UNITS = 40


class Console(Protocol):
    """The terminal, as far as it is typed in."""

    async def converse(self, typed: Callable[[str], None]) -> None:
        """Hand over what is typed until the end."""

    async def leave(self) -> None:
        """End the typing."""

    def write(self, line: str) -> None:
        """Print a line above what is being typed."""


class Conversation:
    """Runs until the console ends; `close` sends what can still be sent."""

    def __init__(self, console: Console, thread: Thread) -> None:
        self.console = console
        self._outbox = Outbox(thread)
        self._typed: asyncio.Queue[str] = asyncio.Queue()
        self._unsent: list[str] = []
        self._sender: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Let people type."""
        self._sender = asyncio.create_task(self._send_all())
        await self.console.converse(self._take)

    async def close(self) -> tuple[str, ...]:
        """End the typing; returns the beginnings of what could not be sent any more."""
        await self.console.leave()
        if self._sender is not None:
            waiting = asyncio.create_task(self._typed.join())
            await asyncio.wait({waiting}, timeout=SETTLE_GRACE_S)
            for task in (waiting, self._sender):
                task.cancel()
            await asyncio.gather(waiting, self._sender, return_exceptions=True)
        return tuple(clip(text, _EXCERPT_UNITS) for text in self._unsent)

    def _take(self, text: str) -> None:
        for part in split(text.strip("\n")):
            self._unsent.append(part)
            self._typed.put_nowait(part)

    async def _send_all(self) -> None:
        while True:
            part = await self._typed.get()
            patience = asyncio.get_running_loop().call_later(
                PATIENCE_S, self.console.write, texts.TYPED_WAITS
            )
            try:
                await self._outbox.send(part)
            except CommitUnknown:
                self.console.write(texts.TYPED_UNCLEAR.format(excerpt=clip(part, _EXCERPT_UNITS)))
            except CallRefused as refused:
                self.console.write(texts.TYPED_REFUSED.format(reason=refused.description))
            finally:
                patience.cancel()
            # Settled either way; what is cut off by the end stays among the unsent.
            self._unsent.pop(0)
            self._typed.task_done()
