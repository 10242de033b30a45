"""The control side of the practice chat, behind its key: what tests do and what they look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web
from marshmallow import Schema

from actors.sandbox import control_requests as requests
from actors.sandbox.access import Access
from actors.sandbox.bot_methods import SPELLINGS
from actors.sandbox.calls import CallLog
from actors.sandbox.chat import PracticeChat
from actors.sandbox.chat_state import chat_state
from actors.sandbox.faults import EVERY_METHOD, Fault, Faults
from actors.sandbox.person_side import Impossible, PersonSide
from stores.errors import StoreError

Handler = Callable[[dict[str, Any]], dict[str, Any]]


class Control:
    def __init__(
        self,
        access: Access,
        chat: PracticeChat,
        people: PersonSide,
        calls: CallLog,
        faults: Faults,
        on_ping: Callable[[], dict[str, Any]],
    ) -> None:
        self._access = access
        self._chat = chat
        self._people = people
        self._calls = calls
        self._faults = faults
        self._on_ping = on_ping

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/sandbox/ping", self._ping, allow_head=False),
            web.get("/sandbox/state", self._state, allow_head=False),
            web.get("/sandbox/calls", self._list_calls, allow_head=False),
            self._post("/sandbox/messages", requests.WriteRequest(), self._write),
            self._post("/sandbox/groups", requests.GroupRequest(), self._open_group),
            self._post("/sandbox/callbacks", requests.PressRequest(), self._press),
            self._post("/sandbox/reactions", requests.ReactRequest(), self._react),
            self._post("/sandbox/edits", requests.EditRequest(), self._edit),
            self._post("/sandbox/threads", requests.ThreadRequest(), self._change_threads),
            self._post("/sandbox/faults", requests.FaultRequest(), self._order_fault),
            web.delete("/sandbox/faults", self._clear_faults),
        ]

    def _post(self, path: str, schema: Schema, act: Handler) -> web.RouteDef:
        async def serve(request: web.Request) -> web.Response:
            self._access.check_key(request)
            try:
                done = act(requests.loaded(schema, await request.read()))
            except web.HTTPRequestEntityTooLarge:
                return refused(413, "The body has more than 1 MiB.")
            except (requests.BadRequest, Impossible) as problem:
                return refused(400, str(problem))
            except StoreError as problem:
                return refused(503, str(problem))
            return web.json_response({"ok": True, **done})

        return web.post(path, serve)

    # -- looking -------------------------------------------------------------------------------

    async def _ping(self, request: web.Request) -> web.Response:
        self._access.check_key(request)
        return web.json_response({"ok": True, **self._on_ping()})

    async def _state(self, request: web.Request) -> web.Response:
        self._access.check_key(request)
        state = chat_state(self._chat)
        state["counts"]["calls"] = dict(self._calls.counts)
        state["faults"] = self._faults.shown()
        return web.json_response({"ok": True, **state})

    async def _list_calls(self, request: web.Request) -> web.Response:
        self._access.check_key(request)
        since = request.query.get("since", "0")
        if not since.isdigit() or len(since) > 15:
            return refused(400, "since: Not a valid number.")
        listed = self._calls.since(int(since), request.query.get("method", ""))
        return web.json_response({"ok": True, "calls": listed, "last_seq": self._calls.last_seq})

    # -- doing ---------------------------------------------------------------------------------

    def _write(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._refuse_bot(asked)
        return self._people.write(
            asked["text"],
            asked["thread_id"],
            asked["from_id"],
            asked["reply_to_id"],
            asked["group_id"],
        )

    def _open_group(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"chat_id": self._chat.open_group(asked["title"])}

    def _press(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._refuse_bot(asked)
        return self._people.press(asked["message_id"], asked["data"], asked["from_id"])

    def _react(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._refuse_bot(asked)
        return self._people.react(asked["message_id"], asked["emoji"] or [], asked["from_id"])

    def _edit(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._refuse_bot(asked)
        return self._people.edit(asked["message_id"], asked["text"], asked["from_id"])

    def _change_threads(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._refuse_bot(asked)
        op, from_id = asked["op"], asked["from_id"]
        if op == "create":
            return self._people.open_thread(asked["name"], from_id)
        if op == "rename":
            return self._people.rename_thread(asked["thread_id"], asked["name"], from_id)
        if op == "delete":
            return self._people.delete_thread(asked["thread_id"], from_id)
        self._chat.set_threaded_mode(op == "threaded_mode_on")
        return {"threaded_mode": self._chat.threaded_mode}

    def _order_fault(self, asked: dict[str, Any]) -> dict[str, Any]:
        name = asked.pop("method")
        method = name if name == EVERY_METHOD else SPELLINGS.get(name.lower())
        if method is None:
            raise requests.BadRequest(f'method: There is no method "{name}".')
        if not self._faults.add(Fault(method, **asked)):
            raise requests.BadRequest("There are a hundred faults waiting already.")
        return {"faults": self._faults.shown()}

    async def _clear_faults(self, request: web.Request) -> web.Response:
        self._access.check_key(request)
        self._faults.clear()
        return web.json_response({"ok": True})

    def _refuse_bot(self, asked: dict[str, Any]) -> None:
        if asked["from_id"] == self._chat.bot_id:
            raise requests.BadRequest("from_id: That is the bot itself.")


def refused(status: int, sentence: str) -> web.Response:
    """An answer with the sentence that says why."""
    return web.json_response({"ok": False, "error": sentence}, status=status)
