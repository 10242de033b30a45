"""What people read on the terminal while a bot is being paired, with the picture for their phone."""

from actors.plans.pairing import VALID_MS, in_link

SHOWN = """\
Tell @{username} that you are its owner.
{how}

    https://t.me/{username}?start={linked}

or send it this code, which is good for {minutes} minutes:

    {code}

or, for threads in a group with topics, add it there:

    https://t.me/{username}?startgroup={linked}

Waiting for the code …"""
OPEN_LINK = "Open"
OPEN_PICTURE = "Point your phone at the picture, or open"
AGAIN = """\
The earlier code is not good any more. The new one:

    {code}    https://t.me/{username}?start={linked}
"""
ANOTHER_SHOWS = "Another terminal shows the code of this bot. This one waits."
PAIRED = "Paired with {owner}. {bot} obeys nobody else."

_BORDER = 2


def shown_code(username: str, code: str, again: bool, with_picture: bool) -> str:
    """The code as it is shown first, and in one line when it is replaced."""
    linked = in_link(code)
    if again:
        return AGAIN.format(code=code, username=username, linked=linked)
    text = SHOWN.format(
        username=username,
        how=OPEN_PICTURE if with_picture else OPEN_LINK,
        code=code,
        linked=linked,
        minutes=VALID_MS // 60_000,
    )
    if not with_picture:
        return text
    return picture(f"https://t.me/{username}?start={linked}") + "\n\n" + text


def picture(address: str) -> str:
    """A QR code in half blocks, two rows of it a line; light on dark, as most terminals are."""
    import segno

    rows = [list(row) for row in segno.make(address, error="l", micro=False).matrix]
    width = len(rows[0]) + 2 * _BORDER
    blank = [0] * width
    framed = [
        *[blank] * _BORDER,
        *([0] * _BORDER + row + [0] * _BORDER for row in rows),
        *[blank] * (_BORDER + len(rows) % 2),
    ]
    # A dark module is a gap in the light of the terminal.
    blocks = {(0, 0): "█", (0, 1): "▀", (1, 0): "▄", (1, 1): " "}
    return "\n".join(
        "".join(blocks[upper & 1, lower & 1] for upper, lower in zip(*pair, strict=True))
        for pair in zip(framed[::2], framed[1::2], strict=True)
    )


def owner_shown(owner_id: int, name: str | None) -> str:
    """`Ann (id 12345)`, or the id alone."""
    return f"{name} (id {owner_id})" if name else f"user {owner_id}"
