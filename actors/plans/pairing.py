"""Pairing: what a one-time code is worth, who becomes the owner by it, and when a new one is due.

A code is four letters and four digits, worth something for five minutes, for one person, and until
five wrong ones were sent. Authority is the number of the user who sent it; a forum is chosen by sending
it there. Nobody else can ever become the owner.
"""

import dataclasses
import enum
import re
from collections.abc import Mapping
from typing import Any

VALID_MS = 5 * 60_000
MOST_TRIES = 5
LETTERS, DIGITS = "ABCDEFGHJKLMNPQRSTUVWXYZ", "0123456789"
"""Without the letters that are read as digits."""
EACH = 4

_CODE = re.compile(r"([A-Za-z]{4})[-\s]?([0-9]{4})", re.ASCII)
_START = re.compile(r"/start(?:@\w+)?(?:\s+(.*))?", re.ASCII | re.DOTALL | re.IGNORECASE)


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """What a text says to the bot itself: `/start`, a code, both or neither."""

    is_start: bool = False
    code: str | None = None


def said(text: Any) -> Said:
    """Read a message; a code is understood in any case, with or without its dash."""
    if not isinstance(text, str):
        return Said()
    start = _START.fullmatch(text.strip())
    words = (start[1] or "") if start else text
    found = _CODE.fullmatch(words.strip())
    code = f"{found[1].upper()}-{found[2]}" if found else None
    return Said(start is not None, code)


def in_link(code: str) -> str:
    """The code as a link may carry it."""
    return code.replace("-", "")


# -- what a code is worth --------------------------------------------------------------------------


class Worth(enum.Enum):
    """What somebody's code leads to."""

    NOTHING = "nothing"  # no code is asked for now
    WRONG = "wrong"
    RIGHT = "right"
    NO_TOPICS = "no-topics"  # right, but in a group that has no threads


def is_open(pairing: Any, now_wall: int) -> bool:
    """Whether a code is asked for now."""
    return (
        pairing is not None
        and pairing.owner_id is None
        and pairing.tries < MOST_TRIES
        and now_wall < pairing.expires_ms
    )


def worth(code: str, chat: Mapping[str, Any], pairing: Any, now_wall: int) -> Worth:
    """Judge a code that was sent in this chat."""
    if not is_open(pairing, now_wall):
        return Worth.NOTHING
    if code != pairing.code:
        return Worth.WRONG
    if chat.get("type") != "private" and not chat.get("is_forum"):
        return Worth.NO_TOPICS
    return Worth.RIGHT


def chosen_chat(chat: Mapping[str, Any], owner_id: int, wanted_chat_id: int | None) -> int:
    """Where threads are made: what was asked for, else the forum it was sent in, else in private."""
    if wanted_chat_id is not None:
        return wanted_chat_id
    return owner_id if chat.get("type") == "private" else int(chat["id"])


# -- whoever shows the code ------------------------------------------------------------------------


class Next(enum.Enum):
    """What the process that shows a code does now."""

    MINT = "mint"
    WAIT = "wait"
    YIELD = "yield"  # another process shows its code
    PAIRED = "paired"


@dataclasses.dataclass(frozen=True, slots=True)
class ShowingPlan:
    """One process that wants an owner for its bot."""

    me: str
    has_shown: bool = False
    """Only what is settled after that is an answer to this process."""

    def next(self, pairing: Any, other_is_gone: bool, now_wall: int) -> tuple["ShowingPlan", Next]:
        """Look at the row; `other_is_gone`: whoever opened it does not live any more."""
        shown = dataclasses.replace(self, has_shown=True)
        if pairing is None:
            return shown, Next.MINT
        if pairing.owner_id is not None:
            return (self, Next.PAIRED) if self.has_shown else (shown, Next.MINT)
        mine = pairing.opened_by == self.me
        if is_open(pairing, now_wall) and (mine or not other_is_gone):
            return shown, Next.WAIT if mine else Next.YIELD
        return shown, Next.MINT
