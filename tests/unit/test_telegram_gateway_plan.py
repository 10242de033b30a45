"""Decisions of the gateway: the budget, who goes first, what each end means."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from actors.plans.call_queue import CONNECTIONS, LONG_QUEUE, CallQueue
from actors.plans.call_result import CallResult, Ending
from actors.plans.effects import Now, Perform, Reply, Send, WakeAfter
from actors.plans.telegram_gateway import TelegramGatewayPlan
from actors.plans.waiting_call import ANSWER_MARGIN_MS
from messages.envelope import Envelope
from messages.leader import EpochLost
from messages.telegram_gateway import (
    CallTelegram,
    TelegramAnswered,
    TelegramRefused,
    TokenAccepted,
    TokenRefused,
)

CHAT, GROUP = 42, -100
MESSAGE = {"message_id": 5, "chat": {"id": CHAT}}
DONE = CallResult(Ending.ANSWERED, result=True)
BAD_GATEWAY = CallResult(Ending.UNCLEAR, description="Bad Gateway", error_code=502)


class Gateway:
    """A plan with a clock of its own, and what it wanted so far."""

    def __init__(self, local: bool = False) -> None:
        self.plan = TelegramGatewayPlan(queue=CallQueue(local=local))
        self.at = 10_000
        self.went: list[str] = []
        self.said: dict[str, Any] = {}
        self.told: list[Any] = []
        self.wake_at: int | None = None
        self.params: dict[str, Mapping[str, Any]] = {}

    def _take(self, step: tuple[TelegramGatewayPlan, Any]) -> None:
        self.plan, effects = step
        for effect in effects:
            match effect:
                case Perform():
                    self.went.append(effect.operation_id)
                    self.params[effect.operation_id] = effect.arguments
                case Reply():
                    assert effect.command_id not in self.said, "answered twice"
                    self.said[effect.command_id] = effect.body
                case Send():
                    assert effect.to == "leader"
                    self.told.append(effect.body)
                case WakeAfter():
                    self.wake_at = self.at + effect.delay_ms

    @property
    def now(self) -> Now:
        return Now(wall=0, boot=self.at)

    def ask(
        self,
        name: str,
        method: str = "sendMessage",
        priority: str = "final",
        deadline: int | None = None,
        **params: Any,
    ) -> None:
        body = CallTelegram(method=method, params={"chat_id": CHAT, **params}, priority=priority)
        envelope = Envelope(body, name, "telegram_gateway", deadline=deadline)
        self._take(self.plan.on_call_telegram(envelope, self.now))

    def end(self, name: str, result: CallResult = DONE) -> None:
        self._take(self.plan.on_performed_call(name, result, self.now))

    def sleep_until(self, at: int) -> None:
        """Let the plan be woken as often as it asked to be."""
        while self.wake_at is not None and self.wake_at <= at:
            self.at, self.wake_at = max(self.at, self.wake_at), None
            self._take(self.plan.on_wakeup_pump(self.now))
        self.at = at

    def outcome(self, name: str) -> str:
        return self.said[name].outcome


def spend(gateway: Gateway, calls: int, chat: int = CHAT) -> None:
    for number in range(calls):
        name = f"spent{chat}.{number}"
        gateway.ask(name, chat_id=chat, message_thread_id=number)
        assert gateway.went[-1] == name
        gateway.end(name)


# -- the budget ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("local", "chat", "burst", "interval"),
    [(False, CHAT, 30, 1_000), (False, GROUP, 20, 3_000), (True, CHAT, 60, 34)],
)
def test_burst_and_then_the_rate(local: bool, chat: int, burst: int, interval: int) -> None:
    gateway = Gateway(local)
    spend(gateway, burst, chat)
    gateway.ask("next", chat_id=chat)
    assert "next" not in gateway.went
    gateway.sleep_until(gateway.at + interval - 1)
    assert "next" not in gateway.went
    gateway.sleep_until(gateway.at + 1)
    assert gateway.went[-1] == "next"


def test_overall_rate_binds_all_chats_together() -> None:
    gateway = Gateway()
    for chat in range(1, 31):
        spend(gateway, 1, chat)
    gateway.ask("next", chat_id=99)
    assert "next" not in gateway.went
    gateway.sleep_until(gateway.at + 34)
    assert gateway.went[-1] == "next"


def test_call_without_chat_needs_no_budget_of_a_chat() -> None:
    gateway = Gateway()
    spend(gateway, 20, GROUP)
    gateway.ask("popup", "answerCallbackQuery", "control", chat_id=None)
    assert gateway.went[-1] == "popup"


@pytest.mark.case("scenario 9")
def test_eight_busy_threads_stay_under_the_ceiling_and_lose_no_final() -> None:
    gateway = Gateway()
    started: list[int] = []
    finals = []
    for tick in range(0, 60_000, 250):
        gateway.sleep_until(10_000 + tick)
        for thread in range(8):
            name = f"{tick}.{thread}"
            place = {"message_thread_id": thread}
            gateway.ask(f"e{name}", "editMessageText", "edit", message_id=thread, text=name)
            if tick % 2_000 == 0:
                gateway.ask(f"t{name}", "sendChatAction", "typing", action="typing", **place)
            if tick % 20_000 == 0:
                gateway.ask(f"f{name}", text="done", **place)
                finals.append(f"f{name}")
        for name in set(gateway.plan.queue.under_way):
            started.append(gateway.at)
            gateway.end(name)
    gateway.sleep_until(120_000)
    assert set(finals) <= set(gateway.went)
    for first in started:
        within = [at for at in started if first <= at < first + 10_000]
        assert len(within) <= 30 + 10
    shed = [name for name, said in gateway.said.items() if getattr(said, "outcome", "") == "shed"]
    assert shed and not set(shed) & set(finals)
    assert len(gateway.plan.queue.waiting) <= LONG_QUEUE


# -- who goes first -----------------------------------------------------------------------------


def test_order_of_priorities_and_of_acceptance() -> None:
    gateway = Gateway()
    spend(gateway, 30)
    gateway.ask("edit", "editMessageText", "edit", message_id=1)
    gateway.ask("control", priority="control", message_thread_id=1)
    gateway.ask("final 1", message_thread_id=1)
    gateway.ask("final 2", message_thread_id=2)
    del gateway.went[:]
    for _ in range(20):
        gateway.sleep_until(gateway.at + 1_000)
        for name in set(gateway.plan.queue.under_way):
            gateway.end(name)
    assert gateway.went == ["final 1", "final 2", "control", "edit"]


def test_typing_that_cannot_go_at_once_is_shed() -> None:
    gateway = Gateway()
    spend(gateway, 16)
    gateway.ask("typing", "sendChatAction", "typing", message_thread_id=1)
    assert gateway.outcome("typing") == "shed"


def test_typing_goes_once_in_two_seconds_for_each_thread() -> None:
    gateway = Gateway()
    for name, thread in (("a", 1), ("b", 1), ("c", 2)):
        gateway.ask(name, "sendChatAction", "typing", message_thread_id=thread)
        gateway.plan = dataclasses.replace(gateway.plan)
    assert gateway.went == ["a", "c"] and gateway.outcome("b") == "shed"
    gateway.end("a")
    gateway.at += 2_000
    gateway.ask("d", "sendChatAction", "typing", message_thread_id=1)
    assert gateway.went[-1] == "d"


def test_newer_edit_takes_the_turn_of_the_older() -> None:
    gateway = Gateway()
    spend(gateway, 30)
    gateway.ask("old", "editMessageText", "edit", message_id=1, text="1")
    gateway.ask("other", "editMessageText", "edit", message_id=2)
    gateway.ask("new", "editMessageText", "edit", message_id=1, text="12")
    assert gateway.outcome("old") == "shed"
    gateway.sleep_until(gateway.at + 60_000)
    assert [name for name in gateway.went if not name.startswith("spent")] == ["new", "other"]


@pytest.mark.parametrize("method", ["editMessageText", "deleteMessage"])
def test_final_change_of_a_message_replaces_a_waiting_edit(method: str) -> None:
    gateway = Gateway()
    spend(gateway, 30)
    gateway.ask("old", "editMessageText", "edit", message_id=1)
    gateway.ask("last", method, "final", message_id=1)
    assert gateway.outcome("old") == "shed"


def test_edit_of_buttons_does_not_replace_an_edit_of_text() -> None:
    gateway = Gateway()
    spend(gateway, 30)
    gateway.ask("text", "editMessageText", "edit", message_id=1)
    gateway.ask("buttons", "editMessageReplyMarkup", "edit", message_id=1)
    assert not {"text", "buttons"} & set(gateway.said)


def test_edits_are_shed_when_the_queue_is_long_and_finals_never() -> None:
    gateway = Gateway()
    spend(gateway, 30)
    for number in range(LONG_QUEUE):
        gateway.ask(f"final {number}", message_thread_id=1)
    gateway.ask("edit", "editMessageText", "edit", message_id=1)
    gateway.ask("one more", message_thread_id=1)
    assert gateway.outcome("edit") == "shed"
    assert "one more" not in gateway.said


def test_edits_leave_part_of_the_burst_to_finals() -> None:
    gateway = Gateway()
    spend(gateway, 24)
    gateway.ask("edit", "editMessageText", "edit", message_id=1)
    gateway.ask("final", message_thread_id=1)
    assert gateway.went[-1] == "final" and "edit" not in gateway.went


def test_one_thread_keeps_its_order_and_others_go_beside_it() -> None:
    gateway = Gateway()
    gateway.ask("1", message_thread_id=1)
    gateway.ask("2", message_thread_id=1)
    gateway.ask("3", message_thread_id=2)
    gateway.ask("4", priority="control", message_thread_id=1)
    assert gateway.went == ["1", "3", "4"]
    gateway.end("1")
    assert gateway.went[-1] == "2"


def test_edit_never_overtakes_the_edit_before_it() -> None:
    gateway = Gateway()
    gateway.ask("part", "editMessageText", "edit", message_id=1)
    gateway.ask("whole", "editMessageText", "final", message_id=1)
    assert gateway.went == ["part"]
    gateway.end("part", BAD_GATEWAY)
    assert gateway.went == ["part", "whole"] and gateway.outcome("part") == "shed"


def test_no_more_calls_than_connections() -> None:
    gateway = Gateway()
    for number in range(CONNECTIONS + 1):
        gateway.ask(str(number), message_thread_id=number)
    assert len(gateway.went) == CONNECTIONS
    gateway.end("0")
    assert len(gateway.went) == CONNECTIONS + 1


# -- waiting too long ---------------------------------------------------------------------------


def test_call_that_waits_past_its_deadline_is_unavailable() -> None:
    gateway = Gateway()
    gateway.ask("first", message_thread_id=1)
    deadline = gateway.at + 5_000
    gateway.ask("second", message_thread_id=1, deadline=deadline)
    gateway.sleep_until(deadline - ANSWER_MARGIN_MS - 1)
    assert "second" not in gateway.said
    gateway.sleep_until(deadline - ANSWER_MARGIN_MS)
    assert gateway.outcome("second") == "unavailable"
    gateway.end("first")
    assert gateway.went == ["first"]


@pytest.mark.case("scenario 9")
def test_retry_after_stops_exactly_that_chat() -> None:
    gateway = Gateway()
    gateway.ask("here")
    gateway.end("here", CallResult(Ending.FLOOD, None, "Too Many Requests", 429, 30))
    gateway.ask("also here", "editMessageText", "control", message_id=1)
    gateway.ask("text id", chat_id=str(CHAT), deadline=gateway.at + 10_000)
    gateway.ask("there", chat_id=CHAT + 1)
    assert gateway.went == ["here", "there"]
    assert gateway.plan.describe(gateway.now)["paused_chats"] == [
        {"chat": str(CHAT), "for_ms": 30_000}
    ]
    gateway.sleep_until(gateway.at + 29_999)
    assert gateway.went == ["here", "there"]
    assert gateway.said["text id"].retry_after == 21
    gateway.sleep_until(gateway.at + 1)
    assert gateway.went == ["here", "there", "here", "also here"]


@pytest.mark.case("F169")
def test_flooded_send_goes_once_more() -> None:
    gateway = Gateway()
    gateway.ask("send")
    gateway.end("send", CallResult(Ending.FLOOD, None, "Too Many Requests", 429, 3))
    gateway.sleep_until(gateway.at + 3_000)
    assert gateway.went == ["send", "send"]
    gateway.end("send", CallResult(Ending.ANSWERED, result=MESSAGE))
    assert gateway.said["send"] == TelegramAnswered(result=MESSAGE)


@pytest.mark.case("F173")
def test_flooded_typing_is_shed() -> None:
    gateway = Gateway()
    gateway.ask("typing", "sendChatAction", "typing")
    gateway.end("typing", CallResult(Ending.FLOOD, None, "Too Many Requests", 429, 3))
    assert gateway.outcome("typing") == "shed"


def test_flood_without_end_is_an_answer() -> None:
    gateway = Gateway()
    gateway.ask("send")
    for _ in range(5):
        assert "send" not in gateway.said
        gateway.end("send", CallResult(Ending.FLOOD, None, "Too Many Requests", 429, 3))
        gateway.sleep_until(gateway.at + 3_000)
    assert gateway.said["send"] == TelegramRefused(
        outcome="rejected", description="Too Many Requests", error_code=429, retry_after=3
    )


# -- what an end means --------------------------------------------------------------------------


@pytest.mark.case("F168", "F171")
@pytest.mark.parametrize(
    ("ending", "want_outcome"),
    [
        (Ending.REJECTED, "rejected"),
        (Ending.UNSENT, "unavailable"),
        (Ending.UNCLEAR, "commit-unknown"),
        (Ending.DEPOSED, "fenced"),
        (Ending.UNAUTHORIZED, "unauthorized"),
    ],
)
def test_send_is_tried_once(ending: Ending, want_outcome: str) -> None:
    gateway = Gateway()
    gateway.ask("send")
    gateway.end("send", CallResult(ending, None, "why", 500))
    assert gateway.said["send"] == TelegramRefused(
        outcome=want_outcome, description="why", error_code=500
    )
    gateway.sleep_until(gateway.at + 60_000)
    assert gateway.went == ["send"]


@pytest.mark.case("F170")
def test_edit_succeeds_at_the_third_try() -> None:
    gateway = Gateway()
    start = gateway.at
    gateway.ask("edit", "editMessageText", "final", message_id=1)
    gateway.end("edit", BAD_GATEWAY)
    gateway.sleep_until(start + 500)
    assert len(gateway.went) == 2
    gateway.end("edit", BAD_GATEWAY)
    gateway.sleep_until(start + 1_499)
    assert len(gateway.went) == 2
    gateway.sleep_until(start + 1_500)
    gateway.end("edit")
    assert gateway.said["edit"] == TelegramAnswered(result=True)


@pytest.mark.parametrize(
    ("ending", "want"), [(Ending.UNSENT, "unavailable"), (Ending.UNCLEAR, "commit-unknown")]
)
def test_repeatable_call_gives_up_after_three_tries(ending: Ending, want: str) -> None:
    gateway = Gateway()
    gateway.ask("close", "deleteForumTopic", "control", message_thread_id=1)
    for _ in range(3):
        gateway.end("close", CallResult(ending))
        gateway.sleep_until(gateway.at + 2_000)
    assert len(gateway.went) == 3 and gateway.outcome("close") == want


def test_unchanged_message_is_a_success() -> None:
    gateway = Gateway()
    words = "Bad Request: message is not modified: specified new message content …"
    gateway.ask("edit", "editMessageText", "edit", message_id=1)
    gateway.end("edit", CallResult(Ending.REJECTED, None, words, 400))
    assert gateway.said["edit"] == TelegramAnswered(result=True)


def test_io_that_broke_is_commit_unknown() -> None:
    gateway = Gateway()
    gateway.ask("send")
    gateway.end("send", None)  # type: ignore[arg-type]
    assert gateway.outcome("send") == "commit-unknown"


def test_late_lease_is_waited_for_and_told() -> None:
    gateway = Gateway()
    gateway.ask("send", deadline=gateway.at + 30_000)
    for _ in range(5):
        gateway.end("send", CallResult(Ending.LATE))
        gateway.sleep_until(gateway.at + 250)
    gateway.end("send", CallResult(Ending.ANSWERED, result=MESSAGE))
    assert gateway.said["send"] == TelegramAnswered(result=MESSAGE)
    assert gateway.told == [EpochLost(where="telegram_gateway")] * 2


def test_deposition_is_told_once_a_second() -> None:
    gateway = Gateway()
    for number in range(3):
        gateway.ask(str(number), message_thread_id=number)
    for number in range(3):
        gateway.end(str(number), CallResult(Ending.DEPOSED))
    assert gateway.told == [EpochLost(where="telegram_gateway")]
    assert [gateway.outcome(str(number)) for number in range(3)] == ["fenced"] * 3


def test_refused_token_is_told_once_and_so_is_its_end() -> None:
    gateway = Gateway()
    for number in range(2):
        gateway.ask(str(number), "getMe", "control", chat_id=None)
        gateway.end(str(number), CallResult(Ending.UNAUTHORIZED, None, "Unauthorized", 401))
    assert gateway.told == [TokenRefused(description="Unauthorized")]
    assert gateway.plan.describe(gateway.now)["token"] == "refused"
    for number in range(2, 4):
        gateway.ask(str(number), "getMe", "control", chat_id=None)
        gateway.end(str(number))
    assert gateway.told[1:] == [TokenAccepted()]


# -- shown in another thread --------------------------------------------------------------------


@pytest.mark.case("scenario 5")
@pytest.mark.parametrize("end", [DONE, CallResult(Ending.REJECTED, None, "gone", 400)])
def test_message_shown_elsewhere_is_taken_back(end: CallResult) -> None:
    gateway = Gateway()
    gateway.ask("send", message_thread_id=7)
    gateway.end("send", CallResult(Ending.ANSWERED, result=MESSAGE))
    assert gateway.went == ["send", "send/stray"] and not gateway.said
    assert gateway.params["send/stray"] == {
        "method": "deleteMessage", "params": {"chat_id": CHAT, "message_id": 5}
    }
    gateway.end("send/stray", BAD_GATEWAY)
    gateway.sleep_until(gateway.at + 500)
    gateway.end("send/stray", end)
    assert gateway.said["send"] == TelegramRefused(
        outcome="rejected", description="message thread not found: sent elsewhere", error_code=400
    )


def test_album_shown_elsewhere_is_taken_back_whole() -> None:
    gateway = Gateway()
    gateway.ask("album", "sendMediaGroup", message_thread_id=7)
    album = [MESSAGE, {**MESSAGE, "message_id": 6}]
    gateway.end("album", CallResult(Ending.ANSWERED, result=album))
    assert gateway.params["album/stray"]["params"] == {"chat_id": CHAT, "message_ids": [5, 6]}


@pytest.mark.parametrize(
    "result",
    [
        {**MESSAGE, "message_thread_id": 7},
        {"message_id": 5},  # copyMessage tells no thread
        True,
    ],
)
def test_result_that_is_where_it_should_be(result: Any) -> None:
    gateway = Gateway()
    gateway.ask("send", message_thread_id=7)
    gateway.end("send", CallResult(Ending.ANSWERED, result=result))
    assert gateway.said["send"] == TelegramAnswered(result=result)


def test_description_has_counts_and_no_texts() -> None:
    gateway = Gateway()
    gateway.ask("send", text="private")
    gateway.end("send", CallResult(Ending.REJECTED, None, "can't parse 'private'", 400))
    described = gateway.plan.describe(gateway.now)
    assert described == {
        "calls": 1,
        "refused": 1,
        "waiting": 0,
        "under_way": 0,
        "paused_chats": [],
        "token": "ok",
        "last_error": "sendMessage rejected 400",
    }
