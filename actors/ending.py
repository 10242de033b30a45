"""The end of an instance in order: who may ask for it, and what is done within five seconds.

Answers under way come first, then the farewell in the thread, then the tree that both go through, then the
claims. What does not end in its time is left; nothing of it outlives the process.
"""

import asyncio
import contextlib
import math
import os
import signal
from typing import Any

from actors import instance_texts as texts
from actors.clock import wall_ms
from actors.end_signals import heeded
from actors.event_log import log_event
from actors.parts import Parts
from actors.reign import Reign
from actors.thread import CommitUnknown, ThreadError
from stores.errors import StoreError

WITHIN_S = 4.7
"""From the signal to the exit; five seconds are promised."""

SESSION_WITHIN_S = 3.6
FAREWELL_WITHIN_S = 0.8
TREE_WITHIN_S = 3.0
LAUNCHER_WITHIN_S = 0.4


class Ending:
    """Asked for once, then done in steps; the instance says when each step is due."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._signalled = asyncio.Event()
        self._until = math.inf

    # -- who asks -------------------------------------------------------------------------------

    def heed_signals(self) -> None:
        """From now on a signal asks for the end, and a second Ctrl-C has it at once."""
        loop = asyncio.get_running_loop()
        for number in heeded():
            loop.add_signal_handler(number, self._signal, number)

    def _signal(self, number: int) -> None:
        if self._signalled.is_set() and number == signal.SIGINT:
            # Asked twice: no order any more, but nothing is left behind either.
            self._parts.launcher.kill()
            os._exit(0)
        self._signalled.set()

    async def asked(self) -> None:
        """Returns when asked by a signal, by whoever types, or by the owner of the thread, who had it deleted."""
        parts = self._parts
        wishes: set[asyncio.Task[Any]] = {
            asyncio.create_task(self._signalled.wait()),
            asyncio.create_task(parts.session.left.wait()),
        }
        if parts.conversation is not None:
            parts.terminal.above = parts.conversation.console.write
            wishes.add(asyncio.create_task(parts.conversation.run()))
        try:
            done, _ = await asyncio.wait(wishes, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._count_down()
            await self._end_conversation()
            for wish in wishes:
                wish.cancel()
            await asyncio.gather(*wishes, return_exceptions=True)
        for wish in done:
            if not wish.cancelled() and wish.exception() is not None:
                # The terminal is gone, and whoever typed with it.
                log_event("instance.console_failed", "WARNING", text=repr(wish.exception()))

    async def _end_conversation(self) -> None:
        parts = self._parts
        if parts.conversation is None:
            return
        unsent = await parts.conversation.close()
        parts.terminal.above = None
        for excerpt in unsent:
            parts.terminal.tell(texts.NOT_SENT.format(excerpt=excerpt))

    # -- what is done ---------------------------------------------------------------------------

    async def end_session(self) -> None:
        """Answers under way, and the word in the thread that there will be no others."""
        self._count_down()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SESSION_WITHIN_S):
                await self._parts.session.close()
        await self._say_farewell()

    async def end_reign(self, reign: Reign) -> None:
        """The tree in order, then the lease, so that another process need not wait for it."""
        within = min(TREE_WITHIN_S, self._left())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within + 0.1):
                await reign.stop(int(within * 1_000))
        self._parts.lease.release(self._parts.owner, reign.record.epoch)

    async def end_claims(self) -> None:
        """Who this process was is free, and the launcher ends."""
        parts = self._parts
        parts.identities.release(parts.binding_key, parts.owner.instance_id, wall_ms())
        await parts.launcher.end(LAUNCHER_WITHIN_S)

    def _count_down(self) -> None:
        """From the first reason to end; a later one gives no more time."""
        self._until = min(self._until, asyncio.get_running_loop().time() + WITHIN_S)

    def _left(self) -> float:
        """Seconds until the launcher has to end as well."""
        return max(0.1, self._until - LAUNCHER_WITHIN_S - asyncio.get_running_loop().time())

    async def _say_farewell(self) -> None:
        """Once, if it can be: what is not said now is said when something waits for this process."""
        parts = self._parts
        if parts.session.left.is_set():
            return
        try:
            async with asyncio.timeout(min(FAREWELL_WITHIN_S, self._left())):
                await parts.thread.send(parts.farewell)
        except (CommitUnknown, TimeoutError):
            # It may be there, and is not said twice.
            pass
        except ThreadError as failure:
            log_event("instance.no_farewell", text=str(failure))
            return
        with contextlib.suppress(StoreError):
            parts.identities.record_farewell(
                parts.binding_key, parts.owner.instance_id, wall_ms()
            )
