"""Before a home leads a bot for the first time: nothing is confirmed, and whoever is there shows."""

import pytest

from actors.plans.call_result import CallResult, Ending
from actors.plans.effects import Now, Perform, Reply, WakeAfter
from actors.plans.poller import PollerPlan
from messages.envelope import Envelope
from messages.poller import PollingContested, PollingProven, ProvePolling

EMPTY = CallResult(Ending.ANSWERED, result=[])
FULL = CallResult(Ending.ANSWERED, result=[{"update_id": 7}])
UNSENT = CallResult(Ending.UNSENT)


def conflict(words):
    return CallResult(Ending.REJECTED, None, words, 409)


class Proving:
    """A proof of five seconds, with what it wanted in its last step."""

    def __init__(self):
        self.at = 1_000
        self.plan = PollerPlan()
        asked = Envelope(ProvePolling(for_ms=5_000), "m", "poller")
        self.hear("on_prove_polling", asked)

    def hear(self, handler, *arguments):
        self.plan, self.effects = getattr(self.plan, handler)(*arguments, Now(0, self.at))
        return self

    def ended(self, result, after=0):
        (poll,) = [one for one in self.effects if isinstance(one, Perform)]
        self.at += after
        return self.hear("on_performed_prove", poll.operation_id, result)

    def woken(self):
        (pause,) = [one for one in self.effects if isinstance(one, WakeAfter)]
        self.at += pause.delay_ms
        return self.hear("on_wakeup_prove")

    @property
    def params(self):
        return [one.arguments["params"] for one in self.effects if isinstance(one, Perform)]

    @property
    def said(self):
        return [one.body for one in self.effects if isinstance(one, Reply)]


def test_nothing_is_confirmed_and_no_kinds_are_named():
    assert Proving().params == [{"timeout": 5, "limit": 1}]


def test_it_takes_its_whole_time():
    proving = Proving().ended(EMPTY, after=3_200)
    assert proving.params == [{"timeout": 2, "limit": 1}]
    assert proving.ended(EMPTY, after=1_800).said == [PollingProven()]
    assert proving.plan.proof is None


def test_updates_that_wait_are_left_alone():
    proving = Proving()
    for _ in range(4):
        proving.ended(FULL).woken()
        assert proving.params and proving.said == []
    assert proving.ended(FULL).woken().said == [PollingProven()]


@pytest.mark.parametrize(
    ("result", "cause"),
    [
        (conflict("Conflict: terminated by other getUpdates request"), "foreign-poller"),
        (conflict("Conflict: can't use getUpdates method while webhook is active"), "webhook"),
        (CallResult(Ending.UNAUTHORIZED, None, "Unauthorized", 401), "unauthorized"),
    ],
)
def test_whoever_is_there_shows(result, cause):
    (said,) = Proving().ended(EMPTY, after=2_000).ended(result).said
    assert (type(said), said.cause) == (PollingContested, cause)


def test_without_any_answer_nothing_is_proven():
    proving = Proving()
    while not proving.said:
        proving.ended(UNSENT, after=400).woken()
    assert proving.said == [PollingContested(cause="unreachable")]


def test_one_answer_among_failures_is_enough():
    proving = Proving().ended(UNSENT, after=3_000).woken().ended(EMPTY, after=1_000)
    assert proving.said == [PollingProven()]


def test_what_ends_late_changes_nothing():
    proving = Proving()
    first = [one for one in proving.effects if isinstance(one, Perform)][0]
    proving.ended(EMPTY, after=1_000)
    assert proving.hear("on_performed_prove", first.operation_id, UNSENT).effects == ()
