"""Which thread or process an operator means by a word, and how the shell takes a line apart. Pure."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Any


class ShellError(Exception):
    """A command cannot be carried out; the sentence is for whoever typed it."""


def words_of(line: str) -> list[str]:
    """The words of a line, by the rules of a shell; nothing in it is ever evaluated."""
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        raise ShellError("A quotation has no end.") from None


def thread_meant(threads: Sequence[Any], word: str) -> Any:
    """The one thread of this name, letter or number; raises ShellError for none and for several."""
    wanted = word.strip().casefold()
    exact = [one for one in threads if (one.binding.thread_name or "").casefold() == wanted]
    found = exact or [
        one
        for one in threads
        if (one.binding.slot or "").casefold() == wanted or str(one.binding.thread_id) == wanted
    ]
    if len(found) == 1:
        return found[0]
    if found:
        numbers = ", ".join(str(one.binding.thread_id) for one in found)
        raise ShellError(f'Several threads are called "{word}". Name one by its number: {numbers}')
    known = ", ".join(one.binding.thread_name or "?" for one in threads) or "none"
    raise ShellError(f'No thread "{word}". There are: {known}')


def process_meant(followers: Iterable[Any], word: str) -> Any:
    """The one registered process of this pid, or behind the thread of this name or letter."""
    everyone = list(followers)
    wanted = word.strip().casefold()
    for matches in (
        [one for one in everyone if str(one.get("pid")) == wanted],
        [one for one in everyone if str(one.get("thread_name", "")).casefold() == wanted],
        [one for one in everyone if str(one.get("slot", "")).casefold() == wanted],
    ):
        if len(matches) == 1:
            return matches[0]
    known = ", ".join(str(one.get("pid")) for one in everyone) or "none"
    raise ShellError(f'No registered process "{word}". There are: {known}')
