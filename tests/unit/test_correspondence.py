"""The letters of one actor: a window for each peer, the same id again, and answers that are kept."""

import pytest

from actors.correspondence import (
    REMEMBERED_ANSWERS,
    RESEND_MS,
    WINDOW,
    Correspondence,
    Unanswered,
)
from messages.actor import CommandFailed, Ping, Pong
from messages.envelope import Envelope
from messages.inbox import CursorFetched, FetchCursor
from messages.kind import MessageInvalid
from messages.leader import EpochLost


class Letters:
    """A Correspondence with a clock, seen as ids under way."""

    def __init__(self, *peers, now=0):
        self.letters = Correspondence()
        self.now = now
        for peer in peers:
            self.introduce(peer)

    def say(self, message_id, to="inbox", body=None, deadline=60_000, resend=True):
        envelope = Envelope(body=body or FetchCursor(), message_id=message_id, key=to)
        return self._seen(
            self.letters.say(
                to, envelope, deadline=self.now + deadline, resend=resend, now=self.now
            )
        )

    def introduce(self, key="inbox", incarnation=1, address=None):
        where = address or f"{key}/{incarnation}"
        sent, unanswered = self.letters.introduce({key: (incarnation, where)}, self.now)
        return self._seen(sent), [(gone.command_id, gone.reason) for gone in unanswered]

    def settle(self, command_id):
        said, sent = self.letters.settle(command_id, self.now)
        return said and said.envelope.message_id, self._seen(sent)

    def due(self, now):
        self.now = now
        sent, unanswered = self.letters.due(now)
        return self._seen(sent), [(gone.command_id, gone.reason) for gone in unanswered]

    @staticmethod
    def _seen(transmissions):
        return [(sent.plain["message_id"], sent.address) for sent in transmissions]


def ids(seen):
    return [message_id for message_id, _ in seen]


# -- outgoing -----------------------------------------------------------------------------------


def test_what_is_said_to_a_known_peer_travels_at_once_to_its_incarnation():
    letters = Correspondence()
    letters.introduce({"inbox": (4, "there")}, 0)
    envelope = Envelope(body=FetchCursor(), message_id="a", key="inbox")
    (sent,) = letters.say("inbox", envelope, deadline=10, resend=True, now=0)
    assert sent.address == "there"
    assert sent.plain["to"] == {"key": "inbox", "incarnation": 4}


def test_what_is_said_to_an_unknown_peer_waits_for_its_address_in_order():
    letters = Letters()
    assert letters.say("a") == letters.say("b") == []
    assert letters.introduce() == ([("a", "inbox/1"), ("b", "inbox/1")], [])


def test_the_window_of_one_peer_does_not_hold_up_another():
    letters = Letters("inbox", "poller")
    for number in range(WINDOW):
        assert letters.say(f"a{number}")
    assert letters.say("later") == []
    assert ids(letters.say("b", to="poller")) == ["b"]
    assert letters.settle("a3") == ("a3", [("later", "inbox/1")])


def test_events_and_pings_pass_a_full_window():
    letters = Letters("inbox")
    for number in range(WINDOW):
        letters.say(f"a{number}")
    assert ids(letters.say("event", body=EpochLost(where="x"))) == ["event"]
    assert ids(letters.say("ping", body=Ping())) == ["ping"]
    assert letters.say("later") == []
    assert letters.settle("ping") == ("ping", [])


def test_an_answer_is_taken_once():
    letters = Letters("inbox")
    letters.say("a")
    assert letters.settle("a") == ("a", [])
    assert letters.settle("a") == (None, [])
    assert letters.settle("never said") == (None, [])


def test_a_command_is_sent_again_until_it_is_answered():
    letters = Letters("inbox")
    letters.say("a")
    assert letters.due(RESEND_MS - 1) == ([], [])
    assert letters.due(RESEND_MS) == ([("a", "inbox/1")], [])
    assert letters.due(2 * RESEND_MS - 1) == ([], [])
    assert letters.due(2 * RESEND_MS) == ([("a", "inbox/1")], [])
    letters.settle("a")
    assert letters.due(3 * RESEND_MS) == ([], [])
    assert not letters.letters.is_waiting


def test_a_command_that_may_not_be_repeated_is_sent_once():
    letters = Letters("inbox")
    letters.say("a", resend=False)
    assert letters.due(3 * RESEND_MS) == ([], [])
    assert letters.letters.is_waiting


def test_the_body_of_an_unanswered_command_is_given_back():
    letters = Correspondence()
    letters.introduce({"inbox": (1, "there")}, 0)
    body = FetchCursor()
    letters.say("inbox", Envelope(body, "a", "inbox"), deadline=10, resend=True, now=0)
    assert letters.due(10) == ([], [Unanswered(command_id="a", body=body, reason="deadline")])


@pytest.mark.parametrize("peers", [(), ("inbox",)])
def test_commands_are_given_up_at_their_deadline_wherever_they_wait(peers):
    letters = Letters(*peers)
    for number in range(WINDOW + 2):
        letters.say(f"a{number}", deadline=100)
    assert letters.due(99) == ([], [])
    assert sorted(letters.due(100)[1]) == sorted(
        (f"a{number}", "deadline") for number in range(WINDOW + 2)
    )
    assert not letters.letters.is_waiting


def test_a_place_freed_by_a_deadline_is_taken_at_once():
    letters = Letters("inbox")
    for number in range(WINDOW):
        letters.say(f"a{number}", deadline=100)
    letters.say("b", deadline=1_000)
    sent, unanswered = letters.due(100)
    assert ids(sent) == ["b"] and len(unanswered) == WINDOW


def test_a_replaced_peer_gets_again_what_may_be_repeated_first_of_all():
    letters = Letters("inbox")
    for number in range(WINDOW):
        letters.say(f"a{number}", resend=number != 2)
    letters.say("b")
    sent, unanswered = letters.introduce(incarnation=2)
    assert sent == [(f"a{n}", "inbox/2") for n in range(WINDOW) if n != 2] + [("b", "inbox/2")]
    assert unanswered == [("a2", "peer-replaced")]


def test_what_was_never_sent_goes_to_the_new_incarnation_even_if_it_may_not_be_repeated():
    letters = Letters("inbox")
    for number in range(WINDOW):
        letters.say(f"a{number}")
    letters.say("b", resend=False)
    sent, unanswered = letters.introduce(incarnation=2)
    assert len(sent) == WINDOW and unanswered == []
    assert letters.settle("a0") == ("a0", [("b", "inbox/2")])


def test_the_same_or_an_older_introduction_repeats_nothing():
    letters = Letters("inbox")
    letters.introduce(incarnation=2)
    letters.say("a")
    assert letters.introduce(incarnation=2) == ([], [])
    assert letters.introduce(incarnation=1) == ([], [])
    assert letters.say("b") == [("b", "inbox/2")]


def test_an_event_for_a_peer_unknown_for_too_long_is_forgotten():
    letters = Letters()
    letters.say("old", body=EpochLost(where="x"), deadline=100)
    letters.say("command", deadline=100)
    letters.now = 100
    letters.say("new", body=EpochLost(where="x"), deadline=100)
    assert ids(letters.introduce()[0]) == ["command", "new"]
    assert letters.settle("old") == (None, [])


# -- incoming -----------------------------------------------------------------------------------


def command(message_id="q", deadline=1_000):
    return Envelope(body=FetchCursor(), message_id=message_id, key="inbox", deadline=deadline)


def test_a_command_is_new_once_then_worked_on_then_answered():
    letters = Correspondence()
    assert letters.hear(command(), "asker", 0) is True
    assert letters.hear(command(), "asker", 0) is False
    sent = letters.answer("q", CursorFetched(cursor=3), "r", 0)
    assert (sent.address, sent.plain["in_reply_to"], sent.plain["body"]) == ("asker", "q", {"cursor": 3})
    assert letters.hear(command(), "asker", 0) == sent.plain
    assert letters.answer("q", CursorFetched(cursor=4), "r2", 0) is None
    assert letters.answer("never heard", Pong(pid=1), "r3", 0) is None


def test_an_asker_that_was_replaced_is_answered_where_it_lives_now():
    letters = Correspondence()
    letters.hear(command(), "before", 0)
    letters.hear(command(), "after", 0)
    assert letters.answer("q", CursorFetched(), "r", 0).address == "after"


@pytest.mark.parametrize(
    ("body", "error"), [(Pong(pid=1), ValueError), (CursorFetched(cursor="x"), MessageInvalid)]
)
def test_an_answer_that_cannot_be_given_leaves_the_asker_to_a_better_one(body, error):
    letters = Correspondence()
    letters.hear(command(), "asker", 0)
    with pytest.raises(error):
        letters.answer("q", body, "r", 0)
    failed = CommandFailed(reason="internal", text="x")
    assert letters.answer("q", failed, "r", 0).plain["kind"] == "CommandFailed"


def test_answers_are_kept_for_as_long_as_the_command_may_come_again():
    letters = Correspondence()
    for message_id, deadline in (("soon", 100), ("late", 1_000)):
        letters.hear(command(message_id, deadline), "asker", 0)
        letters.answer(message_id, CursorFetched(), f"r-{message_id}", 0)
    letters.hear(command("other"), "asker", 100)
    letters.answer("other", CursorFetched(), "r", 100)
    assert letters.hear(command("soon", 100), "asker", 100) is True
    assert isinstance(letters.hear(command("late"), "asker", 100), dict)


def test_no_more_answers_are_kept_than_fit():
    letters = Correspondence()
    for number in range(REMEMBERED_ANSWERS + 1):
        letters.hear(command(f"q{number}"), "asker", 0)
        letters.answer(f"q{number}", CursorFetched(), f"r{number}", 0)
    assert letters.hear(command("q0"), "asker", 0) is True
    assert isinstance(letters.hear(command("q1"), "asker", 0), dict)


def test_an_asker_that_waits_no_longer_is_forgotten():
    letters = Correspondence()
    letters.hear(command("old", deadline=100), "asker", 0)
    letters.hear(command("new"), "asker", 100)
    assert letters.answer("old", CursorFetched(), "r", 100) is None
