"""What is said in a thread about the thread itself: filled-in texts, plain, without markup.

Link previews are off: a name such as `train.py` looks like an address to Telegram.
"""

from collections.abc import Collection
from typing import Any

from messages.texts import (
    BACK,
    BACK_AFTER,
    CONNECTED,
    CONNECTED_AT,
    LOST,
    LOST_AT,
    ONE_WAITED,
    PROCESS_ABSENT,
    PROCESS_ABSENT_PLAIN,
    SOME_WAITED,
    THREAD_REPLACED,
)

NAME_LIMIT = 128
"""Telegram cuts longer names silently."""


def connected(thread_name: str, slot: str | None, place: str) -> str:
    """The announcement of a process that is there now."""
    text = CONNECTED_AT if place.strip() else CONNECTED
    return text.format(name=_label(thread_name, slot), place=place.strip())


def back(away_ms: int | None, waiting: int) -> str:
    """The first words of a process that was away; None: nobody knows how long."""
    words = [BACK if away_ms is None else BACK_AFTER.format(duration=absence(away_ms))]
    if waiting:
        words.append(ONE_WAITED if waiting == 1 else SOME_WAITED.format(count=waiting))
    return " ".join(words)


def lost(time: str | None) -> str:
    """The last words about a process that died; None: nobody knows when."""
    return LOST if time is None else LOST_AT.format(time=time)


def stopped(directory: str | None, command: str | None) -> str:
    """The last words of a process that ends in order, and what is said for one that could not."""
    if directory and command:
        return PROCESS_ABSENT.format(directory=directory, command=command)
    return PROCESS_ABSENT_PLAIN


def absence(milliseconds: int) -> str:
    """How long somebody was away, as people say it: the largest unit alone."""
    seconds = max(1, round(milliseconds / 1_000))
    for unit, size, many in (("s", 1, 60), ("min", 60, 60), ("h", 3_600, 48)):
        if round(seconds / size) < many:
            return f"{round(seconds / size)} {unit}"
    return f"{round(seconds / 86_400)} days"


def replaced(thread_name: str, slot: str | None) -> str:
    """The first words in a thread that was made because the earlier one is gone."""
    return THREAD_REPLACED.format(name=_label(thread_name, slot))


def message(chat_id: int, thread_id: int, text: str) -> dict[str, Any]:
    """The parameters of sendMessage for a text into a thread."""
    return {
        "chat_id": chat_id,
        "message_thread_id": thread_id,
        "text": text,
        "link_preview_options": {"is_disabled": True},
    }


def unique_name(wanted: str, taken: Collection[str]) -> str:
    """The wanted name, with a number behind it when another thread has it (whatever the case)."""
    wanted = wanted.strip()[:NAME_LIMIT]
    lowered = {name.lower() for name in taken}
    name, number = wanted, 2
    while name.lower() in lowered:
        suffix = f" {number}"
        name, number = wanted[: NAME_LIMIT - len(suffix)] + suffix, number + 1
    return name


def _label(thread_name: str, slot: str | None) -> str:
    return thread_name.strip() or slot or "?"
