"""The two clocks of the house, read at the edges only and handed to plans as `Now`."""

import datetime
import time

from actors.plans.effects import Now

# Linux counts suspended time in CLOCK_BOOTTIME; elsewhere the monotonic clock is shared by processes too.
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_ms() -> int:
    """Milliseconds since boot, the same in every process of this machine."""
    return time.clock_gettime_ns(_BOOT) // 1_000_000


def wall_ms() -> int:
    """Milliseconds since the epoch, for people and for Telegram."""
    return time.time_ns() // 1_000_000


def until_next(period_s: float) -> float:
    """Seconds until the next whole period of a clock that all processes share.

    What each process does again and again it does at the same instants, so that an idle machine
    wakes once for all of it, and not a little for each.
    """
    return period_s - time.monotonic() % period_s


def system_now() -> Now:
    """The present instant on both clocks."""
    return Now(wall=wall_ms(), boot=boot_ms())


def said_time(instant_ms: int, now_ms: int) -> str:
    """A past instant as people say it here: `22:41`, `Sun 22:41`, or `3 Nov 22:41`."""
    then = datetime.datetime.fromtimestamp(instant_ms / 1_000)
    today = datetime.datetime.fromtimestamp(now_ms / 1_000)
    days = (today.date() - then.date()).days
    if days == 0:
        return f"{then:%H:%M}"
    return f"{then:%a %H:%M}" if days < 7 else f"{then.day} {then:%b %H:%M}"


def said_moment(instant_ms: int, now_ms: int) -> str:
    """A past instant with its day, whichever it was: `Fri 18:02`, or `3 Nov 18:02`."""
    then = datetime.datetime.fromtimestamp(instant_ms / 1_000)
    today = datetime.datetime.fromtimestamp(now_ms / 1_000)
    recent = (today.date() - then.date()).days < 7
    return f"{then:%a %H:%M}" if recent else f"{then.day} {then:%b %H:%M}"
