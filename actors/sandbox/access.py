"""Who may speak to the practice server: this machine only, and beyond the Bot API only by key.

The Host header is looked at on every route: a page of the web can make a browser resolve its own
name to 127.0.0.1, but cannot make it send another name.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Awaitable, Callable

from aiohttp import web

KEY_HEADER = "X-Sandbox-Key"
_HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::\d{1,5})?", re.IGNORECASE)
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Access:
    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def has_key(self, request: web.Request) -> bool:
        given = request.headers.get(KEY_HEADER) or request.query.get("key", "")
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._key)

    def check_key(self, request: web.Request) -> None:
        if not self.has_key(request):
            raise _refusal(
                web.HTTPUnauthorized,
                f"This needs the key of the practice chat, as {KEY_HEADER} or ?key=.",
            )


def _refusal(kind: type[web.HTTPError], sentence: str) -> web.HTTPError:
    body = json.dumps({"ok": False, "error": sentence})
    return kind(text=body, content_type="application/json")


async def set_headers(request: web.Request, response: web.StreamResponse) -> None:
    """On every answer, streams included."""
    for name, value in _HEADERS.items():
        response.headers[name] = value
    response.headers.pop("Server", None)


@web.middleware
async def this_machine_only(request: web.Request, handler: _Handler) -> web.StreamResponse:
    if not _HOST.fullmatch(request.headers.get("Host", "")):
        raise _refusal(web.HTTPForbidden, "This address answers on this machine only.")
    try:
        return await handler(request)
    except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as problem:
        body = {"ok": False, "error_code": problem.status, "description": problem.reason}
        return web.json_response(body, status=problem.status)
