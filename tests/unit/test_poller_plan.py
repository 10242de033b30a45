"""Decisions of the poller: what follows each end of a getUpdates, and that nothing is confirmed early."""

from typing import Any

import pytest

from actors.correspondence import Unanswered
from actors.plans.call_result import TOKEN_OF_ANOTHER_BOT, CallResult, Ending
from actors.plans.effects import Now, Perform, Reply, Send, WakeAfter
from actors.plans.poller import ALLOWED_UPDATES, CURSOR_AGAIN_MS, PollerPlan
from messages.actor import CommandFailed
from messages.envelope import Envelope
from messages.inbox import (
    AdmissionRefused,
    AdmitUpdates,
    CursorFetched,
    FetchCursor,
    UpdatesAdmitted,
)
from messages.leader import EpochLost
from messages.poller import (
    PollConflict,
    PollingStarted,
    PollingStopped,
    StartPolling,
    StopPolling,
)
from messages.telegram_gateway import TokenAccepted, TokenRefused

FOREIGN = CallResult(
    Ending.REJECTED, None, "Conflict: terminated by other getUpdates request; make sure …", 409
)
WEBHOOK = CallResult(
    Ending.REJECTED, None, "Conflict: can't use getUpdates method while webhook is active; …", 409
)
UNAUTHORIZED = CallResult(Ending.UNAUTHORIZED, None, "Unauthorized", 401)
UNCLEAR = CallResult(Ending.UNCLEAR)


def batch(*ids: Any) -> CallResult:
    return CallResult(Ending.ANSWERED, result=[{"update_id": number} for number in ids])


class Polling:
    """A plan with what it wanted in its last step."""

    def __init__(self) -> None:
        self.plan = PollerPlan()
        self.at = 1_000
        self.effects: tuple[Any, ...] = ()

    def hear(self, handler: str, *arguments: Any) -> "Polling":
        now = Now(wall=0, boot=self.at)
        self.plan, self.effects = getattr(self.plan, handler)(*arguments, now)
        return self

    def told(self, body: Any) -> "Polling":
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in body.KIND)
        return self.hear(f"on{name}", Envelope(body, f"m/{body.KIND}", "poller"))

    def ended(self, result: Any, operation: str = "get_updates") -> "Polling":
        return self.hear(f"on_performed_{operation}", str(self.plan.turn), result)

    def started(self, cursor: int | None = 9) -> "Polling":
        return self.told(StartPolling()).told(CursorFetched(cursor=cursor))

    def woken(self) -> "Polling":
        self.at += self.wait or 0
        return self.hear("on_wakeup_go_on")

    def of(self, kind: type) -> list[Any]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    @property
    def wait(self) -> int | None:
        waits = self.of(WakeAfter)
        return waits[0].delay_ms if waits else None

    @property
    def params(self) -> dict[str, Any] | None:
        polls = [each for each in self.of(Perform) if each.operation == "get_updates"]
        return polls[0].arguments["params"] if polls else None

    @property
    def said(self) -> list[Any]:
        return [send.body for send in self.of(Send)]


def test_first_poll_follows_the_cursor_at_once() -> None:
    polling = Polling().told(StartPolling())
    assert polling.of(Reply) == [Reply("m/StartPolling", PollingStarted())]
    assert polling.said == [FetchCursor()]
    polling.told(CursorFetched(cursor=9))
    assert polling.params == {
        "timeout": 25,
        "limit": 100,
        "allowed_updates": ["message", "edited_message", "callback_query", "message_reaction"],
        "offset": 10,
    }
    assert polling.of(Perform)[0].arguments["budget_s"] == 35
    assert list(ALLOWED_UPDATES) == polling.params["allowed_updates"]


def test_without_a_cursor_there_is_no_offset() -> None:
    assert "offset" not in (Polling().started(cursor=None).params or {})


@pytest.mark.case("F75")
def test_second_start_begins_nothing() -> None:
    polling = Polling().started().told(StartPolling())
    assert polling.effects == (Reply("m/StartPolling", PollingStarted()),)


@pytest.mark.case("guarantee 2", "F82")
def test_offset_moves_only_after_the_inbox_has_the_batch() -> None:
    polling = Polling().started().ended(batch(10, 12))
    assert polling.said == [AdmitUpdates(updates=[{"update_id": 10}, {"update_id": 12}])]
    assert polling.params is None and polling.plan.phase == "persisting"
    polling.told(UpdatesAdmitted(cursor=12))
    assert polling.params is not None and polling.params["offset"] == 13


@pytest.mark.case("F94")
def test_empty_batch_is_followed_by_the_next_poll() -> None:
    polling = Polling().started().ended(batch())
    assert polling.params is not None and polling.params["offset"] == 10
    assert polling.said == []


def test_after_a_silent_day_the_inbox_is_asked_whether_the_offset_still_holds() -> None:
    polling = Polling().started()
    polling.at += CURSOR_AGAIN_MS - 1
    assert polling.ended(batch()).params is not None
    polling.at += 1
    assert polling.ended(batch()).said == [FetchCursor()]
    polling.told(CursorFetched(cursor=None))
    assert polling.params is not None and "offset" not in polling.params
    assert polling.ended(batch(4)).said == [AdmitUpdates(updates=[{"update_id": 4}])]
    polling.told(UpdatesAdmitted(cursor=4))
    polling.at += CURSOR_AGAIN_MS - 1
    polling.ended(batch())
    assert polling.params is not None and polling.params["offset"] == 5


@pytest.mark.case("F80", "F81")
@pytest.mark.parametrize(
    "result",
    [
        batch(10, 12, 11),
        batch(9),
        batch(10, 10),
        batch("10"),
        batch(True),
        batch(-1),
        batch(10.0),
        CallResult(Ending.ANSWERED, result=[1]),
        CallResult(Ending.ANSWERED, result=True),
        CallResult(Ending.ANSWERED, result=[{}]),
    ],
)
def test_batch_out_of_order_is_refused_whole(result: CallResult) -> None:
    polling = Polling().started().ended(result)
    assert polling.said == [] and polling.wait == 3_000
    assert polling.woken().params is not None
    assert polling.plan.cursor == 9


@pytest.mark.parametrize(
    "refusal",
    [
        AdmissionRefused(reason="capacity", text="full"),
        CommandFailed(reason="store", text="disk"),
    ],
)
def test_refused_admission_asks_for_the_cursor_again(refusal: Any) -> None:
    polling = Polling().started().ended(batch(10)).told(refusal)
    assert polling.wait == 3_000 and polling.params is None
    assert polling.woken().said == [FetchCursor()]
    polling.told(CursorFetched(cursor=10))
    assert polling.params is not None and polling.params["offset"] == 11


def test_unanswered_inbox_is_asked_again() -> None:
    polling = Polling().told(StartPolling())
    polling.hear("on_unanswered", Unanswered("x", FetchCursor(), "deadline"))
    assert polling.wait == 3_000 and polling.woken().said == [FetchCursor()]


def test_answer_to_an_older_question_changes_nothing() -> None:
    polling = Polling().started()
    for stale in (CursorFetched(cursor=3), UpdatesAdmitted(cursor=3)):
        assert polling.told(stale).effects == ()
    assert polling.hear("on_performed_get_updates", "0", batch(10)).effects == ()
    polling.ended(batch(10)).told(UpdatesAdmitted(cursor=4))
    assert polling.effects == () and polling.plan.cursor == 9


@pytest.mark.case("F88")
def test_other_errors_wait_one_second_and_then_three() -> None:
    polling = Polling().started()
    waits = [polling.ended(UNCLEAR).wait]
    waits += [polling.woken().ended(UNCLEAR).wait for _ in range(2)]
    assert waits == [1_000, 3_000, 3_000]
    polling.woken().ended(batch())
    assert polling.ended(None).wait == 1_000


def test_flood_waits_as_long_as_asked() -> None:
    flood = CallResult(Ending.FLOOD, None, "Too Many Requests", 429, 7)
    assert Polling().started().ended(flood).wait == 7_000


@pytest.mark.case("F86", "F87")
def test_foreign_poller_is_told_from_the_first_and_never_spun_against() -> None:
    polling = Polling().started().ended(FOREIGN)
    assert polling.said == [PollConflict(cause="foreign-poller")]
    waits = [polling.wait]
    for _ in range(8):
        polling.woken().ended(FOREIGN)
        assert polling.said == []
        waits.append(polling.wait)
    assert waits == [1_000, 1_000, 3_000, 5_000, 10_000, 20_000, 30_000, 30_000, 30_000]
    assert polling.plan.phase == "conflict"
    # One answered poll proves little: whoever was sent away takes its time to come again.
    assert polling.woken().ended(batch()).said == []
    assert polling.params is not None and polling.params["timeout"] == 25
    assert polling.ended(FOREIGN).wait == 1_000
    polling.woken().at += 35_000
    assert polling.ended(batch()).said == [PollConflict(cause="solved")]


def test_a_webhook_is_told_apart_and_left_alone() -> None:
    polling = Polling().started().ended(WEBHOOK)
    assert polling.said == [PollConflict(cause="webhook")]
    assert polling.wait == 1_000 and polling.of(Perform) == []
    assert polling.woken().params is not None
    # It is gone as soon as a poll is answered.
    assert polling.ended(batch()).said == [PollConflict(cause="solved")]


def test_refused_token_pauses_and_is_told_once() -> None:
    polling = Polling().started().ended(UNAUTHORIZED)
    assert polling.said == [TokenRefused(description="Unauthorized")]
    assert polling.wait == 5_000
    assert polling.woken().ended(UNAUTHORIZED).said == []
    other = CallResult(Ending.UNAUTHORIZED, None, TOKEN_OF_ANOTHER_BOT)
    assert polling.woken().ended(other).said == [TokenRefused(description=TOKEN_OF_ANOTHER_BOT)]
    assert polling.woken().ended(other).said == []
    assert polling.woken().ended(batch()).said == [TokenAccepted()]


def test_deposed_poller_stops_and_tells() -> None:
    polling = Polling().started().ended(CallResult(Ending.DEPOSED))
    assert polling.said == [EpochLost(where="poller")]
    assert polling.plan.phase == "stopped" and polling.wait is None


def test_late_lease_is_tried_again_soon() -> None:
    polling = Polling().started().ended(CallResult(Ending.LATE))
    assert polling.said == [EpochLost(where="poller")] and polling.wait == 250
    assert polling.woken().params is not None


@pytest.mark.case("F89")
@pytest.mark.parametrize("phase", ["starting", "long-poll", "persisting", "retrying"])
def test_stop_is_answered_when_nothing_is_under_way(phase: str) -> None:
    polling = Polling().told(StartPolling())
    if phase != "starting":
        polling.told(CursorFetched(cursor=9))
    if phase == "persisting":
        polling.ended(batch(10))
    if phase == "retrying":
        polling.ended(UNCLEAR)
    assert polling.plan.phase == phase
    turn = polling.plan.turn
    polling.told(StopPolling())
    abort = polling.effects[0]
    assert polling.effects == (Perform("abort", f"abort/{turn}", {}),)
    for late in (
        lambda: polling.hear("on_performed_get_updates", str(turn), batch(10)),
        lambda: polling.told(UpdatesAdmitted(cursor=10)),
        lambda: polling.told(CursorFetched(cursor=10)),
        polling.woken,
    ):
        assert late().effects == ()
    polling.hear("on_performed_abort", abort.operation_id, None)
    assert polling.effects == (Reply("m/StopPolling", PollingStopped()),)


def test_description_tells_health() -> None:
    polling = Polling()
    assert polling.plan.describe(Now(0, 500))["last_response_age_ms"] is None
    polling.started()
    polling.at = 4_000
    polling.ended(batch())
    polling.at = 9_000
    polling.ended(UNCLEAR)
    assert polling.plan.describe(Now(0, 10_000)) == {
        "phase": "retrying",
        "last_response_age_ms": 6_000,
        "last_end_age_ms": 1_000,
        "cursor": 9,
        "conflicts": 0,
        "responses": 1,
        "last_error": "getUpdates unclear",
    }
