"""What is typed goes to the thread: in order, once, and with a word where it did not."""

import asyncio
from collections.abc import Awaitable, Callable

from actors import conversation as module
from actors.conversation import Conversation
from actors.thread import CallRefused, LeaderUnavailable
from tests.support.eventually import eventually_async
from tests.support.scripted_thread import ARRIVED, VANISHED, ScriptedThread


class ScriptedConsole:
    """Somebody types when the test says so."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self._left = asyncio.Event()
        self.type: Callable[[str], None] = self.written.append

    async def converse(self, typed: Callable[[str], None]) -> None:
        self.type = typed
        await self._left.wait()

    async def leave(self) -> None:
        self._left.set()

    def write(self, line: str) -> None:
        self.written.append(line)


Story = Callable[[ScriptedConsole, ScriptedThread, Conversation], Awaitable[None]]


def told(story: Story) -> None:
    """Run a story with a conversation that is going on."""

    async def run() -> None:
        console, thread = ScriptedConsole(), ScriptedThread()
        conversation = Conversation(console, thread)
        life = asyncio.create_task(conversation.run())
        await asyncio.sleep(0)
        await story(console, thread, conversation)
        await conversation.close()
        await life

    asyncio.run(run())


def test_lines_arrive_in_order_and_long_ones_in_parts() -> None:
    async def story(console: ScriptedConsole, thread: ScriptedThread, talk: Conversation) -> None:
        for text in ("one\n", "two\nlines", "x" * 5_000):
            console.type(text)
        await eventually_async(lambda: len(thread.texts) == 4)
        assert thread.texts[:2] == ["one", "two\nlines"]
        assert "".join(thread.texts[2:]) == "x" * 5_000
        assert await talk.close() == () and console.written == []

    told(story)


def test_nothing_is_sent_twice_and_what_is_unclear_or_refused_is_told() -> None:
    async def story(console: ScriptedConsole, thread: ScriptedThread, talk: Conversation) -> None:
        thread.failures["send"] = [ARRIVED, VANISHED, CallRefused("no rights")]
        for text in ("one", "two", "three", "four"):
            console.type(text)
        await eventually_async(lambda: thread.texts[-1:] == ["four"])
        assert thread.texts == ["one", "four"]
        assert console.written == [
            'The connection broke, so this may not have arrived: "one"',
            'The connection broke, so this may not have arrived: "two"',
            "Not sent: no rights",
        ]

    told(story)


def test_without_a_leader_it_waits_and_says_so(monkeypatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)

    async def story(console: ScriptedConsole, thread: ScriptedThread, talk: Conversation) -> None:
        thread.failures["send"] = [LeaderUnavailable("nobody")]
        console.type("one")
        await eventually_async(lambda: thread.texts == ["one"])
        assert console.written == [
            "No process talks to Telegram at present. What you typed is sent when one does."
        ]

    told(story)


def test_what_could_not_be_sent_before_the_end_is_told(monkeypatch) -> None:
    monkeypatch.setattr(module, "SETTLE_GRACE_S", 0.05)

    async def story(console: ScriptedConsole, thread: ScriptedThread, talk: Conversation) -> None:
        thread.failures["send"] = [LeaderUnavailable("nobody")] * 100
        for text in ("one", "two " * 30):
            console.type(text)
        assert await talk.close() == ("one", ("two " * 10).strip()[:39].rstrip() + "…")
        assert thread.texts == []

    told(story)
