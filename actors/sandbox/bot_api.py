"""The Bot API over HTTP: /bot<TOKEN>/<method>, as a client library meets it at Telegram.

Checks the token, reads the parameters, obeys the ordered faults, keeps the list of calls.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any

from aiohttp import web

from actors.sandbox import errors
from actors.sandbox.bot_methods import GET_UPDATES, METHODS, SET_WEBHOOK, SPELLINGS
from actors.sandbox.calls import Call, CallLog
from actors.sandbox.chat import PracticeChat
from actors.sandbox.faults import Fault, Faults
from actors.sandbox.parameters import Parameters
from actors.sandbox.updates import UpdateQueue
from stores.errors import StoreError

_TOKEN = re.compile(r"\d{1,20}:[A-Za-z0-9_-]{20,80}")


class BotApi:
    def __init__(
        self,
        chat: PracticeChat,
        token: str,
        updates: UpdateQueue,
        calls: CallLog,
        faults: Faults,
    ) -> None:
        self._chat = chat
        self._token = token
        self._updates = updates
        self._calls = calls
        self._faults = faults
        self._tasks: set[asyncio.Task[web.StreamResponse]] = set()

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/bot{token:[^/]*}/{method:.*}", self._serve, allow_head=False),
            web.post("/bot{token:[^/]*}/{method:.*}", self._serve),
        ]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        method, refusal, parameters = "", None, Parameters({})
        try:
            method = self._checked(request)
            parameters = Parameters.of(await _given(request))
        except errors.BotApiError as problem:
            refusal = problem
        call = self._calls.begin(
            method or request.match_info["method"][:64],
            dict(parameters.values),
            _peer_port(request),
        )
        if refusal is not None:
            return _refused(call, refusal)
        if method == GET_UPDATES:
            try:
                return await self._carry_out(request, call, method, parameters)
            except asyncio.CancelledError:
                # A dead reader polls no longer, whatever its time-out was.
                call.end("gone")
                raise
        # What was asked for is done also when the caller has gone, as on a real server.
        task = asyncio.ensure_future(self._carry_out(request, call, method, parameters))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def _checked(self, request: web.Request) -> str:
        token, name = request.match_info["token"], request.match_info["method"]
        if not _TOKEN.fullmatch(token) or not name or "/" in name:
            raise errors.not_found()
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            raise errors.unauthorized()
        method = SPELLINGS.get(name.lower())
        if method is None:
            raise errors.method_not_found()
        return method

    async def _carry_out(
        self, request: web.Request, call: Call, method: str, parameters: Parameters
    ) -> web.StreamResponse:
        fault = self._faults.take(method) or Fault(method, 1)
        if fault.delay_ms:
            await asyncio.sleep(fault.delay_ms / 1000)
        if fault.drop == "before":
            return _dropped(request, call)
        refusal = fault.refusal()
        try:
            if refusal is not None:
                raise refusal
            result = await self._result(method, parameters)
        except errors.BotApiError as problem:
            return _dropped(request, call) if fault.drop else _refused(call, problem)
        except StoreError as problem:
            print(f"{method}: {problem}", file=sys.stderr)
            return _refused(call, errors.BotApiError(500, "Internal Server Error"))
        except Exception:
            traceback.print_exc()
            return _refused(call, errors.BotApiError(500, "Internal Server Error"))
        if fault.drop:
            return _dropped(request, call)
        call.end("answered")
        return web.json_response({"ok": True, "result": result})

    async def _result(self, method: str, parameters: Parameters) -> Any:
        if method == GET_UPDATES:
            return await self._updates.poll(parameters)
        perform: Callable[[PracticeChat, Parameters], Any] = METHODS[method]
        result = perform(self._chat, parameters)
        if method == SET_WEBHOOK:
            self._updates.remember_allowed(parameters)
            if self._chat.webhook_url:
                self._updates.webhook_set()
        return result


async def _given(request: web.Request) -> dict[str, Any]:
    """Query and body together; the body wins. A file that comes along is not looked at."""
    given: dict[str, Any] = dict(request.query)
    if request.method == "POST" and request.can_read_body:
        try:
            if request.content_type == "application/json":
                body = await request.read()
                given.update(Parameters.of_json(body) if body.strip() else {})
            else:
                form = await request.post()
                given.update({n: v for n, v in form.items() if isinstance(v, str)})
        except web.HTTPRequestEntityTooLarge as problem:
            raise errors.too_large() from problem
        except (ValueError, LookupError) as problem:
            raise errors.bad_request("can't parse the request body") from problem
    return given


def _refused(call: Call, problem: errors.BotApiError) -> web.Response:
    call.end("answered", problem.code, problem.description)
    return web.json_response(problem.answer(), status=problem.code)


def _dropped(request: web.Request, call: Call) -> web.Response:
    call.end("dropped")
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _peer_port(request: web.Request) -> int | None:
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return peer[1] if isinstance(peer, tuple) else None
