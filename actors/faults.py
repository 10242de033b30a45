"""Named points at which a test makes a process die, stop, fail or dawdle.

``SWITCHBOARD_FAULT=place:what[:milliseconds][*pass][,...]`` is read once, at import. ``what`` is ``kill``
(SIGKILL oneself), ``stop`` (SIGSTOP), ``fail`` (raise FaultInjected) or ``delay`` (wait that long). Each
fires once in a process: at the first pass, or at the N-th with ``*N``. Where ``SWITCHBOARD_FAULT_ONCE``
names a directory it fires once among all processes that share it, so that what replaces a victim lives.
Where ``SWITCHBOARD_FAULT_FROM`` names a file, no pass counts before that file is there. Unset, ``fault`` does
nothing.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

VARIABLE = "SWITCHBOARD_FAULT"
ONCE = "SWITCHBOARD_FAULT_ONCE"
FROM = "SWITCHBOARD_FAULT_FROM"

PLACES: Mapping[str, str] = {
    "launcher.before-start": "the launcher, told to lead, has forked nothing yet",
    "launcher.after-admin": "the admin answers, the Leader is not forked",
    "launcher.after-leader": "the Leader is told its first message",
    "leader.after-lease": "the Leader knows its settings, no child is started",
    "leader.before-commit": "the Leader is in a transaction of bus.db",
    "leader.before-serving": "all children run, nothing is reported yet",
    "leader.before-release": "all children are stopped, the lease is still held",
    "poller.before-poll": "getUpdates is about to be called",
    "poller.after-poll": "updates are fetched, not handed over",
    "inbox.before-commit": "the inbox is in a transaction of ingress.db",
    "inbox.before-admit": "a batch is received, not written",
    "inbox.after-admit": "a batch and its cursor are written, the poller does not know",
    "inbox.before-forward": "a row is due, its forward is not sent",
    "inbox.after-receipt": "the receipt is in hand, the row is not settled",
    "gateway.before-write": "a call has passed its checks, nothing is written to the connection",
    "gateway.after-write": "the request is written, no answer is read",
    "provisioner.before-create": "the row is pending, createForumTopic is not called",
    "provisioner.after-create": "the thread exists, its row does not say so",
    "registry.before-ack": "a registration is done, its ack is not sent",
    "follower.after-journal": "a delivery is in the journal, its receipt is not sent",
    "session.before-run": "a delivery is taken from the queue, the mode has not begun",
    "session.after-run": "the mode is done, its answer is not sent",
    "session.after-answer": "the answer is sent, the delivery is not marked done",
}
"""Every place there is, and what is true there."""


class FaultInjected(Exception):
    """A test asked for this failure."""


class FaultUnknown(ValueError):
    """The variable names no place, no action or no number that there is."""


@dataclass
class Fault:
    """What happens at one place, and at which pass."""

    action: str
    milliseconds: int = 0
    at_pass: int = 1
    passes: int = 0

    def pass_by(self, place: str) -> None:
        if not _has_begun():
            return
        self.passes += 1
        if self.passes != self.at_pass or not _is_first(place):
            return
        if self.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.action == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif self.action == "delay":
            time.sleep(self.milliseconds / 1000)
        else:
            raise FaultInjected(place)


def parse(text: str) -> dict[str, list[Fault]]:
    """The faults of a variable's value; FaultUnknown says what is wrong with it."""
    faults: dict[str, list[Fault]] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        description, star, number = item.partition("*")
        place, _, action = description.partition(":")
        action, _, delay = action.partition(":")
        if place not in PLACES:
            raise FaultUnknown(f"{VARIABLE}: no place {place!r}; there are {', '.join(PLACES)}")
        if action not in ("kill", "stop", "fail", "delay"):
            raise FaultUnknown(f"{VARIABLE}: {item!r} wants kill, stop, fail or delay")
        if (action == "delay") != delay.isdecimal() or (action != "delay" and delay):
            raise FaultUnknown(f"{VARIABLE}: {item!r}: a delay, and only that, has milliseconds")
        if star and not (number.isdecimal() and int(number)):
            raise FaultUnknown(f"{VARIABLE}: {item!r}: after * comes a number from 1")
        faults.setdefault(place, []).append(
            Fault(action, int(delay or 0), int(number) if star else 1))
    return faults


def _has_begun() -> bool:
    file = os.environ.get(FROM)
    return not file or os.path.exists(file)


def _is_first(place: str) -> bool:
    directory = os.environ.get(ONCE)
    if not directory:
        return True
    try:
        os.close(os.open(os.path.join(directory, place), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


def _pass_by(place: str) -> None:
    for each in _faults.get(place, ()):
        each.pass_by(place)


def _nothing(place: str) -> None:
    pass


_faults = parse(os.environ.get(VARIABLE, ""))

fault: Callable[[str], None] = _pass_by if _faults else _nothing
"""Marks a place: ``fault("inbox.after-admit")``."""
