"""How text is cut into Telegram messages: pure, measured in UTF-16 units as Telegram measures.

A message holds at most 4,096 units. Text is cut at a blank line, else at a line's end, else at a
space, else between characters that are not drawn as one. Nothing but the white space at a cut is
left out.
"""

import unicodedata

MESSAGE_LIMIT = 4_096
"""UTF-16 units that one message may hold."""

MESSAGES_PER_ANSWER = 4
"""An answer of more messages than this is shortened to its beginning and its end."""

_ZERO_WIDTH_JOINER = "\u200d"
_LONGEST_CLUSTER = 32
"""How far back a cut looks for the start of a drawn character before it gives up."""


def units(text: str) -> int:
    """The length of `text` in UTF-16 units."""
    return len(text) + sum(1 for character in text if character > "\uffff")


def head_of(text: str, limit: int) -> str:
    """The longest beginning of `text` within `limit` units; no drawn character is cut in two."""
    end = _fitting(text, limit)
    return text[: _cluster_start(text, end)] if end < len(text) else text


def tail_of(text: str, limit: int) -> str:
    """The longest end of `text` within `limit` units, begun at a line's start where one is near."""
    if units(text) <= limit:
        return text
    start = len(text) - _fitting(text[::-1], limit)
    while start < len(text) and _joins_previous(text, start):
        start += 1
    line = text.find("\n", start, start + (len(text) - start) // 2)
    return text[line + 1:] if line >= 0 else text[start:]


def split(text: str, limit: int = MESSAGE_LIMIT) -> tuple[str, ...]:
    """`text` as messages of at most `limit` units each; none of them is blank."""
    parts = []
    rest = text
    while units(rest) > limit:
        part, rest = _cut(rest, limit)
        parts.append(part)
    parts.append(rest)
    return tuple(part for part in parts if part.strip())


def clip(text: str, limit: int) -> str:
    """`text` on one line, with an ellipsis where it had to be shortened to `limit` units."""
    line = " ".join(text.split())
    return line if units(line) <= limit else head_of(line, limit - 1).rstrip() + "…"


def _cut(text: str, limit: int) -> tuple[str, str]:
    """A first message of `text` and what is left of it."""
    end = _fitting(text, limit)
    # A border early in the message would leave most of it empty, and messages are few.
    for border, earliest in (("\n\n", end // 2), ("\n", end // 4), (" ", 1)):
        # The border itself may lie just behind the last character that fits.
        at = text.rfind(border, earliest, end + len(border))
        if at > 0:
            rest = text[at + 1:] if border == " " else text[at:].lstrip("\n")
            return text[:at].rstrip("\n"), rest
    end = _cluster_start(text, end)
    return text[:end], text[end:]


def _fitting(text: str, limit: int) -> int:
    """How many characters of `text` fit into `limit` units, at least one."""
    if len(text) * 2 <= limit:
        return len(text)
    used = 0
    for index, character in enumerate(text):
        used += 2 if character > "\uffff" else 1
        if used > limit:
            return max(1, index)
    return len(text)


def _cluster_start(text: str, end: int) -> int:
    """The nearest place at or before `end` where a drawn character starts."""
    for place in range(end, max(0, end - _LONGEST_CLUSTER), -1):
        if not _joins_previous(text, place):
            return place
    return end


def _joins_previous(text: str, place: int) -> bool:
    """Whether the character at `place` is drawn as one with the character before it."""
    if not 0 < place < len(text):
        return False
    character, previous = text[place], text[place - 1]
    if previous == _ZERO_WIDTH_JOINER or character == _ZERO_WIDTH_JOINER:
        return True
    if character == "\n" and previous == "\r":
        return True
    if _is_flag_half(character) and _is_flag_half(previous):
        first = place
        while first > 0 and _is_flag_half(text[first - 1]):
            first -= 1
        return (place - first) % 2 == 1
    # Combining marks (which the variation selectors are), skin tones, and the tags of regional
    # flags.
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
