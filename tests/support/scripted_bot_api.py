"""A Bot API on loopback that answers from a script and writes down what it was asked.

Each call of a method takes the next step of that method; without one it is answered with `True`.
"""

import asyncio
import collections
import dataclasses
from collections.abc import Mapping
from typing import Any

from aiohttp import web


@dataclasses.dataclass(frozen=True)
class Answer:
    """Answer like this."""

    result: Any = True
    status: int = 200
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    raw: bytes | None = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def response(self) -> web.Response:
        if self.raw is not None:
            return web.Response(status=self.status, body=self.raw, headers=self.headers)
        body: dict[str, Any] = {"ok": True, "result": self.result}
        if self.status != 200:
            body = {"ok": False, "error_code": self.status, "description": self.description}
        if self.parameters:
            body["parameters"] = dict(self.parameters)
        return web.json_response(body, status=self.status, headers=self.headers)


def refusal(status: int, description: str, **parameters: Any) -> Answer:
    """An answer that says no."""
    return Answer(status=status, description=description, parameters=parameters)


class Drop:
    """Close the connection without an answer."""


class Silence:
    """Never answer; `ended` is set when the client gave up."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.ended = asyncio.Event()


@dataclasses.dataclass(frozen=True)
class Asked:
    """One call that arrived."""

    token: str
    method: str
    params: Mapping[str, str]


class ScriptedBotApi:
    """The server; `async with` starts and ends it."""

    def __init__(self) -> None:
        self.calls: list[Asked] = []
        self.root = ""
        self._script: dict[str, collections.deque[Any]] = {}
        self._runner: web.AppRunner | None = None

    def answer(self, method: str, *steps: Any) -> None:
        """Add steps for a method."""
        self._script.setdefault(method, collections.deque()).extend(steps)

    async def __aenter__(self) -> "ScriptedBotApi":
        app = web.Application()
        app.router.add_post("/bot{token}/{method}", self._handle)
        # Otherwise the handler of a Silence would not hear that its client is gone.
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0]
        self.root = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: Any) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        params = {name: str(value) for name, value in (await request.post()).items()}
        self.calls.append(Asked(request.match_info["token"], method, params))
        steps = self._script.get(method)
        step = steps.popleft() if steps else Answer()
        if isinstance(step, Silence):
            step.asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                step.ended.set()
        if isinstance(step, Drop):
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return step.response()
