"""What a thread is told about a process that is not there, is lost, or is back: pure.

A process that ends in order says so itself. One that died is said to be lost, by whoever leads, once it
was away for longer than a restart takes. One that ended without a word is said to be stopped when
something waits for it. Every absence is told once.
"""

import dataclasses
from typing import Any

from actors.plans import thread_texts
from actors.plans.choosing import CALL_DEADLINE_MS
from actors.plans.effects import Effect, Effects, Now, Send, Write
from messages.telegram_gateway import CallTelegram
from messages.texts import PROCESS_SILENT

NOTICE_GRACE_MS = 5_000
"""A process that is only changing its leader or restarting is back within this time."""

WELCOME_WITHIN_MS = 1_500
"""How long a process that came back and leads waits for the first batch, to say how much waited."""


@dataclasses.dataclass(frozen=True, slots=True)
class Absent:
    """A binding without a live process: with waiting messages, or one whose process died."""

    binding_key: str
    noticed: bool
    chat_id: int
    thread_id: int | None
    directory: str | None = None
    command: str | None = None
    lost: bool = False
    """Whether its process is proven dead, and did not end in order."""

    silent: bool = False
    """Whether its process may well be there, suspended or stuck: starting another would not help."""

    time: str | None = None
    """When it died, as people say it; None where nobody saw it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Welcome:
    """The leading instance came back to its thread, which is not told by a probe as with the others."""

    binding_key: str
    chat_id: int
    thread_id: int | None
    away_since: int
    """When the process before it ended; 0: nobody knows."""

    due: bool = False
    """Whether it is known what waited, or was waited for long enough."""


def notice(absent: Absent, epoch: int, now: Now) -> Effects:
    """Tell a thread once that nobody is there."""
    return (
        # Written first: told once at most, even if this process dies in between.
        Write(
            "ingress",
            "mark_noticed",
            {"binding_key": absent.binding_key, "epoch": epoch, "now": now.wall},
        ),
        _message(absent.chat_id, absent.thread_id, _words(absent)),
    )


def welcome(back: Welcome, waiting: int, now: Now) -> Effect:
    """Tell the own thread that its process is back."""
    away = now.wall - back.away_since if back.away_since else None
    return _message(back.chat_id, back.thread_id, thread_texts.back(away, waiting))


def _words(absent: Absent) -> str:
    if absent.lost:
        return thread_texts.lost(absent.time)
    if absent.silent:
        return PROCESS_SILENT
    return thread_texts.stopped(absent.directory, absent.command)


def _message(chat_id: int, thread_id: int | None, text: str) -> Send:
    params: dict[str, Any] = {
        "chat_id": chat_id,
        "text": text,
        "link_preview_options": {"is_disabled": True},
    }
    if thread_id is not None:
        params["message_thread_id"] = thread_id
    call = CallTelegram(method="sendMessage", params=params, priority="control")
    return Send("telegram_gateway", call, None, CALL_DEADLINE_MS, resend=False)
