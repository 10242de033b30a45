"""What the Bot API says when it refuses: code, exact description, parameters.

The descriptions are Telegram's own words, so that whoever matches on them meets the same ones here.
"""

from __future__ import annotations

from typing import Any

EDIT_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same"
    " as a current content and reply markup of the message"
)
QUERY_TOO_OLD = "query is too old and response timeout expired or query ID is invalid"

_PREFIXES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    413: "Request Entity Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
}


class BotApiError(Exception):
    """An answer with ok=false."""

    def __init__(
        self, code: int, description: str, parameters: dict[str, Any] | None = None
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters or {}

    def answer(self) -> dict[str, Any]:
        """The body of the answer."""
        body: dict[str, Any] = {
            "ok": False,
            "error_code": self.code,
            "description": self.description,
        }
        if self.parameters:
            body["parameters"] = self.parameters
        return body


def bad_request(text: str) -> BotApiError:
    """A 400; codes in capitals stay as they are, sentences begin in lower case."""
    if len(text) > 1 and not (text[1].isupper() or text[1] == "_"):
        text = text[0].lower() + text[1:]
    return BotApiError(400, f"Bad Request: {text}")


def default_description(code: int) -> str:
    """What stands in an answer of this code when nothing more is known."""
    return _PREFIXES.get(code, "Bad Request" if code < 500 else "Internal Server Error")


def too_many_requests(retry_after: int) -> BotApiError:
    return BotApiError(
        429,
        f"Too Many Requests: retry after {retry_after}",
        {"retry_after": retry_after},
    )


def unauthorized() -> BotApiError:
    return BotApiError(401, "Unauthorized")


def not_found() -> BotApiError:
    return BotApiError(404, "Not Found")


def method_not_found() -> BotApiError:
    return BotApiError(404, "Not Found: method not found")


def too_large() -> BotApiError:
    return BotApiError(413, "Request Entity Too Large")


def webhook_is_active() -> BotApiError:
    return BotApiError(
        409,
        "Conflict: can't use getUpdates method while webhook is active; "
        "use deleteWebhook to delete the webhook first",
    )


def other_poll() -> BotApiError:
    return BotApiError(
        409,
        "Conflict: terminated by other getUpdates request; "
        "make sure that only one bot instance is running",
    )


def webhook_was_set() -> BotApiError:
    return BotApiError(409, "Conflict: terminated by setWebhook request")


def restarting() -> BotApiError:
    return BotApiError(500, "Internal Server Error: restart")
