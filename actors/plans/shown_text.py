"""Which characters of a name or a path people may see as they are. Pure.

Letters of every script, spaces and whole emoji are; what moves the cursor, breaks the line or
turns the reading direction of what stands around it is not.
"""

import unicodedata

_JOINERS = "\u200c\u200d"
_EMOJI_TAGS = range(0xE0020, 0xE0080)


def is_shown(character: str) -> bool:
    """Whether it is shown as it is: printable, a space, or a part of an emoji or a ligature."""
    return (
        character.isprintable()
        or unicodedata.category(character) == "Zs"
        or character in _JOINERS
        or ord(character) in _EMOJI_TAGS
    )


def one_line(text: str, instead: str = "?") -> str:
    """The text with `instead` for whatever is not shown."""
    return "".join(one if is_shown(one) else instead for one in text)
