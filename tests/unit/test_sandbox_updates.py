"""getUpdates as tables: what a poll gets of what it asked, and what its offset confirms."""

import pytest

from actors.sandbox.chat import DEFAULT_UPDATES
from actors.sandbox.errors import BotApiError
from actors.sandbox.updates import (
    EarlierPoll,
    PollTerms,
    allowed_updates,
    answer_of,
    confirmed_below,
    poll_terms,
)
from stores.practice_chat import WaitingUpdate


@pytest.mark.parametrize(
    ("asked", "earlier", "terms"),
    [
        ((0, 100, 25), None, (0, 100, 25)),
        ((0, 1000, 99), None, (0, 100, 50)),
        ((0, 0, -1), None, (0, 1, 0)),
        ((7, 100, 25), EarlierPoll(7, 10_000), (7, 1, 25)),
        ((7, 100, 0), EarlierPoll(7, 9_800), (7, 1, 3)),
        ((7, 100, 0), EarlierPoll(7, 9_400), (7, 100, 3)),
        ((7, 100, 0), EarlierPoll(7, 7_000), (7, 100, 0)),
        ((8, 100, 0), EarlierPoll(7, 10_000), (8, 100, 0)),
    ],
)
def test_the_terms_of_a_poll(asked, earlier, terms):
    assert poll_terms(*asked, earlier, 10_000) == PollTerms(*terms)


@pytest.mark.parametrize(
    ("offset", "waiting", "below"),
    [
        (0, [5, 6, 7], 0),
        (6, [5, 6, 7], 6),
        (99, [5, 6, 7], 99),
        (-1, [5, 6, 7], 7),
        (-2, [5, 6, 7], 6),
        (-3, [5, 6, 7], 0),
        (-9, [5, 6, 7], 0),
        (-1, [], 0),
    ],
)
def test_what_an_offset_confirms(offset, waiting, below):
    assert confirmed_below(offset, waiting) == below


def test_an_answer_is_cut_but_never_to_nothing():
    large = {"text": "x" * (3 << 20)}
    waiting = [WaitingUpdate(number, "message", large, 0) for number in (1, 2)]
    assert [each["update_id"] for each in answer_of(waiting)] == [1]
    assert answer_of([]) == []


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        (["message"], ["message"]),
        (["message_reaction", "message", "nonsense"], ["message", "message_reaction"]),
        ([], list(DEFAULT_UPDATES)),
        (["nonsense"], list(DEFAULT_UPDATES)),
    ],
)
def test_the_kinds_a_bot_asks_for(given, allowed):
    assert allowed_updates(given) == allowed


def test_kinds_must_be_a_list():
    with pytest.raises(BotApiError):
        allowed_updates({"message": True})
