"""Gateway and poller against the practice chat: the words, the conflict and the offsets of a real server."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.clock import boot_ms
from actors.plans.call_queue import CallQueue
from actors.plans.poller import PollerPlan
from actors.plans.telegram_gateway import TelegramGatewayPlan
from actors.poller import PollerIo
from actors.telegram_gateway import GatewayIo
from actors.tree_stores import open_bus, owner_of
from messages.inbox import AdmitUpdates, CursorFetched, FetchCursor, UpdatesAdmitted
from messages.poller import PollConflict, PollingStopped, StartPolling, StopPolling
from messages.telegram_gateway import CallTelegram, TelegramAnswered, TokenAccepted, TokenRefused
from stores.home import Home
from stores.lease import Lease
from tests.support.eventually import eventually_async
from tests.support.plan_desk import PlanDesk
from tests.support.practice_server import PracticeServer, running_practice_server

OWNER = 1001


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PracticeServer]:
    with running_practice_server(tmp_path_factory.mktemp("practice") / "home") as running:
        yield running


@pytest.fixture
def settings(server: PracticeServer) -> Iterator[dict[str, Any]]:
    """Settings of a tree whose instance, this process, has just taken the lease."""
    bot_id = int(server.practice.token.partition(":")[0])
    home = Home(server.home).ensure(bot_id)
    owner = {"pid": os.getpid(), "boot_id": "b", "birth": "1:start:1", "instance_id": "i"}
    settings = {
        "home": str(home.path),
        "bot_name": "practice",
        "bot_id": bot_id,
        "bot_directory": str(home.bot_directory(bot_id)),
        "api_root": server.practice.api_root,
        "owner": owner,
        "practice": True,
    }
    database = open_bus(settings)
    lease = Lease(database)
    granted = lease.campaign(lease.read(), owner_of(settings), boot_ms(), "s" * 32)
    assert granted is not None
    database.close()
    yield {**settings, "epoch": granted.epoch}
    server.call("getUpdates", offset=-1)
    server.call("deleteWebhook", drop_pending_updates=True)


class Gateway(PlanDesk):
    """The gateway, asked and waited for."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(TelegramGatewayPlan(queue=CallQueue(local=True)), GatewayIo(settings))

    async def call(self, method: str, priority: str = "final", **params: Any) -> Any:
        name = f"{method}{len(self.replies)}"
        self.hear(CallTelegram(method=method, params=params, priority=priority), name)
        await eventually_async(lambda: name in self.replies)
        return self.replies[name]


class Polling(PlanDesk):
    """The poller, with an inbox that keeps what it is given."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(PollerPlan(quiet_ms=500), PollerIo(settings), self._inbox)
        self.updates: list[dict[str, Any]] = []
        self.cursor: int | None = None

    def _inbox(self, body: Any) -> Any:
        match body:
            case FetchCursor():
                return CursorFetched(cursor=self.cursor)
            case AdmitUpdates(updates=updates):
                self.updates += updates
                self.cursor = updates[-1]["update_id"]
                return UpdatesAdmitted(cursor=self.cursor)
        return None

    @property
    def texts(self) -> list[str]:
        return [update["message"]["text"] for update in self.updates if "message" in update]


@asynccontextmanager
async def opened(desk: Any) -> AsyncIterator[Any]:
    await desk.io.open()
    try:
        yield desk
    finally:
        await desk.close()


def run(desk: Callable[[], Any], story: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        async with opened(desk()) as running:
            await story(running)

    asyncio.run(play())


def test_thread_from_creation_to_its_end(settings: dict[str, Any]) -> None:
    async def story(gateway: Gateway) -> None:
        created = await gateway.call("createForumTopic", "control", chat_id=OWNER, name="api")
        place = {"chat_id": OWNER, "message_thread_id": created.result["message_thread_id"]}
        sent = await gateway.call("sendMessage", text="one", **place)
        assert isinstance(sent, TelegramAnswered) and sent.result["text"] == "one"
        edit = {"chat_id": OWNER, "message_id": sent.result["message_id"], "text": "two"}
        changed = await gateway.call("editMessageText", "edit", **edit)
        assert changed.result["text"] == "two"
        again = await gateway.call("editMessageText", "edit", **edit)
        assert again == TelegramAnswered(result=True)
        assert (await gateway.call("sendChatAction", "typing", action="typing", **place)).result
        assert (await gateway.call("deleteForumTopic", "control", **place)).result is True
        gone = await gateway.call("sendMessage", text="three", **place)
        assert (gone.outcome, gone.error_code, gone.description) == (
            "rejected", 400, "Bad Request: message thread not found",
        )

    run(lambda: Gateway(settings), story)


def test_updates_are_admitted_once_and_then_confirmed(
    server: PracticeServer, settings: dict[str, Any]
) -> None:
    async def story(polling: Polling) -> None:
        polling.hear(StartPolling())
        for number in range(3):
            await asyncio.to_thread(server.practice.write, f"text {number}")
        await eventually_async(lambda: polling.texts == ["text 0", "text 1", "text 2"])
        responses = polling.plan.responses
        await asyncio.to_thread(server.practice.write, "text 3")
        await eventually_async(lambda: polling.plan.responses > responses)
        assert polling.texts[3:] == ["text 3"]
        polling.hear(StopPolling(), "stop")
        await eventually_async(lambda: polling.replies.get("stop") == PollingStopped())
        assert polling.said.count(FetchCursor()) == 1

    run(lambda: Polling(settings), story)


def test_foreign_poller_is_noticed_and_its_end_too(
    server: PracticeServer, settings: dict[str, Any]
) -> None:
    before = len(server.practice.calls("getUpdates"))

    async def story(polling: Polling) -> None:
        polling.hear(StartPolling())
        await eventually_async(lambda: polling.plan.phase == "long-poll")
        await eventually_async(lambda: len(server.practice.calls("getUpdates")) > before)
        await asyncio.to_thread(server.call, "getUpdates", timeout=0)
        await eventually_async(lambda: PollConflict(cause="foreign-poller") in polling.said)
        await eventually_async(lambda: polling.plan.phase == "long-poll")
        await asyncio.to_thread(server.practice.write, "after it")
        await eventually_async(lambda: "after it" in polling.texts)
        assert polling.said.count(PollConflict(cause="solved")) == 1

    run(lambda: Polling(settings), story)


def test_webhook_is_left_alone_and_nothing_is_lost_when_it_goes(
    server: PracticeServer, settings: dict[str, Any]
) -> None:
    server.call("setWebhook", url="https://example.org/hook")
    server.practice.write("before")

    async def story(polling: Polling) -> None:
        polling.hear(StartPolling())
        await eventually_async(lambda: polling.said[-1:] == [PollConflict(cause="webhook")])
        assert server.practice.state()["webhook"]["url"] == "https://example.org/hook"
        await asyncio.to_thread(server.call, "deleteWebhook")
        await eventually_async(lambda: polling.texts == ["before"])
        assert [body for body in polling.said if isinstance(body, PollConflict)] == [
            PollConflict(cause="webhook"), PollConflict(cause="solved"),
        ]

    run(lambda: Polling(settings), story)


def test_new_token_is_picked_up_live(server: PracticeServer, settings: dict[str, Any]) -> None:
    token = server.home / "practice" / "token"
    good = token.read_text()

    async def story(gateway: Gateway) -> None:
        token.write_text(good.strip()[:-3] + "xyz")
        refused = await gateway.call("getMe", "control")
        assert refused.outcome == "unauthorized"
        token.write_text(good)
        known = await gateway.call("getMe", "control")
        assert known.result["id"] == settings["bot_id"]
        assert gateway.said == [
            TokenRefused(description=refused.description), TokenAccepted(),
        ]

    try:
        run(lambda: Gateway(settings), story)
    finally:
        token.write_text(good)


def test_log_and_home_hold_no_token(server: PracticeServer, tmp_path: Path) -> None:
    secret = server.practice.token.partition(":")[2].encode()
    holding = [
        path.name
        for path in server.home.rglob("*")
        if path.is_file() and secret in path.read_bytes()
    ]
    assert holding == ["token"]
