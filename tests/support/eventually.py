"""Waiting in tests: for a condition, never for a time. The only place in the tests that sleeps."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.1


class NeverHappened(AssertionError):
    """The condition did not come true in time."""


def eventually(condition: Callable[[], Value], within: float = 5.0, what: str = "") -> Value:
    """The first truthy value of ``condition``; NeverHappened with its last value after ``within``.

    An AssertionError of the condition counts as "not yet", so it may consist of asserts and return
    anything truthy; the last such error is shown.
    """
    deadline = time.monotonic() + within
    pause = _FIRST_PAUSE
    while True:
        last: object
        try:
            value = condition()
            if value:
                return value
            last = value
        except AssertionError as error:
            last = error
        if time.monotonic() > deadline:
            raise NeverHappened(f"{what or condition} not within {within} s; last: {last!r}")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


async def eventually_async(condition: Callable[[], Value], within: float = 5.0,
                           what: str = "") -> Value:
    """``eventually`` for tests that share an event loop with what they wait for."""
    deadline = time.monotonic() + within
    pause = _FIRST_PAUSE
    while True:
        last: object
        try:
            value = condition()
            if value:
                return value
            last = value
        except AssertionError as error:
            last = error
        if time.monotonic() > deadline:
            raise NeverHappened(f"{what or condition} not within {within} s; last: {last!r}")
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
