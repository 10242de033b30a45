"""The chat page: its three files, the view it shows and the stream that says when to look again."""

from __future__ import annotations

import asyncio
import json
from importlib import resources
from typing import Any

from aiohttp import web

from actors.sandbox.access import Access
from actors.sandbox.chat import OWNER, Event, PracticeChat
from actors.sandbox.chat_state import chat_view

_FILES = {
    "chat.css": "text/css",
    "chat.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_REFUSED = "This page needs its key. Open the address that the program printed in your terminal."
_MOST_PAGES = 32
_LONGEST_BACKLOG = 256
_STILL_THERE_S = 15


class PageRoutes:
    def __init__(self, access: Access, chat: PracticeChat) -> None:
        self._access = access
        self._chat = chat
        self._pages: set[asyncio.Queue[Event | None]] = set()
        chat.on_event = self.tell

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/", self._page, allow_head=False),
            web.get("/page/{name}", self._file, allow_head=False),
            web.get("/sandbox/view", self._view, allow_head=False),
            web.get("/sandbox/events", self._events, allow_head=False),
        ]

    def tell(self, event: Event) -> None:
        """To every open page; strangers' chats are not on it."""
        if event.get("chat_id", OWNER.user_id) != OWNER.user_id:
            return
        for queue in self._pages:
            if queue.qsize() < _LONGEST_BACKLOG:
                queue.put_nowait(event)

    def end(self) -> None:
        """The server ends: close the streams, so that it need not wait for them."""
        for queue in self._pages:
            queue.put_nowait(None)

    async def _page(self, request: web.Request) -> web.Response:
        if not self._access.has_key(request):
            return web.Response(status=401, text=_REFUSED)
        return web.Response(text=_content("chat.html"), content_type="text/html")

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in _FILES:
            raise web.HTTPNotFound
        return web.Response(text=_content(name), content_type=_FILES[name])

    async def _view(self, request: web.Request) -> web.Response:
        self._access.check_key(request)
        asked = request.query.get("thread", "")
        thread_id = int(asked) if asked.isdigit() and len(asked) < 16 else None
        return web.json_response({"ok": True, **chat_view(self._chat, thread_id)})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        self._access.check_key(request)
        if len(self._pages) >= _MOST_PAGES:
            raise web.HTTPTooManyRequests(text="Too many pages are open.")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._pages.add(queue)
        try:
            await response.write(b"retry: 1000\n\n")
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), _STILL_THERE_S)
                except TimeoutError:
                    await response.write(b": still there\n\n")
                    continue
                if event is None:
                    return response
                await response.write(_frame(event))
        except ConnectionError:
            return response
        finally:
            self._pages.discard(queue)


def _frame(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


def _content(name: str) -> str:
    return (resources.files("actors.sandbox") / "page" / name).read_text("utf-8")
