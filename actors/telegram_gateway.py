"""The TelegramGateway: every Bot API call but getUpdates.

It promises that a call goes out only while this instance leads, that each chat stays within its rate, and
that a call which may have happened is never repeated where that would show. What it decides is in
`actors.plans.telegram_gateway`, how a call is made in `actors.bot_session`.
"""

from collections.abc import Mapping
from typing import Any

from actors.asyncio_actor import AsyncioActor
from actors.bot_session import BotSession, is_loopback
from actors.fence import LeaseFence
from actors.plans.call_queue import CONNECTIONS, CallQueue
from actors.plans.call_result import CallResult
from actors.plans.telegram_gateway import TelegramGatewayPlan


class GatewayIo:
    """Calls on the loop thread."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._fence = LeaseFence(settings)
        places = ("gateway.before-write", "gateway.after-write")
        self._session = BotSession(settings, self._fence, CONNECTIONS, places)

    async def open(self) -> None:
        """Without a pause, so that no call comes before it is done."""
        self._fence.open()
        self._session.open()

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()
        self._fence.close()

    async def perform_call(self, method: str, params: Mapping[str, Any]) -> CallResult:
        """Call once."""
        return await self._session.call(method, params)


class TelegramGateway(AsyncioActor):
    """The actor."""

    def first_plan(self, settings: Mapping[str, Any]) -> TelegramGatewayPlan:
        """Nothing waits; the rates depend on whose server it is."""
        queue = CallQueue(local=is_loopback(settings.get("api_root")))
        return TelegramGatewayPlan(queue=queue, key=self.key)

    def make_io(self, settings: Mapping[str, Any]) -> GatewayIo:
        """The calls."""
        return GatewayIo(settings)
