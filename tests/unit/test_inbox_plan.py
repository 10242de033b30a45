"""What the Inbox does with a batch, with answers, with the unrouted and with the absent."""

import dataclasses
from typing import Any

import pytest

from actors.plans.absences import NOTICE_GRACE_MS, Absent, Welcome
from actors.plans.choosing import asked_about
from actors.plans.effects import Effects, Now, Reply, Send, WakeAfter, Write
from actors.plans.inbox import ID_SEQUENCE_MS, AdmissionFacts, InboxPlan, Reachable, offset_from
from actors.plans.routing import Known
from messages.envelope import Envelope
from messages.follower_registry import (
    FollowerRegistered,
    FollowersDescribed,
    FollowerUnreachable,
    ForwardFailed,
    UpdateForwarded,
)
from messages.inbox import AdmitUpdates
from messages.telegram_gateway import TelegramAnswered, TelegramRefused
from stores.updates import THREAD_GONE

NOW = Now(wall=1_000_000, boot=500_000)
OWNER, BOT = 1001, 77
KNOWN = Known(bot_id=BOT, owner_id=OWNER, chat_id=OWNER, by_thread={5: "manual:a"}, by_message={})
FACTS = AdmissionFacts(cursor=None, known=KNOWN, choices={})
THERE = {"manual:a": Reachable("api", "A"), "manual:b": Reachable("web", "B")}


@dataclasses.dataclass(frozen=True)
class Row:
    """What the plan reads of a stored update."""

    update_id: int
    binding_key: str | None = "manual:a"
    kind: str = "message"
    attempts: int = 0
    state: str = "pending"
    reason: str = ""
    chat_id: int = OWNER
    message_id: int = 9
    thread_id: int | None = None
    carrier: dict[str, Any] = dataclasses.field(default_factory=dict)


def said(body: Any, in_reply_to: str | None = None) -> Envelope:
    """An envelope as it arrives."""
    return Envelope(body=body, message_id="m", key="inbox", in_reply_to=in_reply_to)


def message(update_id: int, thread_id: int | None = 5, sender: int = OWNER) -> dict[str, Any]:
    """A message update in the chat of its sender."""
    plain: dict[str, Any] = {
        "message_id": update_id, "date": 1, "chat": {"id": sender}, "from": {"id": sender}, "text": "x",
    }
    if thread_id is not None:
        plain |= {"message_thread_id": thread_id, "is_topic_message": True}
    return {"update_id": update_id, "message": plain}


@pytest.mark.parametrize(
    "cursor, received, expected",
    [
        (900, NOW.wall, 900),
        (900, NOW.wall - ID_SEQUENCE_MS + 1, 900),
        (900, NOW.wall - ID_SEQUENCE_MS, None),
        (900, NOW.wall + 1, 900),
        (900, None, None),
        (None, None, None),
    ],
)
def test_an_offset_holds_as_long_as_ids_go_on_in_sequence(
    cursor: int | None, received: int | None, expected: int | None
) -> None:
    assert offset_from(cursor, received, NOW.wall) == expected


def admit(plan: InboxPlan, *updates: dict[str, Any], facts: AdmissionFacts = FACTS) -> Any:
    """One batch."""
    return plan.on_admit_updates(said(AdmitUpdates(updates=list(updates))), facts, NOW)


def writes(effects: Effects) -> list[str]:
    """The store methods that are called."""
    return [effect.method for effect in effects if isinstance(effect, Write)]


def sends(effects: Effects) -> list[Send]:
    """What is sent."""
    return [effect for effect in effects if isinstance(effect, Send)]


def answer(effects: Effects) -> Any:
    """The body of the reply."""
    return next(effect.body for effect in effects if isinstance(effect, Reply))


def test_a_batch_is_written_before_it_is_confirmed() -> None:
    """One write with the cursor, then the answer that lets the offset move."""
    _, effects = admit(InboxPlan(epoch=3), message(10), message(12))
    assert writes(effects) == ["admit"]
    assert isinstance(effects[0], Write) and effects[0].arguments["cursor"] == 12
    assert answer(effects).cursor == 12


def test_a_redelivered_batch_is_confirmed_again_and_written_once() -> None:
    """Nothing at or below the cursor is looked at twice."""
    facts = dataclasses.replace(FACTS, cursor=12)
    _, effects = admit(InboxPlan(epoch=3), message(10), message(12), facts=facts)
    assert (writes(effects), answer(effects).cursor) == ([], 12)
    _, effects = admit(InboxPlan(epoch=3), message(12), message(13), facts=facts)
    (write,) = (effect for effect in effects if isinstance(effect, Write))
    assert [place.update_id for place, _ in write.arguments["batch"]] == [13]


@pytest.mark.case("F80")
@pytest.mark.parametrize("ids", [(10, 12, 11), (10, 10), (-1,)])
def test_disorder_is_refused_whole(ids: tuple[int, ...]) -> None:
    """Nothing is written."""
    _, effects = admit(InboxPlan(epoch=3), *(message(i) for i in ids))
    assert (writes(effects), answer(effects).reason) == ([], "disorder")


def test_a_stranger_is_refused_once_and_nothing_goes_anywhere() -> None:
    """One short sentence, in the stranger's own chat; the rest is tested with the front door."""
    strangers = (message(10, None, sender=5), message(11, 5, sender=5))
    _, effects = admit(InboxPlan(epoch=3), *strangers)
    (refusal,) = sends(effects)
    assert refusal.body.params == {"chat_id": 5, "text": "This bot is private. Your id: 5."}
    assert writes(effects) == ["record", "admit"]
    (admitted,) = [one for one in effects if isinstance(one, Write) and one.method == "admit"]
    assert {place.fate for place, _ in admitted.arguments["batch"]} == {"done"}


def test_one_update_at_a_time_goes_to_each_binding() -> None:
    """Others of the same binding wait for the answer; other bindings do not."""
    plan = InboxPlan(epoch=3, reachable=THERE)
    plan, effects = plan.on_due((Row(1), Row(2), Row(3, "manual:b"), Row(4, "manual:c")), NOW)
    assert [send.body.update_id for send in sends(effects)] == [1, 3]
    again, effects = plan.on_due((Row(1), Row(2)), NOW)
    assert (again, effects) == (plan, ())


@pytest.mark.case("L120")
def test_only_an_exact_receipt_settles() -> None:
    """Everything else leaves the row with the inbox."""
    plan, effects = InboxPlan(epoch=3, reachable=THERE).on_due((Row(1),), NOW)
    command_id = sends(effects)[0].message_id
    done, effects = plan.on_update_forwarded(said(UpdateForwarded(), command_id), NOW)
    assert (writes(effects), done.under_way) == (["settle_done"], {})
    failed = ForwardFailed(failure_class="acknowledgement-rejected", text="no")
    tried, effects = plan.on_forward_failed(said(failed, command_id), NOW)
    assert (writes(effects), tried.under_way) == (["settle_retry"], {})
    assert done.on_update_forwarded(said(UpdateForwarded(), command_id), NOW) == (done, ())


def test_an_absent_recipient_is_no_attempt() -> None:
    """The message waits, without limit, until the process registers."""
    plan, effects = InboxPlan(epoch=3, reachable=THERE).on_due((Row(1),), NOW)
    absent = ForwardFailed(failure_class="recipient-absent", text="gone")
    first_try = sends(effects)[0].message_id
    plan, effects = plan.on_forward_failed(said(absent, first_try), NOW)
    assert (effects, "manual:a" in plan.reachable) == ((), False)
    back = FollowerRegistered(binding_key="manual:a", thread_name="api", slot="A", instance_id="1:1")
    plan, _ = plan.on_follower_registered(said(back), NOW)
    _, effects = plan.on_due((Row(1),), NOW)
    assert [send.body.update_id for send in sends(effects)] == [1]
    assert sends(effects)[0].message_id != first_try, "the registry repeats its answer to a known id"


@pytest.mark.parametrize(("attempts", "delay"), [(0, 1), (1, 2), (5, 32), (6, 60), (40, 60)])
def test_retries_back_off(attempts: int, delay: int) -> None:
    """1, 2, 4 … 60 s, for ever: only an executor's failures can kill an update."""
    plan = InboxPlan(epoch=3, reachable=THERE)
    plan, effects = plan.on_due((Row(1, attempts=attempts),), NOW)
    failed = ForwardFailed(failure_class="transport-failed", text="no")
    _, effects = plan.on_forward_failed(said(failed, sends(effects)[0].message_id), NOW)
    (write,) = (effect for effect in effects if isinstance(effect, Write))
    assert write.arguments["next_retry_ms"] == NOW.wall + delay * 1_000


def test_the_registrys_list_replaces_ours() -> None:
    """Reports can be lost with an actor; the list cannot."""
    followers = [
        {"binding_key": "manual:b", "thread_name": "web", "slot": "B", "connected": True},
        {"binding_key": "manual:a", "thread_name": "api", "slot": "A", "connected": False},
    ]
    plan, _ = InboxPlan(epoch=3).on_followers_described(
        said(FollowersDescribed(followers=followers)), NOW
    )
    assert set(plan.reachable) == {"manual:b"}
    gone = FollowerUnreachable(binding_key="manual:b", instance_id="1:1")
    plan, _ = plan.on_follower_unreachable(said(gone), NOW)
    assert plan.reachable == {}


def test_what_waits_in_a_closed_thread_goes_with_it() -> None:
    """Whoever starts the same again must not be given what was written before."""
    closed = FollowerUnreachable(binding_key="manual:b", instance_id="1:1", closed=True)
    plan, effects = InboxPlan(epoch=3, reachable=THERE).on_follower_unreachable(said(closed), NOW)
    assert writes(effects) == ["drop_waiting"] and set(plan.reachable) == {"manual:a"}
    assert plan.gone_at == {}, "nobody is missed there"


def test_a_message_of_a_deleted_thread_is_quoted_outside_of_threads() -> None:
    """Where the question finds no thread it is asked again, for everybody to see what it is about."""
    rows = Row(7, None, thread_id=5), Row(8, None)
    plan, effects = InboxPlan(epoch=3, reachable=THERE).on_unasked(rows, NOW)
    question, _ = sends(effects)
    gone = TelegramRefused(
        outcome="rejected", description="Bad Request: message thread not found", error_code=400
    )
    plan, effects = plan.on_telegram_refused(said(gone, question.message_id), NOW)
    assert writes(effects) == ["ask_outside"]
    row = Row(7, None, reason=THREAD_GONE, carrier={"text": "fix the\nlogin"})
    (again,) = sends(plan.on_unasked((row, rows[1]), NOW)[1])
    assert again.body.params["text"] == 'Its thread is deleted. Which one is this for? "fix the login"'
    assert "message_thread_id" not in again.body.params


def test_a_message_without_a_thread_is_asked_about_once() -> None:
    """One button for each live process, and one to drop it."""
    plan = InboxPlan(epoch=3, reachable=THERE)
    row = Row(7, None, state="chooser")
    plan, effects = plan.on_unasked((row,), NOW)
    (question,) = sends(effects)
    keyboard = question.body.params["reply_markup"]["inline_keyboard"]
    assert [b["callback_data"] for line in keyboard for b in line] == ["c:7:A", "c:7:B", "c:7:-"]
    assert plan.on_unasked((row,), NOW)[1] == ()
    _, effects = plan.on_telegram_answered(said(TelegramAnswered(result={}), question.message_id), NOW)
    assert writes(effects) == ["mark_asked"]
    unclear = TelegramRefused(outcome="commit-unknown", description="lost")
    _, effects = plan.on_telegram_refused(said(unclear, question.message_id), NOW)
    assert writes(effects) == ["mark_asked"]
    refused = TelegramRefused(outcome="unavailable", description="no route")
    plan, effects = plan.on_telegram_refused(said(refused, question.message_id), NOW)
    assert writes(effects) == []
    other = Row(8, None, state="chooser")
    plan, _ = plan.on_unasked((other,), NOW)
    plan, _ = plan.on_wakeup_forget_asking(NOW)
    (again,) = sends(plan.on_unasked((row, other), dataclasses.replace(NOW, boot=NOW.boot + 1))[1])
    assert asked_about(again.message_id) == 7 and again.message_id != question.message_id


def choice(data: str) -> dict[str, Any]:
    """A press of the owner on a chooser."""
    query = {
        "id": "q", "from": {"id": OWNER}, "data": data,
        "message": {"message_id": 30, "chat": {"id": OWNER}},
    }
    return {"update_id": 50, "callback_query": query}


@pytest.mark.parametrize(
    ("data", "state", "written", "shown"),
    [
        ("c:7:B", "chooser", ["admit", "assign"], "Sent to web."),
        ("c:7:-", "chooser", ["admit", "settle_done"], "Dropped."),
        ("c:7:B", "done", ["admit"], None),
        ("c:7:C", "chooser", ["admit"], None),
        ("c:8:A", "chooser", ["admit"], None),
        ("c:x", "chooser", ["admit"], None),
    ],
)
def test_a_choice_acts_once_and_is_always_answered(
    data: str, state: str, written: list[str], shown: str | None
) -> None:
    """Pressing twice, too late, or for somebody who left changes nothing."""
    facts = dataclasses.replace(FACTS, choices={7: Row(7, None, state=state)})
    _, effects = admit(InboxPlan(epoch=3, reachable=THERE), choice(data), facts=facts)
    assert writes(effects) == written
    calls = [send.body for send in sends(effects)]
    assert [call.method for call in calls].count("answerCallbackQuery") == 1
    edits = [call.params["text"] for call in calls if call.method == "editMessageText"]
    assert edits == ([shown] if shown else [])


def test_an_absence_is_told_once_and_after_its_grace() -> None:
    """A takeover or a quick restart tells nobody anything."""
    one = Absent("manual:a", False, OWNER, 5, "~/api", "switchboard -- claude")
    plan, effects = InboxPlan(epoch=3).on_absent((one,), NOW)
    assert sends(effects) == [] and writes(effects) == []
    later = Now(wall=NOW.wall, boot=NOW.boot + NOTICE_GRACE_MS)
    told, effects = plan.on_absent((one,), later)
    assert writes(effects) == ["mark_noticed"]
    assert sends(effects)[0].body.params["text"] == (
        "Stopped. What you write here waits. Start it again in ~/api: switchboard -- claude"
    )
    _, effects = told.on_absent((dataclasses.replace(one, noticed=True),), later)
    assert effects == ()
    back = FollowerRegistered(binding_key="manual:a", thread_name="api", slot="A", instance_id="1:1")
    plan, _ = plan.on_follower_registered(said(back), NOW)
    assert plan.absent_since == {}


def after(milliseconds: int) -> Now:
    """So much later, on both clocks."""
    return Now(wall=NOW.wall + milliseconds, boot=NOW.boot + milliseconds)


GONE = FollowerUnreachable(binding_key="manual:a", instance_id="1:1")
DEAD = Absent("manual:a", False, OWNER, 5, "~/api", "switchboard -- claude", lost=True, time="12:41")


@pytest.mark.parametrize(
    ("dead", "later", "reachable", "words"),
    [
        # A takeover of its leader, or a quick restart.
        ((DEAD,), NOTICE_GRACE_MS - 1, {}, None),
        (
            (DEAD,),
            NOTICE_GRACE_MS,
            {},
            "Lost at 12:41: the process ended unexpectedly. What you write here waits.",
        ),
        ((dataclasses.replace(DEAD, noticed=True),), NOTICE_GRACE_MS, {}, None),
        ((DEAD,), NOTICE_GRACE_MS, THERE, None),
        ((), NOTICE_GRACE_MS, {}, None),
        # The wall clock was set back meanwhile.
        (
            (DEAD,),
            -3_600_000,
            {},
            "Lost at 12:41: the process ended unexpectedly. What you write here waits.",
        ),
    ],
)
def test_a_process_that_died_is_lost_once_it_is_not_back(dead, later, reachable, words) -> None:
    plan, effects = InboxPlan(epoch=3, reachable=THERE).on_follower_unreachable(said(GONE), NOW)
    assert effects == (WakeAfter("missed", NOTICE_GRACE_MS),)
    plan = dataclasses.replace(plan, reachable=reachable)
    plan, effects = plan.on_wakeup_missed(dead, after(later))
    assert [send.body.params["text"] for send in sends(effects)] == ([words] if words else [])
    assert writes(effects) == (["mark_noticed"] if words else [])
    again = [effect for effect in effects if isinstance(effect, WakeAfter)]
    assert again == ([WakeAfter("missed", 1)] if later == NOTICE_GRACE_MS - 1 else [])


def test_the_predecessor_is_lost_since_the_takeover() -> None:
    plan, effects = InboxPlan(epoch=3).on_configured(BOT, "print", {"manual:a": NOW.wall}, None, NOW)
    assert plan.gone_at == {"manual:a": NOW.wall}
    assert WakeAfter("missed", NOTICE_GRACE_MS) in effects
    back = FollowerRegistered(binding_key="manual:a", thread_name="api", slot="A", instance_id="1:2")
    plan, effects = plan.on_follower_registered(said(back), NOW)
    assert plan.gone_at == {} and writes(effects) == ["forget_notice"]


def test_one_with_waiting_messages_that_died_is_lost_and_not_stopped() -> None:
    plan, _ = InboxPlan(epoch=3).on_absent((DEAD,), NOW)
    _, effects = plan.on_absent((DEAD,), after(NOTICE_GRACE_MS))
    assert [send.body.params["text"] for send in sends(effects)] == [
        "Lost at 12:41: the process ended unexpectedly. What you write here waits."
    ]


BACK = Welcome("manual:a", OWNER, 5, away_since=NOW.wall - 9 * 3_600_000)


def test_the_own_thread_is_told_that_its_process_is_back_before_anything_is_handed_to_it() -> None:
    plan, _ = InboxPlan(epoch=3).on_configured(BOT, "print", {}, BACK, NOW)
    own = FollowerRegistered(binding_key="manual:a", thread_name="api", slot="A", instance_id="1:1")
    plan, effects = plan.on_follower_registered(said(own), NOW)
    assert [effect.reason for effect in effects if isinstance(effect, WakeAfter)] == ["welcome"]
    held, effects = plan.on_due((Row(7),), NOW)
    assert sends(effects) == [] and held.under_way == {}
    plan, _ = admit(plan, message(8))
    assert plan.welcome.due
    plan, effects = plan.on_welcome_due(2, NOW)
    assert [send.body.params["text"] for send in sends(effects)] == [
        "Back after 9 h. 2 messages were waiting."
    ]
    assert len(sends(plan.on_due((Row(7),), NOW)[1])) == 1
    assert plan.on_welcome_due(2, NOW) == (plan, ())


def test_nothing_that_comes_within_a_moment_waited() -> None:
    plan, _ = InboxPlan(epoch=3).on_configured(BOT, "print", {}, BACK, NOW)
    assert plan.on_wakeup_welcome(NOW)[0] == plan, "the own follower is not there yet"
    plan = dataclasses.replace(plan, reachable=THERE)
    plan, _ = plan.on_wakeup_welcome(NOW)
    _, effects = plan.on_welcome_due(0, NOW)
    assert [send.body.params["text"] for send in sends(effects)] == ["Back after 9 h."]


def test_one_that_is_there_and_silent_is_not_said_to_be_stopped() -> None:
    """It may be suspended: another one started in its place would not get its thread."""
    one = Absent("manual:a", False, OWNER, 5, "~/api", "switchboard", silent=True)
    plan, _ = InboxPlan(epoch=3).on_absent((one,), NOW)
    _, effects = plan.on_absent((one,), after(NOTICE_GRACE_MS))
    assert [send.body.params["text"] for send in sends(effects)] == [
        "The process does not answer at present. What you write here waits."
    ]
