"""What the shell shows in answer to each question: tables made of rows and of what the leader told. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from actors.plans.output import clip
from actors.plans.screen import Screen
from actors.plans.shown_text import one_line
from actors.plans.status import duration

REASONS = {
    "dead": "not delivered",
    "cut_off": "cut off",
    "unclear": "answer unclear",
}
_EXCERPT_UNITS = 32


def threads(facts: Sequence[Any], chat_id: int | None) -> Screen:
    """Every thread, with what it is called by programs."""
    if not facts:
        return Screen(above=("No thread yet. Start a process: switchboard",))
    return Screen(
        above=(f"chat {chat_id}",) if chat_id else (),
        headings=("thread", "letter", "number", "state", "process", "waiting"),
        rows=tuple(
            (
                one.binding.thread_name or "?",
                one.binding.slot or "-",
                str(one.binding.thread_id or "-"),
                one.state_shown,
                str(one.identity.owner.pid) if one.is_alive and one.identity.owner else "-",
                str(one.waiting + one.queued),
                f"in {one.identity.directory}" if one.identity and one.identity.directory else "",
            )
            for one in facts
        ),
    )


def processes(followers: Iterable[Mapping[str, Any]], leader_pid: int) -> Screen:
    """Every registered process."""
    rows = tuple(
        (
            f"{one.get('pid')} (leads)" if one.get("pid") == leader_pid else str(one.get("pid")),
            str(one.get("thread_name") or "?"),
            str(one.get("slot") or "-"),
            f"{duration(int(one.get('heartbeat_age_ms') or 0))} ago",
            "yes" if one.get("connected", True) else "no",
        )
        for one in followers
    )
    if not rows:
        return Screen(above=("No process is registered at present.",))
    return Screen(headings=("process", "thread", "letter", "heard", "connected"), rows=rows)


def actors(described: Iterable[Mapping[str, Any]], resident: Mapping[int, int]) -> Screen:
    """The parts of the leading process."""
    rows = []
    for one in described:
        pid = one.get("pid") or 0
        size = resident.get(pid)
        rows.append((
            str(one.get("name")),
            str(pid or "-"),
            f"{size / 1_048_576:.0f} MB" if size else "-",
            str(one.get("restarts") or 0),
            duration(int(one.get("uptime_ms") or 0)),
        ))
    headings = ("part", "process", "memory", "replaced", "up")
    return Screen(headings=headings, rows=tuple(rows))


def undelivered(found: Iterable[tuple[int, str, str, str, str]]) -> Screen:
    """What waits for a decision: (number, thread, state, since, text)."""
    rows = tuple(
        (str(number), thread, REASONS.get(state, state), since, _excerpt(text))
        for number, thread, state, since, text in found
    )
    if not rows:
        return Screen(above=("Everything was delivered.",))
    return Screen(
        headings=("number", "thread", "what", "since", "text"),
        rows=rows,
        below=("undelivered retry NUMBER, or undelivered drop NUMBER",),
    )


def _excerpt(text: str) -> str:
    return clip(one_line(" ".join(text.split())), _EXCERPT_UNITS)


def help_overview(commands: Mapping[str, str]) -> Screen:
    """What there is: (command, what it does) from the first line of each explanation."""
    return Screen(
        headings=("command", "what it does"),
        rows=tuple(commands.items()),
        below=("help COMMAND explains one. A thread is named by its name, letter or number.",),
    )
