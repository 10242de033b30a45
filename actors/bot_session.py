"""What the gateway and the poller share: Bot API calls over python-telegram-bot, each behind the fence.

A session belongs to the loop thread that opens it. Results come back as Telegram sent them, refusals with
Telegram's own words (the library lower-cases some). Of a failure it says whether the request had been
written. The token is read here, by itself and again when its file changed, and never leaves: descriptions
are free of it, and the libraries that log whole addresses are silenced.
"""

import asyncio
import contextlib
import contextvars
import dataclasses
import ipaddress
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio._backends._asyncio  # noqa: F401
import httpcore  # noqa: F401
import httpx
from telegram import Bot
from telegram.error import TelegramError
from telegram.request import HTTPXRequest

from actors.clock import boot_ms
from actors.event_log import is_debugging, redact, redacted
from actors.faults import fault
from actors.fence import Fence
from actors.plans.call_result import NO_TOKEN, TOKEN_OF_ANOTHER_BOT, CallResult, Ending
from stores.config import Config
from stores.errors import StoreError
from stores.home import Home
from stores.token_variables import variables

# anyio and httpcore are named above because httpx imports them with its first request, which after a
# takeover is the first poll; here the launcher does it, long before.

PUBLIC_API_ROOT = "https://api.telegram.org"
CONNECT_S = 5.0
READ_S = 20.0
KEEP_IDLE_S = 30.0
"""Shorter than servers keep an idle connection: one that closes under a request leaves it unclear."""
REFUSED_TOKEN_MS = 30_000
"""A refused token is shown to Telegram again only after this time, unless its file changed."""


def read_token(settings: Mapping[str, Any]) -> str:
    """The token of this bot, empty when there is none; raises OSError or StoreError."""
    path = token_path(settings)
    if settings.get("practice"):
        return path.read_text("ascii", "replace").strip()
    if settings.get("token_variable"):
        # It was given, and nothing of it is to be remembered.
        return variables().get(settings["token_variable"], "")
    bot = Config(path).bot(settings["bot_name"])
    return (bot.resolved_token() or "") if bot is not None else ""


def token_path(settings: Mapping[str, Any]) -> Path:
    """The file that holds the token."""
    home = Home(settings["home"])
    return home.practice / "token" if settings.get("practice") else home.config


def is_loopback(api_root: str | None) -> bool:
    """Whether this Bot API server is on this machine."""
    host = urlsplit(api_root or PUBLIC_API_ROOT).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclasses.dataclass(slots=True)
class _Attempt:
    """One call on its way, as the hooks of the HTTP client see it."""

    written: bool = False
    retry_after: str | None = None


_attempt: contextvars.ContextVar[_Attempt] = contextvars.ContextVar("attempt")


class CallEnded(TelegramError):
    """Carries the end of a call through the library, which lets errors of its own kind pass."""

    def __init__(self, result: CallResult) -> None:
        super().__init__(result.ending.value)
        self.result = result


class FencedRequest(HTTPXRequest):
    """The library's HTTP client, with the fence as the last step before a request is written."""

    def __init__(
        self, fence: Fence, api_root: str, connections: int, places: tuple[str, str]
    ) -> None:
        limits = httpx.Limits(
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=KEEP_IDLE_S,
        )
        super().__init__(
            read_timeout=READ_S,
            write_timeout=READ_S,
            connect_timeout=CONNECT_S,
            pool_timeout=CONNECT_S,
            httpx_kwargs={
                "limits": limits,
                "event_hooks": {"request": [self._trace], "response": [self._note_header]},
                # A proxy reaches the world, never this machine.
                "trust_env": not is_loopback(api_root),
                # Loading certificates takes longer than the first poll after a takeover may.
                "verify": not api_root.startswith("http://"),
            },
        )
        self._fence = fence
        self._before_write, self._after_write = places

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """One request; raises CallEnded with Telegram's own words unless it was done."""
        code, payload = await super().do_request(*args, **kwargs)
        end = _read_answer(code, payload, _attempt.get().retry_after)
        if end.ending is not Ending.ANSWERED:
            raise CallEnded(end)
        return code, payload

    async def _trace(self, request: httpx.Request) -> None:
        request.extensions["trace"] = self._traced

    async def _traced(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by the connection at each of its steps, in the task of the call."""
        if event == "http11.send_request_headers.started":
            end = self._fence()
            if end is not None:
                raise CallEnded(end)
            if info["request"].method == b"CONNECT":
                # Only the way through a proxy; the fence is asked again for the request itself.
                return
            fault(self._before_write)
            _attempt.get().written = True
        elif event == "http11.send_request_body.complete":
            fault(self._after_write)

    @staticmethod
    async def _note_header(response: httpx.Response) -> None:
        _attempt.get().retry_after = response.headers.get("retry-after")


class BotSession:
    """The calls of one actor; `places` names the faults just before and just after a write."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        fence: Fence,
        connections: int,
        places: tuple[str, str] = ("", ""),
    ) -> None:
        self._settings = settings
        self._fence = fence
        self._connections = connections
        self._places = places
        self._api_root = (settings.get("api_root") or PUBLIC_API_ROOT).rstrip("/")
        self._request: FencedRequest | None = None
        self._bot: Bot | None = None
        self._why_no_bot = NO_TOKEN
        self._token_seen: tuple[int, ...] = ()
        self._refused_at: int | None = None

    def open(self) -> None:
        """Make the client and read the token, so that the first call has only to be written."""
        for name in ("httpx", "httpcore", "telegram"):
            # They log whole addresses, and an address has the token in it: heard only by who asks for it.
            heard = logging.NOTSET if is_debugging() else logging.CRITICAL + 1
            logging.getLogger(name).setLevel(heard)
        self._request = FencedRequest(
            self._fence, self._api_root, self._connections, self._places
        )
        self._refresh_token()

    async def close(self) -> None:
        """Close the connections."""
        if self._request is not None:
            await self._request.shutdown()

    async def call(
        self, method: str, params: Mapping[str, Any], budget_s: float | None = None
    ) -> CallResult:
        """Call once; with a budget it is given up after so many seconds, whatever it is at."""
        if self._request is None:
            # Never without our own client: the library's has no fence.
            return CallResult(Ending.UNSENT, description="The connection cannot be set up.")
        self._refresh_token()
        if self._bot is None:
            return CallResult(Ending.UNAUTHORIZED, description=self._why_no_bot)
        if self._refused_at is not None and boot_ms() - self._refused_at < REFUSED_TOKEN_MS:
            return CallResult(Ending.UNAUTHORIZED, description="The token was refused.")
        end = await self._call(self._bot, method, params, budget_s)
        self._refused_at = boot_ms() if end.ending is Ending.UNAUTHORIZED else None
        return dataclasses.replace(end, description=redacted(end.description))

    async def _call(
        self, bot: Bot, method: str, params: Mapping[str, Any], budget_s: float | None
    ) -> CallResult:
        attempt = _Attempt()
        _attempt.set(attempt)
        try:
            async with asyncio.timeout(budget_s):
                # The public way to call any method warns about every method the library knows.
                result = await bot._post(method, dict(params), read_timeout=budget_s or READ_S)
        except CallEnded as ended:
            return ended.result
        except (TelegramError, TimeoutError) as failure:
            return _failure(failure, attempt.written)
        return CallResult(Ending.ANSWERED, result=result)

    def _refresh_token(self) -> None:
        seen: tuple[int, ...] = ()
        with contextlib.suppress(OSError):
            status = token_path(self._settings).stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        if self._bot is not None and seen in (self._token_seen, ()):
            return
        try:
            token = read_token(self._settings)
        except (OSError, StoreError):
            # A file that is just being replaced by hand is no reason to forget a good token.
            return
        self._token_seen = seen
        redact(token)
        redact(token.replace(":", "%3A"))
        if token.partition(":")[0] != str(self._settings["bot_id"]):
            # Threads and offsets belong to a bot; another one's token must not touch them.
            self._bot = None
            self._why_no_bot = TOKEN_OF_ANOTHER_BOT if token else NO_TOKEN
            return
        if self._bot is not None and self._bot.token == token:
            return
        self._refused_at = None
        request = self._request
        base = f"{self._api_root}/bot"
        self._bot = Bot(token, base_url=base, request=request, get_updates_request=request)


def _read_answer(code: int, payload: bytes, header: str | None) -> CallResult:
    """What a whole answer says; `header` is Retry-After, used where the body says nothing."""
    try:
        answer = json.loads(payload)
    except ValueError:
        answer = None
    answer = answer if isinstance(answer, dict) else {}
    if 200 <= code < 300:
        if "result" in answer and answer.get("ok", True):
            return CallResult(Ending.ANSWERED)
        return CallResult(Ending.UNCLEAR, None, "The answer had no result.", code)
    words = str(answer.get("description") or f"HTTP {code}")
    parameters = answer.get("parameters")
    asked = parameters.get("retry_after") if isinstance(parameters, dict) else None
    if code == 429:
        return CallResult(Ending.FLOOD, None, words, code, _seconds(asked, header))
    if code == 401 or (code == 404 and not words.lower().startswith("not found: ")):
        # A token that is malformed for Telegram is a wrong path there.
        return CallResult(Ending.UNAUTHORIZED, None, words, code)
    ending = Ending.UNCLEAR if code >= 500 else Ending.REJECTED
    return CallResult(ending, None, words, code)


def _seconds(asked: Any, header: str | None) -> int:
    if isinstance(asked, int) and asked > 0:
        return asked
    return int(header) if header and header.isdecimal() and int(header) > 0 else 1


def _failure(failure: Exception, written: bool) -> CallResult:
    """A call without an answer; only the kind of error is told, its text may hold anything."""
    cause = failure if isinstance(failure, TimeoutError) else failure.__cause__
    kind = type(cause or failure).__name__
    if written:
        words = f"The connection broke before an answer came ({kind})."
        return CallResult(Ending.UNCLEAR, description=words)
    if isinstance(cause, UnicodeError):
        return CallResult(Ending.REJECTED, description="The text is not valid Unicode.")
    return CallResult(Ending.UNSENT, description=f"Telegram was not reached ({kind}).")
