"""What the TelegramGateway is asked and answers: every Bot API call but getUpdates."""

from typing import Any

from marshmallow import fields, validate

from messages.kind import message, said

PRIORITIES = ("final", "control", "edit", "typing")
"""Who goes first within the rate budget of a chat; `edit` and `typing` may be shed."""

OUTCOMES = (
    "rejected",  # Telegram said no: nothing happened
    "commit-unknown",  # the request was written, its answer never came: it may have happened
    "unavailable",  # it was not sent: no connection, or the time was over while it waited
    "fenced",  # it was not sent: this instance no longer leads
    "shed",  # it was not sent: the budget went to something more important
    "unauthorized",  # Telegram refused the token
)


@message("CallTelegram")
class CallTelegram:
    """Call one Bot API method once, or until it is known to have happened where that is safe."""

    method: str = said(fields.String(validate=validate.Length(1, 64)), "Bot API method")
    params: dict = said(fields.Dict(keys=fields.String()), "its parameters, plain JSON")
    priority: str = said(fields.String(validate=validate.OneOf(PRIORITIES)), "rank in the budget")


@message("TelegramAnswered")
class TelegramAnswered:
    """Telegram did it."""

    result: Any = said(fields.Raw(allow_none=True), "the `result` of the Bot API answer")


@message("TelegramRefused")
class TelegramRefused:
    """It did not happen, or may have; `outcome` says which."""

    outcome: str = said(fields.String(validate=validate.OneOf(OUTCOMES)), "see OUTCOMES")
    description: str = said(fields.String(), "Telegram's words, or ours where it said none")
    error_code: int | None = said(fields.Integer(strict=True), "HTTP status if known", default=None)
    retry_after: int | None = said(fields.Integer(strict=True), "seconds asked for by a 429", default=None)


@message("TokenRefused")
class TokenRefused:
    """To the Leader: Telegram answers 401."""

    description: str = said(fields.String(), "Telegram's words")


@message("TokenAccepted")
class TokenAccepted:
    """To the Leader: a call succeeded after the token had been refused."""
