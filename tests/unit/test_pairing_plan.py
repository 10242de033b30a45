"""What a code is worth, and what the process that shows it does next."""

import pytest

from actors.plans.pairing import (
    MOST_TRIES,
    Next,
    Said,
    ShowingPlan,
    Worth,
    chosen_chat,
    in_link,
    said,
    worth,
)
from stores.pairing import PairingRecord

CODE, NOW = "KTRM-4827", 1_000_000
PRIVATE, FORUM = {"id": 5, "type": "private"}, {"id": -100, "type": "supergroup", "is_forum": True}
GROUP = {"id": -200, "type": "supergroup"}


def pairing(**changes):
    """A code that is asked for now, changed as told."""
    row = {"code": CODE, "opened_by": "me", "wanted_chat_id": None, "expires_ms": NOW + 1}
    return PairingRecord(**{**row, **changes})


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("KTRM-4827", Said(False, CODE)),
        (" ktrm4827\n", Said(False, CODE)),
        ("ktrm 4827", Said(False, CODE)),
        ("/start", Said(True)),
        ("/START@work_bot", Said(True)),
        ("/start KTRM4827", Said(True, CODE)),
        ("/start@work_bot ktrm-4827", Said(True, CODE)),
        ("/start hello", Said(True)),
        ("/starting", Said()),
        ("KTRM-48271", Said()),
        ("the code is KTRM-4827", Said()),
        ("ＫＴＲＭ-４８２７", Said()),
        ("", Said()),
        (None, Said()),
    ],
)
def test_what_is_said_to_the_bot(text, heard):
    assert said(text) == heard


def test_a_link_carries_the_code_without_its_dash():
    assert said(f"/start {in_link(CODE)}").code == CODE


@pytest.mark.parametrize(
    ("row", "code", "chat", "verdict"),
    [
        (pairing(), CODE, PRIVATE, Worth.RIGHT),
        (pairing(), CODE, FORUM, Worth.RIGHT),
        (pairing(), CODE, GROUP, Worth.NO_TOPICS),
        (pairing(), "KTRM-4828", PRIVATE, Worth.WRONG),
        (pairing(tries=MOST_TRIES - 1), CODE, PRIVATE, Worth.RIGHT),
        (pairing(tries=MOST_TRIES), CODE, PRIVATE, Worth.NOTHING),
        (pairing(expires_ms=NOW), CODE, PRIVATE, Worth.NOTHING),
        (pairing(owner_id=5), CODE, PRIVATE, Worth.NOTHING),
        (None, CODE, PRIVATE, Worth.NOTHING),
    ],
)
def test_what_a_code_is_worth(row, code, chat, verdict):
    assert worth(code, chat, row, NOW) is verdict


@pytest.mark.parametrize(
    ("chat", "wanted", "chosen"),
    [(PRIVATE, None, 5), (FORUM, None, -100), (PRIVATE, -300, -300), (FORUM, -300, -300)],
)
def test_where_threads_are_made(chat, wanted, chosen):
    assert chosen_chat(chat, 5, wanted) == chosen


@pytest.mark.parametrize(
    ("shown", "row", "gone", "then"),
    [
        (False, None, False, Next.MINT),
        # An owner of former times is no answer to a process that only begins to ask.
        (False, pairing(owner_id=5), False, Next.MINT),
        (True, pairing(owner_id=5), False, Next.PAIRED),
        (True, pairing(owner_id=5, opened_by="you"), False, Next.PAIRED),
        (True, pairing(), False, Next.WAIT),
        (True, pairing(tries=MOST_TRIES), False, Next.MINT),
        (True, pairing(expires_ms=NOW), False, Next.MINT),
        (False, pairing(opened_by="you"), False, Next.YIELD),
        (True, pairing(opened_by="you"), False, Next.YIELD),
        (True, pairing(opened_by="you"), True, Next.MINT),
        (True, pairing(opened_by="you", expires_ms=NOW), False, Next.MINT),
    ],
)
def test_what_the_one_who_shows_it_does(shown, row, gone, then):
    plan, found = ShowingPlan("me", has_shown=shown).next(row, gone, NOW)
    assert found is then
    assert plan.has_shown
