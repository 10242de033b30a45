"""The one message that shows a run while it goes on.

Drawing it is worth little, so nothing here waits for a leader and nothing is tried twice at once:
the next drawing carries everything that this one missed. What matters is known at the end: which
message there is, what it shows, and whether there may be one that we do not know of.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Self

from actors.outbox import Outbox
from actors.plans.effects import Now
from actors.plans.pace import Act, Pace
from actors.thread import CallRefused, CommitUnknown, LeaderUnavailable, ThreadError


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """What a run left in the thread before its answer."""

    message_id: int | None = None
    text: str | None = None
    """What the message shows, None when that is not known."""

    doubtful: str | None = None
    """The text of a message that may have been sent or not; then nothing was drawn any more."""


class LiveMessage:
    """Draws a run at the pace of `Pace`; used as an asynchronous context around the run."""

    def __init__(
        self,
        outbox: Outbox,
        clock: Callable[[], Now],
        reply_to: int | None,
        on_silent: Callable[[], object],
    ) -> None:
        self._outbox = outbox
        self._clock = clock
        self._reply_to = reply_to
        self._on_silent = on_silent
        self._text: Callable[[], str] = str
        self._pace = Pace(output_at=clock().boot)
        self._changed = asyncio.Event()
        self._over = False
        self._drawing: asyncio.Task[None] | None = None
        self.shown = Shown()

    async def __aenter__(self) -> Self:
        self._drawing = asyncio.create_task(self._draw_until_over())
        return self

    async def __aexit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Wait for a call that is under way: it cannot be taken back, and its end must be known."""
        self._over = True
        self._changed.set()
        if self._drawing is not None:
            if error is asyncio.CancelledError:
                self._drawing.cancel()
            await asyncio.gather(self._drawing, return_exceptions=error is not None)

    def show(self, text: Callable[[], str]) -> None:
        """There is more output; `text` gives what to show when it is drawn."""
        self._text = text
        self._pace = self._pace.on_output(self._clock().boot)
        self._changed.set()

    async def _draw_until_over(self) -> None:
        while not self._over:
            self._changed.clear()
            self._pace, acts = self._pace.step(self._clock().boot)
            for act in acts:
                match act:
                    case Act.DRAW:
                        await self._draw()
                    case Act.TYPE:
                        await _attempted(self._outbox.thread.typing)
                    case Act.ASK:
                        self._on_silent()
            wait = (self._pace.next_at() - self._clock().boot) / 1_000
            if wait > 0 and not self._over:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), wait)

    async def _draw(self) -> None:
        text = self._text()
        if not text.strip() or text == self.shown.text or self.shown.doubtful is not None:
            return
        if not self._outbox.is_open:
            self._pace = self._pace.on_missed()
            return
        try:
            if self.shown.message_id is None:
                sent = await self._outbox.thread.send(text, reply_to=self._reply_to)
                self.shown = Shown(message_id=sent, text=text)
            else:
                await self._outbox.thread.edit(self.shown.message_id, text)
                self.shown = dataclasses.replace(self.shown, text=text)
        except LeaderUnavailable:
            self._pace = self._pace.on_missed()
        except CommitUnknown:
            if self.shown.message_id is None:
                self.shown = Shown(doubtful=text)
            else:
                self.shown = dataclasses.replace(self.shown, text=None)
                self._pace = self._pace.on_missed()
        except CallRefused:
            self._pace = self._pace.on_refused(self._clock().boot)


async def _attempted(call: Callable[[], Awaitable[None]]) -> None:
    """Do what is worth one try."""
    with contextlib.suppress(ThreadError):
        await call()
