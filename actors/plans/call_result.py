"""How one call of the Bot API ended, as far as it can be known on this side of the connection.

The transport (`actors.bot_session`) tells it; the plans of the gateway and the poller judge it. What
matters most is whether the request was written: what was not written did not happen, and what was written
and never answered may have.
"""

import dataclasses
import enum
from typing import Any


class Ending(enum.Enum):
    """The ways in which a call can end."""

    ANSWERED = "answered"  # Telegram did it
    REJECTED = "rejected"  # Telegram said no, and will say so again
    FLOOD = "flood"  # 429: not now
    UNAUTHORIZED = "unauthorized"  # the token is refused, missing, or another bot's
    UNSENT = "unsent"  # nothing was written: it did not happen
    UNCLEAR = "unclear"  # it was written, and no usable answer came: it may have happened
    DEPOSED = "deposed"  # nothing was written: another instance leads
    LATE = "late"  # nothing was written: our own lease was not refreshed for too long


@dataclasses.dataclass(frozen=True, slots=True)
class CallResult:
    """One ended call; `description` has Telegram's own words, or ours where it said none."""

    ending: Ending
    result: Any = None
    description: str = ""
    error_code: int | None = None
    retry_after: int | None = None


NO_TOKEN = "There is no token of this bot."
TOKEN_OF_ANOTHER_BOT = "The token belongs to another bot."
"""Descriptions of ours where Telegram was not asked at all."""


def is_news(value: CallResult, refused: bool, refused_as: str) -> bool:
    """Whether a refused token is to be told: the first time, and when there is another reason."""
    return not refused or (value.description == TOKEN_OF_ANOTHER_BOT) != (
        refused_as == TOKEN_OF_ANOTHER_BOT
    )


RETRY_SAFE = frozenset(
    {
        "answerCallbackQuery",
        "closeForumTopic",
        "deleteForumTopic",
        "deleteMessage",
        "deleteMessages",
        "deleteWebhook",
        "editForumTopic",
        "editMessageCaption",
        "editMessageReplyMarkup",
        "editMessageText",
        "getChat",
        "getFile",
        "getMe",
        "getUpdates",
        "sendChatAction",
        "sendMessageDraft",
        "sendRichMessageDraft",
        "setMyCommands",
    }
)
"""Methods that do no harm when they happen twice."""
