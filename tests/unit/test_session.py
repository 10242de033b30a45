"""The session with its real store: nothing is lost, and nothing happens twice."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from actors.modes import Interrupted, NotStarted, Prompt, Show
from actors.modes.echo import EchoMode
from actors.outbox import UNAVAILABLE_PAUSE
from actors.plans.session_events import Traits
from actors.session import Session, SessionClosed
from actors.thread import CallRefused, LeaderUnavailable
from stores.deliveries import Deliveries, open_inbox
from stores.errors import DeliveryConflict, StoreUnavailable
from tests.support.eventually import eventually_async
from tests.support.scripted_thread import ARRIVED, VANISHED, ScriptedThread

Story = Callable[[], Awaitable[None]]


class ScriptedMode:
    """A mode whose runs last until the test lets them end."""

    traits = Traits()

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.cleared: list[str] = []
        self.shown: Show | None = None
        self.failures: list[Exception] = []
        self._end: asyncio.Future[tuple[str, ...]] | None = None

    async def run(self, prompt: Prompt, show: Show) -> tuple[str, ...]:
        self.prompts.append(prompt.text)
        if self.failures:
            raise self.failures.pop(0)
        self.shown = show
        self._end = asyncio.get_running_loop().create_future()
        return await self._end

    def end(self, *parts: str) -> None:
        """The present run ends with this answer."""
        assert self._end is not None
        self._end.set_result(parts)

    def stop(self) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_result(())

    async def clear(self, token: str) -> None:
        self.cleared.append(token)

    async def close(self) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_exception(Interrupted())


class House:
    """One binding: its store outlives the sessions that work on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.thread = ScriptedThread()
        self.mode = ScriptedMode()
        self.waits: list[float] = []
        self.store: Deliveries
        self.session: Session

    @contextlib.asynccontextmanager
    async def running(self, mode: Any = None) -> AsyncIterator[None]:
        """A session from its start to its end."""
        await self.begin(mode)
        try:
            yield
        finally:
            await self.session.close()
            await self.life
            self.store.database.close()

    async def begin(self, mode: Any = None) -> None:
        """A session starts."""
        self.store = open_inbox(self.path, 0).deliveries
        self.mode = mode or ScriptedMode()
        self.session = Session(self.store, self.mode, self.thread, sleep=self._sleep)
        self.life = asyncio.create_task(self.session.run())

    async def vanish(self) -> None:
        """The process dies on the spot: nothing is ended, nothing more is written."""
        for task in (self.life, *self.session._beside):
            task.cancel()
        await asyncio.gather(self.life, *self.session._beside, return_exceptions=True)
        self.session._storing.shutdown()
        self.store.database.close()

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)

    async def write(self, number: int, text: str) -> dict[str, Any]:
        """The owner writes the message of this number."""
        carrier = {"chat": {"id": 7}, "message_id": number, "text": text}
        return await self.session.admit("message", delivery_id(number), number, carrier)

    async def press(self, number: int, button: tuple[int, str]) -> None:
        """The owner presses a button, as `ScriptedThread.button` gives it."""
        message_id, data = button
        message = {"message_id": message_id}
        carrier = {"id": f"cb{number}", "data": data, "message": message}
        await self.session.admit("callback_query", delivery_id(number), number, carrier)

    async def stands(self, *texts: str) -> None:
        """Wait until exactly this stands in the thread."""
        await eventually_async(lambda: self.thread.texts == list(texts), what=f"{texts}")

    async def state(self, number: int, state: str) -> None:
        """Wait until the delivery of this number has this state."""
        def reached() -> bool:
            record = self.store.get(delivery_id(number))
            return record is not None and record.state == state

        await eventually_async(reached, what=f"{number} {state}")


def delivery_id(number: int) -> str:
    """The id of a delivery, in the shape of real ones."""
    return f"telegram-follower-v1-{number:064x}"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "inbox.db")


def test_echo_answers_each_message_once_in_order(house: House) -> None:
    async def story() -> None:
        async with house.running(EchoMode()):
            receipts = [await house.write(number, f"m{number}") for number in (1, 2, 3)]
            again = await house.write(2, "m2")
            await house.state(3, "done")
            assert again == receipts[1] == {"deliveryId": delivery_id(2), "sourceUpdateId": 2}
            assert house.thread.texts == ["m1", "m2", "m3"]
            assert [message.reply_to for message in house.thread.messages] == [1, 2, 3]
            await house.write(1, "m1")
            assert house.session.describe()["state"] == "idle"
        assert house.thread.texts == ["m1", "m2", "m3"]

    asyncio.run(story())


def test_a_long_echo_is_split(house: House) -> None:
    async def story() -> None:
        async with house.running(EchoMode()):
            await house.write(1, "😀" * 3_000)
            await house.state(1, "done")
            assert [len(text) for text in house.thread.texts] == [2_048, 952]
            assert [message.reply_to for message in house.thread.messages] == [1, None]

    asyncio.run(story())


def test_the_same_id_with_other_content_is_refused(house: House) -> None:
    async def story() -> None:
        async with house.running():
            await house.write(1, "one")
            with pytest.raises(DeliveryConflict):
                await house.write(1, "other")

    asyncio.run(story())


def test_a_caller_that_gives_up_leaves_no_delivery_behind(house: House) -> None:
    async def story() -> None:
        async with house.running():
            admission = asyncio.create_task(house.write(1, "one"))
            await asyncio.sleep(0)
            admission.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await admission
            await eventually_async(lambda: house.mode.prompts == ["one"])

    asyncio.run(story())


def test_nothing_is_admitted_after_the_end(house: House) -> None:
    async def story() -> None:
        async with house.running():
            await house.write(1, "one")
        with pytest.raises(SessionClosed):
            await house.write(2, "two")

    asyncio.run(story())


def test_a_run_of_a_dead_process_is_asked_about_and_run_once_more(house: House) -> None:
    async def story() -> None:
        await house.begin()
        await house.write(1, "one")
        await house.write(2, "two")
        await house.state(1, "running")
        await house.vanish()
        async with house.running():
            await eventually_async(lambda: house.mode.prompts == ["two"])
            assert house.mode.cleared == [delivery_id(1)[-8:]]
            await eventually_async(lambda: "This run was cut off." in house.thread.texts)
            button = house.thread.button("Run again")
            await house.press(3, button)
            await house.press(4, button)
            house.mode.end("2")
            await eventually_async(lambda: house.mode.prompts == ["two", "one"])
            house.mode.end("1")
            await house.state(1, "done")
            await house.state(4, "done")
        assert house.mode.prompts == ["two", "one"]
        asked = [text for text in house.thread.texts if text.startswith("This run")]
        assert asked == ["This run was cut off. Running it again."]
        assert house.thread.answered == [("cb3", None), ("cb4", "This is settled already.")]

    asyncio.run(story())


def test_a_question_is_not_shown_again_by_the_next_process(house: House) -> None:
    async def story() -> None:
        await house.begin()
        await house.write(1, "one")
        await house.state(1, "running")
        await house.vanish()
        for _ in range(2):
            async with house.running():
                await house.state(1, "cut_off")
                await eventually_async(lambda: house.store.get(delivery_id(1)).progress["asked"])
        assert house.thread.texts == ["This run was cut off."]

    asyncio.run(story())


def test_echo_of_a_dead_process_repeats_by_itself(house: House) -> None:
    async def story() -> None:
        await house.begin(EchoMode())
        house.session.pause()
        await house.write(1, "one")
        await house.state(1, "running")
        await house.vanish()
        async with house.running(EchoMode()):
            await house.state(1, "done")
        assert house.thread.texts == ["one"]

    asyncio.run(story())


@pytest.mark.parametrize(("failure", "copies"), [(ARRIVED, 1), (VANISHED, 0)])
def test_an_unclear_answer_is_asked_about_and_never_repeated_by_itself(
    failure: Exception, copies: int, house: House
) -> None:
    async def story() -> None:
        house.thread.failures["send"] = [failure, ARRIVED]
        async with house.running(EchoMode()):
            await house.write(1, "one")
            await house.write(2, "two")
            await house.state(2, "done")
            await eventually_async(lambda: house.store.get(delivery_id(1)).progress["asked"])
            assert house.thread.texts.count("one") == copies
            await house.press(3, house.thread.button("Send again"))
            await house.state(1, "done")
            assert house.thread.texts.count("one") == copies + 1
            await eventually_async(lambda: house.thread.answered == [("cb3", None)])

    asyncio.run(story())


def test_what_waits_for_a_leader_is_sent_once_when_there_is_one(house: House) -> None:
    async def story() -> None:
        house.thread.failures["send"] = [LeaderUnavailable()] * 3
        async with house.running(EchoMode()):
            house.session.pause()
            await house.write(1, "one")
            await house.state(1, "running")
            assert house.thread.calls == []
            house.session.resume()
            await house.state(1, "done")
            assert house.thread.texts == ["one"] and house.waits == [UNAVAILABLE_PAUSE] * 3

    asyncio.run(story())


def test_an_answer_is_edited_into_the_message_that_showed_the_run(house: House) -> None:
    async def story() -> None:
        async with house.running():
            await house.write(1, "one")
            await eventually_async(lambda: house.mode.shown is not None)
            assert house.mode.shown is not None
            house.mode.shown(lambda: "half")
            await house.stands("half")
            house.mode.end("whole", "more")
            await house.state(1, "done")
            assert house.thread.texts == ["whole", "more"]
            assert house.thread.messages[0].reply_to == 1

    asyncio.run(story())


def test_an_answer_that_is_shown_already_costs_no_call(house: House) -> None:
    async def story() -> None:
        async with house.running():
            await house.write(1, "one")
            await eventually_async(lambda: house.mode.shown is not None)
            assert house.mode.shown is not None
            house.mode.shown(lambda: "whole")
            await house.stands("whole")
            house.mode.end("whole")
            await house.state(1, "done")
            assert house.thread.calls.count("edit") == 0

    asyncio.run(story())


def test_a_message_that_can_no_longer_be_edited_is_replaced(house: House) -> None:
    async def story() -> None:
        house.thread.failures["edit"] = [CallRefused("message to edit not found")]
        async with house.running():
            await house.write(1, "one")
            await eventually_async(lambda: house.mode.shown is not None)
            assert house.mode.shown is not None
            house.mode.shown(lambda: "half")
            await house.stands("half")
            house.mode.end("whole")
            await house.state(1, "done")
            assert house.thread.texts == ["half", "whole"]

    asyncio.run(story())


def test_an_unclear_beginning_of_a_run_is_not_sent_again(house: House) -> None:
    async def story() -> None:
        house.thread.failures["send"] = [ARRIVED]
        async with house.running():
            await house.write(1, "one")
            await eventually_async(lambda: house.mode.shown is not None)
            assert house.mode.shown is not None
            house.mode.shown(lambda: "whole")
            await house.stands("whole")
            house.mode.end("whole")
            await house.state(1, "unclear")
            await eventually_async(lambda: len(house.thread.texts) == 2)
            await house.press(2, house.thread.button("It arrived"))
            await house.state(1, "done")
            await house.stands("whole", "The connection broke here. The answer arrived.")

    asyncio.run(story())


def test_a_stop_overtakes_and_the_queue_goes_on(house: House) -> None:
    async def story() -> None:
        async with house.running():
            for number, text in enumerate(("endless", "two", "three", "/abort@bot"), start=1):
                await house.write(number, text)
            await house.state(4, "done")
            await eventually_async(lambda: house.mode.prompts == ["endless", "two"])
            house.mode.end("2")
            await eventually_async(lambda: house.mode.prompts == ["endless", "two", "three"])
            assert "Stopped." in house.thread.texts
            assert "Queued, 1 before it." in house.thread.texts

    asyncio.run(story())


def test_a_run_that_cannot_start_is_tried_again(house: House) -> None:
    async def story() -> None:
        async with house.running():
            house.mode.failures = [NotStarted("OSError")]
            await house.write(1, "one")
            await eventually_async(lambda: house.mode.prompts == ["one", "one"])
            record = house.store.get(delivery_id(1))
            assert record is not None and record.attempts == 1

    asyncio.run(story())


def test_a_mode_that_breaks_in_the_middle_is_asked_about(house: House) -> None:
    async def story() -> None:
        async with house.running():
            house.mode.failures = [RuntimeError("broken")]
            await house.write(1, "one")
            await house.state(1, "cut_off")
            await house.stands("This run was cut off.")

    asyncio.run(story())


def test_a_store_that_refuses_holds_back_what_depends_on_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with house.running():
            tried = 0
            mark_running = house.store.mark_running

            def refuse_twice(**arguments: Any) -> None:
                nonlocal tried
                tried += 1
                assert house.mode.prompts == []
                if tried <= 2:
                    raise StoreUnavailable
                mark_running(**arguments)

            monkeypatch.setattr(house.store, "mark_running", refuse_twice)
            await house.write(1, "one")
            await eventually_async(lambda: house.mode.prompts == ["one"])
            assert tried == 3

    asyncio.run(story())


def test_the_end_leaves_a_cut_run_for_the_next_process_to_ask_about(house: House) -> None:
    async def story() -> None:
        async with house.running():
            await house.write(1, "one")
            await house.write(2, "two")
            await house.state(1, "running")
        async with house.running():
            await house.state(1, "cut_off")
            await eventually_async(lambda: house.mode.prompts == ["two"])

    asyncio.run(story())


def test_what_was_written_while_nobody_was_here_is_marked(house: House) -> None:
    async def story() -> None:
        async with house.running(EchoMode()):
            carrier = {"chat": {"id": 7}, "message_id": 1, "date": 1_000_000_000, "text": "old"}
            await house.session.admit("message", delivery_id(1), 1, carrier)
            await house.state(1, "done")
            mark, answer = house.thread.texts
            assert mark.startswith("sent 9 Sep ") and mark.endswith(", while stopped")
            assert answer == "old"

    asyncio.run(story())


def test_a_thread_is_left_once_telegram_deleted_it(house: House) -> None:
    async def story() -> None:
        async with house.running():
            await house.write(1, "one")
            await house.state(1, "running")
            await house.write(2, "two")
            await house.write(3, "/close")
            await eventually_async(lambda: "Delete this thread" in house.thread.texts[-1])
            house.thread.failures["leave"] = [CallRefused("no rights."), LeaderUnavailable()]
            await house.press(4, house.thread.button("Delete"))
            await eventually_async(
                lambda: house.thread.texts[-1]
                == "This thread could not be deleted: no rights. It stays, and its process goes on."
            )
            assert not house.session.left.is_set()
            await house.write(5, "/close")
            await eventually_async(lambda: house.thread.texts[-1].startswith("Delete this thread"))
            await house.press(6, house.thread.button("Delete"))
            await asyncio.wait_for(house.session.left.wait(), 5)
            for number in (1, 2):
                await house.state(number, "done")

    asyncio.run(story())
