"""The session against a real server: what ends how, the fence, the token."""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from actors.bot_session import BotSession, is_loopback, read_token
from actors.clock import boot_ms
from actors.fence import LATE_AFTER_MS, LeaseFence
from actors.plans.call_result import CallResult, Ending
from actors.poller import PollerIo
from actors.telegram_gateway import GatewayIo
from actors.tree_stores import open_bus, owner_of
from stores.home import Home
from stores.lease import Lease
from tests.support.scripted_bot_api import Answer, Drop, ScriptedBotApi, Silence, refusal

TOKEN = "123456:" + "A" * 35
NEW_TOKEN = "123456:" + "B" * 35


class Rig:
    """A home with a token and a lease, and a server."""

    def __init__(self, path: Path, api: ScriptedBotApi) -> None:
        self.api = api
        self.home = Home(path / "home").ensure(123456)
        owner = {"pid": os.getpid(), "boot_id": "b", "birth": "1:start:1", "instance_id": "i"}
        self.settings: dict[str, Any] = {
            "home": str(self.home.path),
            "bot_name": "main",
            "bot_id": 123456,
            "bot_directory": str(self.home.bot_directory(123456)),
            "api_root": api.root,
            "owner": owner,
            "epoch": 1,
            "practice": False,
        }
        self.write_token(TOKEN)
        self.lease = Lease(open_bus(self.settings))
        self.take_lease("i", boot_ms())
        self.fence = LeaseFence(self.settings)
        self.session = BotSession(self.settings, self.fence, connections=2)
        self.session.open()

    def write_token(self, token: str) -> None:
        config = {"bots": {"main": {"token": token}}}
        self.home.config.with_suffix(".new").write_text(json.dumps(config))
        os.replace(self.home.config.with_suffix(".new"), self.home.config)

    def take_lease(self, instance_id: str, heartbeat: int) -> None:
        owner = owner_of(
            {**self.settings, "owner": {**self.settings["owner"], "instance_id": instance_id}}
        )
        self.lease.campaign(self.lease.read(), owner, heartbeat, "s" * 32)

    def refresh(self, heartbeat: int) -> None:
        assert self.lease.refresh(owner_of(self.settings), 1, heartbeat)

    async def call(self, method: str = "sendMessage", **params: Any) -> CallResult:
        return await self.session.call(method, params)


@contextlib.asynccontextmanager
async def rigged(path: Path) -> AsyncIterator[Rig]:
    async with ScriptedBotApi() as api:
        rig = Rig(path, api)
        try:
            yield rig
        finally:
            await rig.session.close()
            rig.fence.close()
            rig.lease.database.close()


def run(path: Path, story: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        async with rigged(path) as rig:
            await story(rig)

    asyncio.run(play())


def test_result_comes_back_as_telegram_sent_it(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        message = {"message_id": 7, "chat": {"id": 1}, "unheard_of": {"x": [1]}}
        rig.api.answer("sendMessage", Answer(message))
        end = await rig.call(chat_id=1, text="hi", reply_markup={"inline_keyboard": []}, no=None)
        assert end == CallResult(Ending.ANSWERED, result=message)
        asked = rig.api.calls[0]
        assert asked.token == TOKEN
        assert asked.params == {
            "chat_id": "1", "text": "hi", "reply_markup": '{"inline_keyboard": []}'
        }

    run(tmp_path, story)


CLOSED = "Bad Request: TOPIC_CLOSED"
CASES: list[tuple[Any, Ending, str, int | None, int | None]] = [
    (refusal(400, CLOSED), Ending.REJECTED, CLOSED, 400, None),
    (refusal(403, "Forbidden: no"), Ending.REJECTED, "Forbidden: no", 403, None),
    (refusal(409, "Conflict: other"), Ending.REJECTED, "Conflict: other", 409, None),
    (refusal(401, "Unauthorized"), Ending.UNAUTHORIZED, "Unauthorized", 401, None),
    (refusal(404, "Not Found"), Ending.UNAUTHORIZED, "Not Found", 404, None),
    (refusal(404, "Not Found: method"), Ending.REJECTED, "Not Found: method", 404, None),
    (refusal(429, "slow", retry_after=3), Ending.FLOOD, "slow", 429, 3),
    (
        Answer(raw=b"<html>", status=429, headers={"Retry-After": "4"}),
        Ending.FLOOD, "HTTP 429", 429, 4,
    ),
    (refusal(400, "up", migrate_to_chat_id=-5), Ending.REJECTED, "up", 400, None),
    (refusal(500, "Internal"), Ending.UNCLEAR, "Internal", 500, None),
    (Answer(raw=b"<html>", status=502), Ending.UNCLEAR, "HTTP 502", 502, None),
    (Answer(raw=b"<html>", status=413), Ending.REJECTED, "HTTP 413", 413, None),
    (Answer(raw=b""), Ending.UNCLEAR, "The answer had no result.", 200, None),
    (Answer(raw=b'{"ok": true}'), Ending.UNCLEAR, "The answer had no result.", 200, None),
]


@pytest.mark.case("F171")
def test_what_telegram_says(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        for step, ending, words, code, seconds in CASES:
            rig.api.answer("sendMessage", step)
            # A fresh session: a refused token is remembered.
            session = BotSession(rig.settings, rig.fence, connections=1)
            session.open()
            end = await session.call("sendMessage", {"chat_id": 1})
            await session.close()
            assert end == CallResult(ending, None, words, code, seconds)

    run(tmp_path, story)


def test_broken_after_the_write_is_unclear(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.api.answer("sendMessage", Drop(), Silence())
        for budget in (None, 0.05):
            end = await rig.session.call("sendMessage", {"chat_id": 1}, budget)
            assert end.ending is Ending.UNCLEAR
        assert len(rig.api.calls) == 2

    run(tmp_path, story)


def test_nothing_listening_is_unsent(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            root = f"http://127.0.0.1:{free.getsockname()[1]}"
            session = BotSession({**rig.settings, "api_root": root}, rig.fence, connections=1)
            session.open()
            end = await session.call("sendMessage", {"chat_id": 1})
            await session.close()
        assert end.ending is Ending.UNSENT
        assert TOKEN not in end.description and root not in end.description

    run(tmp_path, story)


def test_text_that_is_no_unicode_is_rejected_without_showing_it(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        end = await rig.call(chat_id=1, text="private \ud800")
        assert end == CallResult(Ending.REJECTED, description="The text is not valid Unicode.")
        assert rig.api.calls == []

    run(tmp_path, story)


def test_fence_stops_a_deposed_process_before_anything_is_written(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        assert (await rig.call(chat_id=1)).ending is Ending.ANSWERED
        rig.take_lease("another", boot_ms())
        end = await rig.call(chat_id=1)
        assert end.ending is Ending.DEPOSED
        assert len(rig.api.calls) == 1

    run(tmp_path, story)


def test_fence_holds_while_the_lease_is_old_and_opens_again(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.refresh(boot_ms() - LATE_AFTER_MS - 1)
        assert (await rig.call(chat_id=1)).ending is Ending.LATE
        rig.refresh(boot_ms())
        assert (await rig.call(chat_id=1)).ending is Ending.ANSWERED
        assert len(rig.api.calls) == 1

    run(tmp_path, story)


def test_fence_is_shut_when_the_lease_cannot_be_read(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.fence.close()
        rig.lease.database.close()
        database = rig.home.bus_database(123456)
        database.write_bytes(b"x" * 8192)
        for beside in database.parent.glob("bus.db-*"):
            beside.unlink()
        end = await rig.call(chat_id=1)
        assert end == CallResult(Ending.UNSENT, description="The lease could not be read.")
        assert rig.api.calls == []

    run(tmp_path, story)


def test_refused_token_is_not_shown_again_until_its_file_changes(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.api.answer("getMe", refusal(401, "Unauthorized"))
        assert (await rig.call("getMe")).ending is Ending.UNAUTHORIZED
        assert (await rig.call("getMe")).ending is Ending.UNAUTHORIZED
        assert len(rig.api.calls) == 1
        rig.write_token(NEW_TOKEN)
        assert (await rig.call("getMe")).ending is Ending.ANSWERED
        assert rig.api.calls[1].token == NEW_TOKEN

    run(tmp_path, story)


def test_token_of_another_bot_is_never_used(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.write_token("999999:" + "C" * 35)
        assert (await rig.call("getMe")).ending is Ending.UNAUTHORIZED
        assert rig.api.calls == []
        rig.home.config.write_text("{")
        assert (await rig.call("getMe")).ending is Ending.UNAUTHORIZED
        rig.write_token(TOKEN)
        assert (await rig.call("getMe")).ending is Ending.ANSWERED

    run(tmp_path, story)


def test_token_in_telegrams_words_is_blotted_out(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.api.answer("getMe", refusal(400, f"Bad Request: bot{TOKEN}/getMe"))
        end = await rig.call("getMe")
        assert TOKEN not in end.description
        assert TOKEN not in repr(rig.session)

    run(tmp_path, story)


def test_practice_token_has_its_own_file(tmp_path: Path) -> None:
    home = Home(tmp_path / "home").ensure()
    (home.practice / "token").write_text(TOKEN + "\n")
    assert read_token({"home": str(home.path), "practice": True}) == TOKEN


@pytest.mark.parametrize(
    ("root", "want_local"),
    [
        (None, False),
        ("https://api.telegram.org", False),
        ("http://127.0.0.1:8081", True),
        ("http://localhost:1", True),
        ("http://[::1]:1", True),
        ("http://10.0.0.1:1", False),
    ],
)
def test_which_servers_are_on_this_machine(root: str | None, want_local: bool) -> None:
    assert is_loopback(root) is want_local


def test_proxies_of_the_environment_are_for_others_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(rig: Rig) -> None:
        async with ScriptedBotApi() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.root)
            monkeypatch.setenv("HTTPS_PROXY", proxy.root)
            session = BotSession(rig.settings, rig.fence, connections=1)
            session.open()
            assert (await session.call("getMe", {})).ending is Ending.ANSWERED
            await session.close()
            far = BotSession({**rig.settings, "api_root": None}, rig.fence, connections=1)
            far.open()
            # The proxy knows no CONNECT: what was refused there never reached Telegram.
            assert (await far.call("sendMessage", {})).ending is Ending.UNSENT
            await far.close()
        assert proxy.calls == []

    run(tmp_path, story)


def test_abort_closes_the_connection_of_the_long_poll(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        silence = Silence()
        rig.api.answer("getUpdates", silence, Answer([]))
        io = PollerIo(rig.settings)
        await io.open()
        poll = asyncio.create_task(io.perform_get_updates({"timeout": 25}, 35))
        await asyncio.wait_for(silence.asked.wait(), 5)
        await io.perform_abort()
        assert (await poll).ending is Ending.UNCLEAR
        await asyncio.wait_for(silence.ended.wait(), 5)
        again = await io.perform_get_updates({"timeout": 25, "allowed_updates": ["message"]}, 35)
        assert again == CallResult(Ending.ANSWERED, result=[])
        assert rig.api.calls[1].params == {"timeout": "25", "allowed_updates": '["message"]'}
        await io.close()

    run(tmp_path, story)


def test_gateway_calls_in_parallel(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        io = GatewayIo(rig.settings)
        await io.open()
        silence = Silence()
        rig.api.answer("sendMessage", silence)
        slow = asyncio.create_task(io.perform_call("sendMessage", {"chat_id": 1}))
        await asyncio.wait_for(silence.asked.wait(), 5)
        quick = await io.perform_call("answerCallbackQuery", {"callback_query_id": "1"})
        assert quick.ending is Ending.ANSWERED
        slow.cancel()
        await asyncio.wait({slow})
        await io.close()

    run(tmp_path, story)
