"""One event of the log as a line for people: when, how bad, where, what, and its fields."""

from collections.abc import Mapping
from typing import Any

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_NOT_FIELDS = frozenset({"time", "level", "action", "pid", "actor", "instance_id", "trace"})
_LONGEST_VALUE = 160


def is_worth(event: Mapping[str, Any], least: str) -> bool:
    """Whether it is at least as bad as this level; an unknown level is."""
    level = str(event.get("level", ""))
    return level not in LEVELS or LEVELS.index(level) >= LEVELS.index(least.upper())


def line(event: Mapping[str, Any], time: str) -> str:
    """`12:04:31 WARNING poller 4311: leader.poll_conflict cause=foreign-poller`."""
    level = str(event.get("level", "?"))
    where = str(event.get("actor") or "main").partition(":")[0]
    fields = [
        f"{name}={_value(value)}"
        for name, value in event.items()
        if name not in _NOT_FIELDS and value not in (None, "")
    ]
    said = f"{time} {level:<7} {where} {event.get('pid', '?')}: {event.get('action', '?')}"
    return _one_line(" ".join((said, *fields)))


def trace_lines(event: Mapping[str, Any]) -> tuple[str, ...]:
    """The trace of an exception, indented; nothing without one."""
    trace = event.get("trace")
    if not isinstance(trace, str):
        return ()
    return tuple(f"    {_one_line(one)}" for one in trace.rstrip().splitlines())


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    if len(text) > _LONGEST_VALUE:
        text = text[:_LONGEST_VALUE] + "…"
    return repr(text) if isinstance(value, str) and (" " in text or "\n" in text) else text


def _one_line(text: str) -> str:
    """Nothing that was logged may steer the terminal."""
    return "".join(character if character.isprintable() else "·" for character in text)
