"""Questions about a bot whose token is not kept yet: who it is, and what stands in its way."""

import asyncio
import dataclasses
from typing import Any

from actors.bot_session import BotSession
from actors.plans.call_result import CallResult, Ending
from stores.home import Home
from stores.token_variables import keep

ANSWER_WITHIN_S = 15.0
LOOK_EVERY_S = 2.0
_CHECKED = "SWITCHBOARD_CHECKED_TOKEN"


class TokenRefused(Exception):
    """Telegram does not know this token."""


class TelegramUnreachable(Exception):
    """There was no answer; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class BotIdentity:
    """What a bot tells about itself."""

    username: str
    topics: bool

    @property
    def shown(self) -> str:
        """As people know it."""
        return f"@{self.username}"


class BotCheck:
    """Asks as the bot, without leading it: nothing asked here changes what a leader does."""

    def __init__(self, home: Home, token: str, api_root: str | None) -> None:
        keep(_CHECKED, token)
        self._settings = {
            "home": str(home.path),
            "bot_id": int(token.partition(":")[0]),
            "api_root": api_root,
            "token_variable": _CHECKED,
        }

    def identity(self) -> BotIdentity:
        """Who it is; raises TokenRefused and TelegramUnreachable."""
        return asyncio.run(self._alone(self._identity))

    def webhook(self) -> str:
        """Where its updates are sent, empty when they wait for a reader."""
        return asyncio.run(self._alone(self._webhook))

    def delete_webhook(self) -> None:
        """Let its updates wait for a reader, those included that wait already."""
        asyncio.run(self._alone(self._delete_webhook))

    def wait_for_topics(self) -> None:
        """Return once Threaded Mode is on."""
        asyncio.run(self._alone(self._wait_for_topics))

    async def _identity(self, session: BotSession) -> BotIdentity:
        bot = await _asked(session, "getMe")
        return BotIdentity(str(bot.get("username", "")), bool(bot.get("has_topics_enabled")))

    async def _webhook(self, session: BotSession) -> str:
        return str((await _asked(session, "getWebhookInfo")).get("url") or "")

    async def _delete_webhook(self, session: BotSession) -> None:
        await session.call("deleteWebhook", {"drop_pending_updates": False}, ANSWER_WITHIN_S)

    async def _wait_for_topics(self, session: BotSession) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            end = await session.call("getMe", {}, ANSWER_WITHIN_S)
            if end.ending is Ending.ANSWERED and end.result.get("has_topics_enabled"):
                return

    async def _alone(self, question: Any) -> Any:
        session = BotSession(self._settings, lambda: None, connections=1)
        session.open()
        try:
            return await question(session)
        finally:
            await session.close()


async def _asked(session: BotSession, method: str) -> dict[str, Any]:
    end: CallResult = await session.call(method, {}, ANSWER_WITHIN_S)
    if end.ending is Ending.UNAUTHORIZED:
        raise TokenRefused
    if end.ending is not Ending.ANSWERED or not isinstance(end.result, dict):
        raise TelegramUnreachable(end.description)
    return end.result
