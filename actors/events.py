"""`events` and `logs`: what happened, read from the log of the house; for people, or as it is stored.

Reading starts at the end of both files, so that a long log costs no more than what is shown. Following it
survives the file being put aside.
"""

import argparse
import collections
import contextlib
import datetime
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from actors.event_log import FILE_NAME, PREVIOUS_NAME, redacted
from actors.plans.event_lines import is_worth, line, trace_lines
from stores.home import Home

LOOK_EVERY_S = 0.25
_BLOCK = 64 * 1024

Wanted = Callable[[str], bool]


def print_events(options: argparse.Namespace) -> int:
    """Print what was asked for; returns the exit status."""
    logs = Home(options.home).logs
    if options.command == "logs":
        if options.path:
            print(logs / FILE_NAME)
            return 0
        return show_log(logs, options.n, options.follow, _as_it_is, lambda stored: True)
    least = options.level
    return show_log(logs, options.n, options.follow, shown, lambda stored: worth(stored, least))


def show_log(
    logs: Path, count: int, follow: bool, form: Callable[[str], list[str]], wanted: Wanted
) -> int:
    """Print the last events that are wanted and, if so asked, those that come."""
    current = logs / FILE_NAME
    if not current.exists() and not follow:
        print(f"Nothing was logged yet: {current}", file=sys.stderr)
        return 0
    with contextlib.closing(Following(current)) as following:
        for stored in last(logs, count, wanted):
            _put(form(stored))
        while follow:
            for stored in following.fresh():
                if wanted(stored):
                    _put(form(stored))
            time.sleep(LOOK_EVERY_S)
    return 0


def last(logs: Path, count: int, wanted: Wanted) -> list[str]:
    """The last stored lines that are wanted, the oldest first, from the file and the one before it."""
    found: collections.deque[str] = collections.deque()
    for path in (logs / FILE_NAME, logs / PREVIOUS_NAME):
        for stored in _backwards(path):
            if len(found) >= count:
                return list(found)
            if wanted(stored):
                found.appendleft(stored)
    return list(found)


def shown(stored: str) -> list[str]:
    """One stored line for people."""
    event = _loaded(stored)
    if event is None:
        return [redacted(stored)]
    return [line(event, _local(str(event.get("time", "")))), *trace_lines(event)]


def worth(stored: str, least: str) -> bool:
    """Whether a stored line is at least so bad."""
    event = _loaded(stored)
    return event is None or is_worth(event, least)


def shower(least: str) -> Callable[[dict[str, Any]], None]:
    """Prints the events of this process that are at least so bad on standard error, as they happen."""

    def show(event: dict[str, Any]) -> None:
        if is_worth(event, least):
            with contextlib.suppress(OSError, ValueError):
                for text in (line(event, _local(str(event.get("time", "")))), *trace_lines(event)):
                    print(text, file=sys.stderr, flush=True)

    return show


class Following:
    """The end of a file that grows, and is another file now and then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""
        self._stream: Any = None
        with contextlib.suppress(FileNotFoundError):
            self._stream = path.open("rb")
            self._stream.seek(0, os.SEEK_END)

    def fresh(self) -> Iterator[str]:
        """Whole lines since the last look."""
        yield from self._more()
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return
        here = os.fstat(self._stream.fileno()) if self._stream is not None else None
        if here is None or (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            yield from self._more()
            if self._stream is not None:
                self._stream.close()
            self._stream, self._rest = self._path.open("rb"), b""
            yield from self._more()

    def close(self) -> None:
        """Look no more."""
        if self._stream is not None:
            self._stream.close()

    def _more(self) -> Iterator[str]:
        if self._stream is None:
            return
        *whole, self._rest = (self._rest + self._stream.read()).split(b"\n")
        for one in whole:
            yield one.decode("utf-8", "replace")


def _backwards(path: Path) -> Iterator[str]:
    """The lines of a file, the last one first."""
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    with stream:
        at, rest = stream.seek(0, os.SEEK_END), b""
        while at > 0:
            size = min(_BLOCK, at)
            at -= size
            stream.seek(at)
            rest, *whole = (stream.read(size) + rest).split(b"\n")
            for one in reversed(whole):
                if one:
                    yield one.decode("utf-8", "replace")
        if rest:
            yield rest.decode("utf-8", "replace")


def _loaded(stored: str) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError):
        event = json.loads(stored)
        if isinstance(event, dict):
            return event
    return None


def _as_it_is(stored: str) -> list[str]:
    return [stored]


def _put(lines: list[str]) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    for text in lines:
        print(text.encode(encoding, "replace").decode(encoding), flush=True)


def _local(time_text: str) -> str:
    try:
        then = datetime.datetime.fromisoformat(time_text).astimezone()
    except ValueError:
        return "?"
    today = datetime.datetime.now().astimezone().date()
    return f"{then:%H:%M:%S}" if then.date() == today else f"{then:%d %b %H:%M:%S}"
