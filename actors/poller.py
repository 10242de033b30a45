"""The Poller: getUpdates, nothing else.

It promises that an offset is confirmed only after the inbox has stored what came before it, and that after
`PollingStopped` nothing is under way. What it decides is in `actors.plans.poller`, how a call is made in
`actors.bot_session`.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from actors.asyncio_actor import AsyncioActor
from actors.bot_session import BotSession
from actors.faults import fault
from actors.fence import LeaseFence
from actors.plans.call_result import CallResult, Ending
from actors.plans.election import PROOF_MS
from actors.plans.poller import QUIET_PROOFS, PollerPlan

CONNECTIONS = 2
"""One for the long poll, one for the next beside a connection that still closes."""


class PollerIo:
    """The long poll on the loop thread; at most one call at a time."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._fence = LeaseFence(settings)
        self._session = BotSession(settings, self._fence, CONNECTIONS)
        self._under_way: asyncio.Task[CallResult] | None = None

    async def open(self) -> None:
        """Without a pause, so that no poll comes before it is done."""
        self._fence.open()
        self._session.open()

    async def close(self) -> None:
        """Give up what is under way and close the connections."""
        await self.perform_abort()
        await self._session.close()
        self._fence.close()

    async def perform_get_updates(
        self, params: Mapping[str, Any], budget_s: float
    ) -> CallResult:
        """Poll once."""
        fault("poller.before-poll")
        end = await self._abortable("getUpdates", params, budget_s)
        if end.ending is Ending.ANSWERED and end.result:
            fault("poller.after-poll")
        return end

    async def perform_prove(self, params: Mapping[str, Any], budget_s: float) -> CallResult:
        """Poll once to find out whether anybody else does."""
        return await self._abortable("getUpdates", params, budget_s)

    async def perform_abort(self) -> None:
        """Give up what is under way; its connection is closed when this returns."""
        if self._under_way is not None:
            self._under_way.cancel()
            await asyncio.wait({self._under_way})

    async def _abortable(
        self, method: str, params: Mapping[str, Any], budget_s: float
    ) -> CallResult:
        call = asyncio.create_task(self._session.call(method, params, budget_s))
        self._under_way = call
        try:
            await asyncio.wait({call})
        finally:
            self._under_way = None
        if call.cancelled():
            return CallResult(Ending.UNCLEAR, description="It was given up.")
        return call.result()


class Poller(AsyncioActor):
    """The actor."""

    def first_plan(self, settings: Mapping[str, Any]) -> PollerPlan:
        """Stopped, until the Leader says otherwise."""
        proof_ms = settings.get("proof_ms", PROOF_MS)
        return PollerPlan(key=self.key, quiet_ms=proof_ms * QUIET_PROOFS)

    def make_io(self, settings: Mapping[str, Any]) -> PollerIo:
        """The long poll."""
        return PollerIo(settings)
