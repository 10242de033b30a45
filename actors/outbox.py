"""What the session sends: waits for a leader as long as it takes, and repeats only what may be
repeated.

A call that nobody leads for was not sent, so it waits and is tried again. A message that may have
been sent is never sent again here. Edits and the answers to buttons have the same effect twice, so
they are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from actors.plans.session_effects import RETRY_WAITS_MS
from actors.thread import Button, CallRefused, CommitUnknown, LeaderUnavailable, Thread

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

UNAVAILABLE_PAUSE = 0.25
"""Seconds between tries while the thread says that nobody leads and nobody told us to wait."""


class Outbox:
    """The thread, behind a gate that is closed while nobody leads."""

    def __init__(self, thread: Thread, sleep: Sleep = asyncio.sleep) -> None:
        self.thread = thread
        self._sleep = sleep
        self._open = asyncio.Event()
        self._open.set()

    def pause(self) -> None:
        """The leader is lost: hold everything back."""
        self._open.clear()

    def resume(self) -> None:
        """A leader is back."""
        self._open.set()

    @property
    def is_open(self) -> bool:
        """Whether somebody leads, as far as is known."""
        return self._open.is_set()

    async def send(
        self, text: str, *, reply_to: int | None = None, buttons: Sequence[Button] | None = None
    ) -> int:
        """Send once; raises CommitUnknown and CallRefused."""
        return await self._available(
            lambda: self.thread.send(text, reply_to=reply_to, buttons=buttons)
        )

    async def edit(
        self, message_id: int, text: str, buttons: Sequence[Button] | None = None
    ) -> None:
        """Edit until it is surely done; raises CallRefused, and CommitUnknown after many tries."""
        await self._repeated(lambda: self.thread.edit(message_id, text, buttons))

    async def answer_callback(self, callback_id: str, text: str | None) -> None:
        """Answer a pressed button; raises CallRefused, and CommitUnknown after many tries."""
        await self._repeated(lambda: self.thread.answer_callback(callback_id, text))

    async def leave(self) -> None:
        """Have the thread deleted; raises CommitUnknown and CallRefused."""
        await self._available(self.thread.leave)

    async def say(
        self, text: str, *, reply_to: int | None = None, buttons: Sequence[Button] | None = None
    ) -> bool:
        """Send what nobody needs to be told twice; False when it was refused again and again."""
        for wait_ms in (*RETRY_WAITS_MS, None):
            try:
                await self.send(text, reply_to=reply_to, buttons=buttons)
                return True
            except CommitUnknown:
                return True
            except CallRefused:
                if wait_ms is not None:
                    await self._sleep(wait_ms / 1_000)
        return False

    async def _repeated(self, call: Callable[[], Awaitable[T]]) -> T:
        for wait_ms in RETRY_WAITS_MS:
            try:
                return await self._available(call)
            except CommitUnknown:
                await self._sleep(wait_ms / 1_000)
        return await self._available(call)

    async def _available(self, call: Callable[[], Awaitable[T]]) -> T:
        while True:
            await self._open.wait()
            try:
                return await call()
            except LeaderUnavailable:
                await self._sleep(UNAVAILABLE_PAUSE)
