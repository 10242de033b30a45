"""What the thread is told of a command's run: pure.

The output is shown whole in at most four messages. Of a longer one the beginning is shown in three
and the end in the fourth, which names the file that holds all of it.
"""

import dataclasses

from actors.plans.output import (
    MESSAGE_LIMIT,
    MESSAGES_PER_ANSWER,
    head_of,
    split,
    tail_of,
    units,
)
from actors.plans.terminal_text import TerminalText
from messages import texts

_SHORTENED = "…\n"


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    status: int
    """The exit status as a shell reports it: 128 + n for a signal."""

    duration_ms: int
    stopped: bool = False
    """Whether the owner stopped it: then its status says nothing to anybody."""

    sentence: str | None = None
    """What to say instead of output, when the command could not be started."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """Where the full output is, or why it is nowhere."""

    path: str | None
    failure: str | None = None


def answer(text: TerminalText, ended: Ended, kept: Kept) -> tuple[str, ...]:
    """The messages that a run leaves in its thread; none for one that was stopped in silence."""
    ending = _ending(text, ended)
    if text.is_whole:
        body = text.beginning().strip("\n").rstrip()
        parts = split(_joined(body, ending))
        if len(parts) <= MESSAGES_PER_ANSWER:
            return parts
    beginning = split(text.beginning())[: MESSAGES_PER_ANSWER - 1]
    closing = _joined(ending, _whereabouts(kept))
    room = MESSAGE_LIMIT - units(closing) - units(_SHORTENED) - 2
    return *beginning, _joined(_SHORTENED + text.end(room), closing)


def preview(text: TerminalText) -> str:
    """What one message shows of a run that goes on: its end, where it does not fit."""
    body = text.end(MESSAGE_LIMIT)
    if text.is_whole and units(text.beginning().rstrip()) <= MESSAGE_LIMIT:
        return body
    return _SHORTENED + tail_of(body, MESSAGE_LIMIT - units(_SHORTENED))


def could_not_start(command: str, missing: bool, reason: str) -> str:
    """The sentence for a command that the system would not execute."""
    shown = head_of(command, 200)
    if missing:
        return texts.COMMAND_NOT_FOUND.format(command=shown)
    return texts.COMMAND_NOT_EXECUTABLE.format(command=shown, reason=reason)


def duration(milliseconds: int) -> str:
    """A duration as people say it: `0.4 s`, `12 s`, `2 min 10 s`, `1 h 5 min`."""
    if milliseconds < 9_950:
        return f"{milliseconds / 1_000:.1f} s"
    seconds = round(milliseconds / 1_000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3_600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3_600} h {seconds % 3_600 // 60} min"


def _ending(text: TerminalText, ended: Ended) -> str:
    if ended.stopped:
        return ""
    if ended.status != 0:
        took = duration(ended.duration_ms)
        status = texts.EXIT_STATUS.format(status=ended.status, duration=took)
        return _joined(ended.sentence or "", status)
    return texts.DONE_WITHOUT_OUTPUT if text.is_blank else ""


def _whereabouts(kept: Kept) -> str:
    if kept.path is not None:
        return texts.FULL_OUTPUT.format(path=kept.path)
    return texts.FULL_OUTPUT_LOST.format(reason=kept.failure or "no reason is known")


def _joined(above: str, below: str) -> str:
    return f"{above}\n\n{below}" if above and below else above or below
