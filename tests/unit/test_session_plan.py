"""What runs, what waits and what is asked: the decisions of the session."""

import dataclasses
from typing import Any

import pytest

from actors.plans.delivery import Content, Item, Progress, read
from actors.plans.effects import Effects, Now, Perform, WakeAfter, Write
from actors.plans.session import SessionPlan
from actors.plans.session_effects import RETRY_WAITS_MS
from actors.plans.session_events import (
    Delivered,
    Delivery,
    Restored,
    RunEnded,
    RunOutcome,
    Traits,
)

COMMAND = Traits(repeats=False, stoppable=True, announces_queue=True)
ECHO = Traits(repeats=True, stoppable=False, announces_queue=False)
START = 1_700_000_000_000
NOTHING_TOLD = Progress()


class Told:
    """A plan that is told events, with everything that it asked for since it was last looked at."""

    def __init__(self, traits: Traits = COMMAND) -> None:
        self.plan = SessionPlan(traits=traits, started_at=START)
        self.now = Now(wall=START, boot=1_000)
        self.effects: list[Any] = []
        self._updates = 0

    def tell(self, handler: str, *arguments: Any) -> None:
        """One event."""
        self.plan, effects = getattr(self.plan, handler)(*arguments, self.now)
        self.effects += effects

    def later(self, milliseconds: int) -> None:
        """Time passes and the plan is woken."""
        self.now = Now(self.now.wall + milliseconds, self.now.boot + milliseconds)
        self.tell("on_wakeup_retry")

    def looked(self) -> Effects:
        """What was asked for since the last look."""
        effects, self.effects = tuple(self.effects), []
        return effects

    def admit(self, text: str, *, date: int | None = None, message_id: int | None = None) -> str:
        """The owner writes a message."""
        self._updates += 1
        message: dict[str, Any] = {
            "chat": {"id": 7},
            "message_id": message_id or self._updates,
            "date": START // 1_000 if date is None else date,
            "text": text,
        }
        return self.give("message", message)

    def give(self, kind: str, carrier: dict[str, Any]) -> str:
        """A delivery of any kind is admitted."""
        delivery_id = f"d{len(self.all_ids) + 1:08x}"
        self.all_ids.append(delivery_id)
        self.tell("on_admitted", read(delivery_id, kind, carrier))
        return delivery_id

    @property
    def all_ids(self) -> list[str]:
        """Every id that was given out."""
        return self.__dict__.setdefault("ids", [])

    def press(self, data: str, message_id: int = 900) -> str:
        """The owner presses a button."""
        message = {"message_id": message_id}
        carrier = {"id": f"cb{len(self.all_ids)}", "data": data, "message": message}
        return self.give("callback_query", carrier)

    def ended(self, delivery_id: str, *parts: str, **how: Any) -> None:
        """The mode is done with a prompt."""
        outcome = how.pop("outcome", RunOutcome.ANSWERED)
        self.tell("on_performed_run", RunEnded(delivery_id, outcome, parts=parts, **how))

    def delivered(self, delivery_id: str, outcome: Delivery = Delivery.SENT, sent: int = 0) -> None:
        """The sending of an answer ended, after `sent` parts were surely sent."""
        for _ in range(sent):
            self.tell("on_part_sent", delivery_id)
        self.tell("on_performed_deliver", Delivered(delivery_id, outcome))


def performed(effects: Effects, operation: str) -> list[tuple[str, Any]]:
    """The delivery and the arguments of each such operation."""
    return [
        (effect.operation_id, dict(effect.arguments))
        for effect in effects
        if isinstance(effect, Perform) and effect.operation == operation
    ]


def started(effects: Effects) -> list[str]:
    """The deliveries whose run was started."""
    return [delivery_id for delivery_id, _ in performed(effects, "run")]


def texts_of(effects: Effects, operation: str) -> list[str]:
    """The texts of each such operation."""
    return [arguments["text"] for _, arguments in performed(effects, operation)]


def written(effects: Effects) -> list[tuple[str, str]]:
    """The method and the delivery of each write."""
    return [
        (effect.method, effect.arguments["delivery_id"])
        for effect in effects
        if isinstance(effect, Write)
    ]


def restored(
    state: str, text: str = "prompt", progress: Progress = NOTHING_TOLD, number: int = 1
) -> Restored:
    """A delivery that an earlier process left."""
    item = Item(
        f"r{number:08x}",
        Content.PROMPT,
        chat_id=7,
        message_id=number,
        text=text,
        progress=progress,
    )
    return Restored(item, state)


# -- order -----------------------------------------------------------------------------------------


def test_prompts_run_one_after_another_in_the_order_of_admission() -> None:
    told = Told()
    first, second, third = told.admit("one"), told.admit("two"), told.admit("three")
    assert started(told.looked()) == [first]
    told.ended(first, "1")
    assert started(told.looked()) == []
    told.delivered(first, sent=1)
    assert started(told.looked()) == [second]
    told.ended(second)
    assert started(told.looked()) == [third]


def test_a_run_is_marked_before_it_is_started_and_done_after_its_answer() -> None:
    told = Told()
    first = told.admit("one")
    assert written(told.looked()) == [("mark_running", first)]
    told.ended(first, "a", "b")
    assert written(told.looked()) == [("record_progress", first)]
    told.tell("on_part_sent", first)
    assert written(told.looked()) == [("record_progress", first)]
    told.tell("on_part_sent", first)
    assert written(told.looked()) == []
    told.delivered(first)
    assert written(told.looked()) == [("mark_done", first)]


def test_a_waiting_prompt_is_told_how_many_are_before_it() -> None:
    told = Told()
    for text in ("one", "two", "three"):
        told.admit(text)
    assert texts_of(told.looked(), "announce") == ["Queued, 1 before it.", "Queued, 2 before it."]


def test_echo_tells_nobody_to_wait() -> None:
    told = Told(ECHO)
    told.admit("one")
    told.admit("two")
    assert texts_of(told.looked(), "announce") == []


def test_a_message_from_before_the_start_is_marked_as_such() -> None:
    told = Told()
    first = told.admit("old", date=START // 1_000 - 60)
    (run,) = performed(told.looked(), "run")
    assert run == (
        first,
        {
            "text": "old",
            "reply_to": 1,
            "sent_at": START - 60_000,
            "sent_while_stopped": START - 60_000,
            "remark": "",
        },
    )
    told.ended(first)
    told.looked()
    told.admit("new")
    ((_, arguments),) = performed(told.looked(), "run")
    assert arguments["sent_while_stopped"] is None


# -- control overtakes work ------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["/stop", "/abort", "/STOP@some_bot", "  /Abort now"])
def test_a_stop_acts_at_once_and_the_queue_stays(text: str) -> None:
    told = Told()
    first, second = told.admit("endless"), told.admit("next")
    told.looked()
    stop = told.admit(text)
    effects = told.looked()
    assert performed(effects, "stop") == [(stop, {})] and started(effects) == []
    told.ended(first, "half")
    effects = told.looked()
    said = {"text": "Stopped.", "reply_to": 3, "buttons": ()}
    assert performed(effects, "say") == [(stop, said)]
    told.tell("on_performed_say", stop)
    assert written(told.looked()) == [("mark_done", stop)]
    told.delivered(first)
    assert started(told.looked()) == [second]


def test_every_stop_is_answered() -> None:
    told = Told()
    first = told.admit("endless")
    stops = [told.admit("/stop"), told.admit("/abort")]
    told.looked()
    told.ended(first)
    assert [delivery_id for delivery_id, _ in performed(told.looked(), "say")] == stops


@pytest.mark.parametrize("traits", [COMMAND, ECHO])
def test_a_stop_with_nothing_running_says_so(traits: Traits) -> None:
    told = Told(traits)
    told.admit("/stop")
    assert texts_of(told.looked(), "say") == ["Nothing is running."]


def test_a_stop_while_the_answer_is_sent_finds_nothing_running() -> None:
    told = Told()
    told.ended(told.admit("quick"), "done")
    told.looked()
    told.admit("/stop")
    assert texts_of(told.looked(), "say") == ["Nothing is running."]


def test_the_status_is_told_at_once() -> None:
    told = Told()
    told.admit("/status")
    told.admit("one")
    told.admit("two")
    told.later(12_000)
    told.admit("/status")
    assert texts_of(told.looked(), "say") == ["Idle, nothing waits.", "Working for 12 s, 1 waiting."]


def test_ordinary_words_that_look_like_commands_are_prompts() -> None:
    told = Told()
    assert started((told.admit("/unknown"), told.looked())[1]) == ["d00000001"]


# -- edits and what is no text ---------------------------------------------------------------------


def edited(message_id: int, text: str, chat_id: int = 7) -> dict[str, Any]:
    """An edited message."""
    return {"chat": {"id": chat_id}, "message_id": message_id, "date": 1, "text": text}


def test_an_edit_changes_a_prompt_that_waits() -> None:
    told = Told()
    first, second = told.admit("one"), told.admit("two")
    told.looked()
    edit = told.give("edited_message", edited(2, "changed"))
    assert written(told.looked()) == [("edit_pending", second), ("mark_done", edit)]
    told.ended(first)
    ((_, arguments),) = performed(told.looked(), "run")
    assert arguments["text"] == "changed"


@pytest.mark.parametrize(
    "carrier", [edited(1, "running"), edited(2, "other chat", 8), edited(9, "unknown")]
)
def test_any_other_edit_is_done_without_effect(carrier: dict[str, Any]) -> None:
    told = Told()
    first = told.admit("one")
    told.admit("two")
    told.looked()
    edit = told.give("edited_message", carrier)
    assert told.looked() == (Write("deliveries", "mark_done", {"delivery_id": edit, "now": START}),)
    told.ended(first)
    ((_, arguments),) = performed(told.looked(), "run")
    assert arguments["text"] == "two"


@pytest.mark.parametrize(
    ("kind", "carrier"),
    [
        ("message_reaction", {"chat": {"id": 7}, "message_id": 1, "new_reaction": []}),
        ("message", {"chat": {"id": 7}, "message_id": 1, "forum_topic_edited": {}}),
        ("message", {"chat": {"id": 7}, "message_id": "1", "text": "x"}),
        ("message", {}),
        ("callback_query", {"data": "x"}),
        ("edited_message", {"chat": None}),
        ("something_new", {"chat": {"id": 7}, "message_id": 1, "text": "x"}),
    ],
)
def test_what_asks_for_nothing_is_done(kind: str, carrier: dict[str, Any]) -> None:
    told = Told()
    given = told.give(kind, carrier)
    done = Write("deliveries", "mark_done", {"delivery_id": given, "now": START})
    assert told.looked() == (done,)


def test_a_message_without_text_is_answered() -> None:
    told = Told()
    told.give("message", {"chat": {"id": 7}, "message_id": 1, "date": 1, "voice": {}})
    (text,) = texts_of(told.looked(), "say")
    assert text.startswith("Only text")


def test_a_caption_is_a_prompt() -> None:
    told = Told()
    photo = {"chat": {"id": 7}, "message_id": 1, "date": 1, "photo": [], "caption": "c"}
    told.give("message", photo)
    ((_, arguments),) = performed(told.looked(), "run")
    assert arguments["text"] == "c"


# -- failures --------------------------------------------------------------------------------------


def test_a_run_that_cannot_start_is_tried_eight_times_and_then_asked_about() -> None:
    told = Told()
    first = told.admit("fix the login of the old page, please, and soon")
    for wait in RETRY_WAITS_MS:
        assert started(told.looked()) == [first]
        told.ended(first, outcome=RunOutcome.NOT_STARTED, reason="OSError")
        effects = told.looked()
        assert [e.delay_ms for e in effects if isinstance(e, WakeAfter)] == [wait]
        told.later(wait - 1)
        assert started(told.looked()) == []
        told.later(1)
    assert started(told.looked()) == [first]
    told.ended(first, outcome=RunOutcome.NOT_STARTED, reason="OSError")
    effects = told.looked()
    assert ("mark_dead", first) in written(effects)
    assert texts_of(effects, "ask") == [
        'Not delivered after 8 tries: "fix the login of the old page, please,…".'
    ]
    ((_, arguments),) = performed(effects, "ask")
    assert arguments["buttons"] == (
        ("Try again", "s:try:00000001"),
        ("Drop", "s:drop:00000001"),
    )


def test_others_run_while_a_failed_one_waits() -> None:
    told = Told()
    first, second = told.admit("bad"), told.admit("good")
    told.looked()
    told.ended(first, outcome=RunOutcome.NOT_STARTED)
    assert started(told.looked()) == [second]
    told.ended(second)
    told.later(1_000)
    assert started(told.looked()) == [first]


def test_a_run_that_broke_in_the_middle_is_not_repeated_unasked() -> None:
    told = Told()
    first = told.admit("one")
    told.looked()
    told.ended(first, outcome=RunOutcome.BROKE, reason="RunLost")
    effects = told.looked()
    assert ("mark_cut_off", first) in written(effects)
    assert texts_of(effects, "ask") == ["This run was cut off."]
    told.later(100_000)
    assert started(told.looked()) == []


def test_echo_that_broke_is_repeated() -> None:
    told = Told(ECHO)
    first = told.admit("one")
    told.looked()
    told.ended(first, outcome=RunOutcome.BROKE)
    told.later(1_000)
    assert started(told.looked()) == [first]


def test_a_refused_answer_is_sent_again_and_the_run_is_not() -> None:
    told = Told()
    first, second = told.admit("one"), told.admit("two")
    told.ended(first, "a", "b", draft=50)
    told.looked()
    told.delivered(first, Delivery.REFUSED, sent=1)
    assert started(told.looked()) == [second]
    told.later(1_000)
    effects = told.looked()
    assert started(effects) == []
    assert performed(effects, "deliver") == [
        (first, {"parts": ("b",), "draft": None, "reply_to": None})
    ]
    told.delivered(first, sent=1)
    assert written(told.looked()) == [("mark_done", first)]


def test_an_answer_that_is_refused_for_good_is_asked_about() -> None:
    told = Told()
    first = told.admit("one")
    told.ended(first, "a")
    told.delivered(first, Delivery.REFUSED)
    for wait in RETRY_WAITS_MS:
        told.later(wait)
        told.delivered(first, Delivery.REFUSED)
    effects = told.looked()
    assert ("mark_dead", first) in written(effects)
    assert len(performed(effects, "deliver")) == 8
    told.press("s:try:00000001")
    effects = told.looked()
    assert started(effects) == []
    sent = {"parts": ("a",), "draft": None, "reply_to": 1}
    assert performed(effects, "deliver") == [(first, sent)]


def test_a_draft_that_is_gone_is_replaced_by_a_message() -> None:
    told = Told()
    first = told.admit("one")
    told.ended(first, "a", draft=50)
    assert performed(told.looked(), "deliver") == [
        (first, {"parts": ("a",), "draft": 50, "reply_to": 1})
    ]
    told.delivered(first, Delivery.DRAFT_LOST)
    effects = told.looked()
    sent = {"parts": ("a",), "draft": None, "reply_to": 1}
    assert performed(effects, "deliver") == [(first, sent)]
    assert written(effects) == [("record_progress", first)]


# -- unclear answers -------------------------------------------------------------------------------


def unclear(sent: int = 0) -> tuple[Told, str]:
    """A session in which a three-part answer became unclear after `sent` parts."""
    told = Told()
    first = told.admit("one")
    told.ended(first, "a", "b", "c")
    told.looked()
    told.delivered(first, Delivery.UNKNOWN, sent=sent)
    return told, first


def test_an_unclear_answer_is_asked_about_once_and_never_repeated_by_itself() -> None:
    told, first = unclear()
    effects = told.looked()
    assert written(effects)[:1] == [("mark_unclear", first)]
    ((_, arguments),) = performed(effects, "ask")
    assert arguments == {
        "text": "An answer may be missing here; the connection broke.",
        "reply_to": 1,
        "buttons": (("Send again", "s:send:00000001"), ("It arrived", "s:ok:00000001")),
    }
    told.tell("on_performed_ask", first)
    assert written(told.looked()) == [("record_progress", first)]
    told.later(100_000)
    assert told.looked() == ()


def test_sending_again_begins_with_the_doubtful_part_and_happens_once() -> None:
    told, first = unclear(sent=1)
    told.looked()
    told.press("s:send:00000001")
    effects = told.looked()
    ((delivery_id, arguments),) = performed(effects, "deliver")
    assert (delivery_id, arguments["parts"]) == (first, ("b", "c"))
    assert ("mark_running", first) in written(effects)
    told.press("s:send:00000001")
    effects = told.looked()
    assert performed(effects, "deliver") == []
    ((_, answer),) = performed(effects, "answer_callback")
    assert answer["text"] == "This is settled already."


def test_what_arrived_is_followed_by_the_rest() -> None:
    told, first = unclear(sent=1)
    told.looked()
    told.press("s:ok:00000001")
    ((_, arguments),) = performed(told.looked(), "deliver")
    assert arguments["parts"] == ("c",)
    told.delivered(first, sent=1)
    assert written(told.looked()) == [("mark_done", first)]


def test_the_last_part_arrived_and_all_is_done() -> None:
    told, first = unclear(sent=2)
    told.looked()
    press = told.press("s:ok:00000001", message_id=77)
    effects = told.looked()
    assert written(effects) == [("mark_done", press), ("mark_done", first)]
    assert performed(effects, "rewrite") == [
        (press, {"message_id": 77, "text": "The connection broke here. The answer arrived."})
    ]


def test_a_doubtful_draft_that_is_the_answer_is_asked_about() -> None:
    told = Told()
    first = told.admit("one")
    told.looked()
    told.ended(first, "whole", doubtful="whole")
    effects = told.looked()
    assert ("mark_unclear", first) in written(effects)
    assert performed(effects, "deliver") == []


def test_a_doubtful_draft_of_the_beginning_only_is_followed_by_the_answer() -> None:
    told = Told()
    first = told.admit("one")
    told.looked()
    told.ended(first, "whole", doubtful="wh")
    assert performed(told.looked(), "deliver") == [
        (first, {"parts": ("whole",), "draft": None, "reply_to": 1})
    ]


# -- what an earlier process left ------------------------------------------------------------------


def test_a_run_of_a_dead_process_is_asked_about_and_the_rest_goes_on() -> None:
    told = Told()
    told.tell("on_started", (restored("running", number=1), restored("pending", number=2)))
    effects = told.looked()
    assert ("mark_cut_off", "r00000001") in written(effects)
    assert texts_of(effects, "ask") == ["This run was cut off."]
    assert started(effects) == ["r00000002"]


def test_echo_of_a_dead_process_is_repeated_in_its_place() -> None:
    told = Told(ECHO)
    told.tell("on_started", (restored("running", number=1), restored("pending", number=2)))
    effects = told.looked()
    assert written(effects)[0] == ("requeue", "r00000001")
    assert started(effects) == ["r00000001"] and performed(effects, "ask") == []


@pytest.mark.parametrize("state", ["cut_off", "unclear", "dead"])
@pytest.mark.parametrize("asked", [True, False])
def test_a_question_is_shown_once_also_over_a_restart(state: str, asked: bool) -> None:
    told = Told()
    told.tell("on_started", (restored(state, progress=Progress(asked=asked)),))
    assert len(performed(told.looked(), "ask")) == (0 if asked else 1)


def test_an_answer_that_was_finished_is_not_a_run_that_was_cut_off() -> None:
    told = Told()
    told.tell("on_started", (restored("running", progress=Progress(parts=("a", "b"), sent=1)),))
    effects = told.looked()
    assert ("mark_unclear", "r00000001") in written(effects)
    told.press("s:send:00000001")
    ((_, arguments),) = performed(told.looked(), "deliver")
    assert arguments["parts"] == ("b",)


def test_an_answer_that_is_edited_in_needs_no_question() -> None:
    told = Told()
    told.tell("on_started", (restored("running", progress=Progress(parts=("a",), draft=50)),))
    effects = told.looked()
    assert performed(effects, "ask") == []
    assert performed(effects, "deliver") == [
        ("r00000001", {"parts": ("a",), "draft": 50, "reply_to": 1})
    ]


def test_a_refused_answer_of_a_dead_process_waits_on_and_is_sent() -> None:
    told = Told()
    row = restored("pending", progress=Progress(parts=("a",)))
    row = dataclasses.replace(row, item=dataclasses.replace(row.item, attempts=2, due_at=3_000))
    told.tell("on_started", (row,))
    assert performed(told.looked(), "deliver") == []
    told.later(2_000)
    assert len(performed(told.looked(), "deliver")) == 1


def test_what_was_kept_aside_stays_there() -> None:
    told = Told()
    told.tell("on_started", (restored("held"),))
    assert told.looked() == ()


def test_progress_survives_its_being_kept() -> None:
    progress = Progress(asked=True, parts=("a", "b"), sent=1, draft=5)
    assert Progress.from_plain(progress.to_plain()) == progress
    assert Progress.from_plain({}) == Progress()


# -- buttons ---------------------------------------------------------------------------------------


def test_run_again_runs_once_however_often_it_is_pressed() -> None:
    told = Told()
    told.tell("on_started", (restored("running", number=1),))
    told.looked()
    told.press("s:again:00000001", message_id=77)
    told.press("s:again:00000001")
    effects = told.looked()
    assert started(effects) == ["r00000001"]
    answers = [arguments["text"] for _, arguments in performed(effects, "answer_callback")]
    assert answers == [None, "This is settled already."]
    assert texts_of(effects, "rewrite") == ["This run was cut off. Running it again."]


def test_run_again_takes_its_old_place_in_the_queue() -> None:
    told = Told()
    told.tell("on_started", (restored("running", number=1), restored("pending", number=2)))
    third = told.admit("three", message_id=3)
    told.press("s:again:00000001")
    told.looked()
    told.ended("r00000002")
    assert started(told.looked()) == ["r00000001"]
    told.ended("r00000001")
    assert started(told.looked()) == [third]


def test_drop_drops() -> None:
    told = Told()
    told.tell("on_started", (restored("cut_off"),))
    told.looked()
    press = told.press("s:drop:00000001")
    assert written(told.looked()) == [("mark_done", press), ("mark_done", "r00000001")]
    assert told.plan.held == ()


def test_a_button_of_another_question_settles_nothing() -> None:
    told = Told()
    told.tell("on_started", (restored("cut_off"),))
    told.looked()
    told.press("s:ok:00000001")
    assert len(told.plan.held) == 1


@pytest.mark.parametrize("data", ["chooser:1", "", "s:again", "s:again:00000001:x"])
def test_a_button_of_somebody_else_is_answered_once_and_does_nothing(data: str) -> None:
    told = Told()
    told.tell("on_started", (restored("cut_off"),))
    told.looked()
    press = told.press(data)
    effects = told.looked()
    assert written(effects) == [("mark_done", press)]
    assert len(performed(effects, "answer_callback")) == 1 and len(effects) == 2


def test_silence_is_asked_about_and_its_button_stops() -> None:
    told = Told()
    first = told.admit("endless")
    told.looked()
    told.tell("on_silent", first, 10)
    ((_, arguments),) = performed(told.looked(), "announce")
    assert arguments["text"] == "No output for 10 minutes."
    ((label, data),) = arguments["buttons"]
    assert label == "Stop" and len(data.encode()) <= 64
    press = told.press(data)
    effects = told.looked()
    assert performed(effects, "stop") == [(press, {})]
    assert len(performed(effects, "answer_callback")) == 1
    told.ended(first)
    assert texts_of(told.looked(), "say") == ["Stopped."]
    told.press(data)
    effects = told.looked()
    assert performed(effects, "stop") == []
    ((_, answer),) = performed(effects, "answer_callback")
    assert answer["text"] == "Nothing is running."


# -- the end ---------------------------------------------------------------------------------------


def test_after_closing_nothing_is_started_and_an_interrupted_run_stays_marked() -> None:
    told = Told()
    first = told.admit("one")
    told.admit("two")
    told.looked()
    told.tell("on_closing")
    told.ended(first, outcome=RunOutcome.INTERRUPTED)
    told.later(100_000)
    assert told.looked() == ()


def test_an_answer_under_way_is_still_settled_while_closing() -> None:
    told = Told()
    first = told.admit("one")
    told.admit("two")
    told.ended(first, "a")
    told.tell("on_closing")
    told.looked()
    told.delivered(first, sent=1)
    effects = told.looked()
    assert written(effects) == [("mark_done", first)] and started(effects) == []


@pytest.mark.parametrize(
    ("handler", "argument"),
    [
        ("on_performed_run", RunEnded("unknown", RunOutcome.ANSWERED, parts=("x",))),
        ("on_performed_deliver", Delivered("unknown", Delivery.SENT)),
        ("on_part_sent", "unknown"),
        ("on_performed_ask", "unknown"),
    ],
)
def test_the_end_of_what_is_not_under_way_changes_nothing(handler: str, argument: Any) -> None:
    told = Told()
    told.admit("one")
    told.looked()
    before = told.plan
    told.tell(handler, argument)
    assert (told.plan, told.looked()) == (before, ())


# -- the other commands ----------------------------------------------------------------------------

CONSOLE = Traits(repeats=True, stoppable=False, announces_queue=False, shows_everything=True)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/help", "What you write here goes to it, and its answers come here."),
        ("/start", "/close  end it and delete this thread"),
        ("/new@work_bot", "Each message here starts afresh"),
        ("/CLOSE", "Delete this thread with everything in it?"),
    ],
)
def test_commands_are_answered_at_once_and_never_run(command: str, words: str) -> None:
    told = Told()
    told.admit("one")
    told.looked()
    given = told.admit(command)
    effects = told.looked()
    assert started(effects) == []
    (text,) = texts_of(effects, "say")
    assert words.lower() in text.lower()
    told.tell("on_performed_say", given)
    assert written(told.looked()) == [("mark_done", given)]


def test_the_status_tells_of_open_questions() -> None:
    told = Told()
    told.tell("on_started", (restored("cut_off"),))
    told.admit("/status")
    assert texts_of(told.looked(), "say") == ["Idle, nothing waits. 1 question above waits for you."]


def test_closing_asks_and_acts_on_the_button_alone() -> None:
    told = Told()
    asked = told.admit("/close")
    ((_, question),) = performed(told.looked(), "say")
    assert [label for label, _ in question["buttons"]] == ["Delete", "Keep"]
    delete, keep = (data for _, data in question["buttons"])
    assert asked.endswith(keep.rpartition(":")[2])

    kept = told.press(keep)
    effects = told.looked()
    assert texts_of(effects, "rewrite") == ["This thread stays."]
    assert performed(effects, "leave") == [] and ("mark_done", kept) in written(effects)

    pressed = told.press(delete, message_id=900)
    assert performed(told.looked(), "leave") == [(pressed, {"message_id": 900})]


def test_with_the_thread_goes_what_waited_in_it() -> None:
    told = Told()
    told.tell("on_started", (restored("cut_off"),))
    running, waiting = told.admit("one"), told.admit("two")
    told.looked()
    told.tell("on_left")
    dropped = {delivery_id for method, delivery_id in written(told.looked()) if method == "mark_done"}
    assert dropped == {running, waiting, "r00000001"}
    told.ended(running, "late answer")
    told.admit("three")
    assert started(told.looked()) == []


# -- the console -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("carrier", "remark", "text"),
    [
        ({"photo": [{}], "caption": "look"}, "photo", "look"),
        ({"voice": {}}, "voice message", ""),
        ({"animation": {}, "document": {}}, "animation", ""),
        ({"venue": {}, "location": {}}, "place", ""),
        ({"document": {"file_name": "../../x"}}, "file", ""),
    ],
)
def test_a_console_shows_attachments_by_a_word(carrier: dict[str, Any], remark: str, text: str) -> None:
    told = Told(CONSOLE)
    told.give("message", {"chat": {"id": 7}, "message_id": 1, **carrier})
    ((_, run),) = performed(told.looked(), "run")
    assert (run["remark"], run["text"]) == (remark, text)


def test_a_console_shows_later_edits_and_changes_what_it_has_not_shown() -> None:
    told = Told(CONSOLE)
    first = told.admit("one", message_id=1)
    told.admit("two", message_id=2)
    told.give("edited_message", {"chat": {"id": 7}, "message_id": 2, "text": "two!"})
    told.give("edited_message", {"chat": {"id": 7}, "message_id": 1, "text": "one!"})
    told.ended(first)
    second = performed(told.looked(), "run")[-1]
    assert second[1]["text"] == "two!" and second[1]["remark"] == ""
    told.ended(second[0])
    ((_, edit),) = performed(told.looked(), "run")
    assert (edit["text"], edit["remark"]) == ("one!", "edited")


def test_a_message_whose_showing_was_cut_off_is_shown_again_unasked() -> None:
    told = Told(CONSOLE)
    told.tell("on_started", (restored("running"),))
    effects = told.looked()
    assert started(effects) == ["r00000001"] and performed(effects, "ask") == []
