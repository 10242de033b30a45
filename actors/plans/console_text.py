"""Messages of the thread as they stand in the terminal: pure, safe to print, wrapped at words.

    12:04  fix the login page
           and say when it is done
    12:05  [photo] like this

A message is data from outside: nothing in it may move the cursor or change the terminal.
"""

import unicodedata
from collections.abc import Iterator

NARROWEST = 20
_TAB = "    "
_HIDDEN = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""Marks that reorder what is shown, so that a text reads as another than it is."""


def shown(text: str, remark: str, time: str, width: int) -> str:
    """One message with the time before it, as lines that each end in a newline."""
    prefix = f"{time}  "
    words = f"[{remark}] {text}" if remark else text
    room = max(NARROWEST, width - len(prefix))
    lines = [line for given in safe(words).split("\n") for line in _wrapped(given, room)]
    indent = " " * len(prefix)
    return "".join(
        f"{indent if number else prefix}{line}".rstrip() + "\n" for number, line in enumerate(lines)
    )


def wrapped(sentence: str, width: int) -> str:
    """A sentence of ours in lines of at most `width` columns."""
    return "\n".join(_wrapped(sentence, max(NARROWEST, width)))


def safe(text: str) -> str:
    """The text without anything that a terminal would obey; line ends stay."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", _TAB)
    return "".join(
        one for one in plain if one == "\n" or (one not in _HIDDEN and not _is_control(one))
    )


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def _wrapped(line: str, room: int) -> Iterator[str]:
    """The line in pieces of at most `room` columns, cut at spaces where there are any."""
    while True:
        end = _fitting(line, room)
        if end >= len(line):
            yield line
            return
        space = line.rfind(" ", 0, end + 1)
        cut = space if space > 0 else end
        yield line[:cut]
        line = line[cut:].lstrip(" ")


def _fitting(line: str, room: int) -> int:
    """How many characters fit; at least one."""
    used = 0
    for number, character in enumerate(line):
        used += _columns(character)
        if used > room:
            return max(1, number)
    return len(line)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
