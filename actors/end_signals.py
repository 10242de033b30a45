"""The signals that ask a process to end, and what they do before there is anything to end in order."""

import os
import signal
from types import FrameType

OK = 0


class Interrupted(BaseException):
    """A signal to end came before there was anything to end in order."""


def heeded() -> tuple[signal.Signals, ...]:
    """Those that end this process in order; a hang-up is none where `nohup` shields from it."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return signal.SIGINT, signal.SIGTERM
    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle one of them by an exception, so that a terminal is put back as it was."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            # What is raised in the callbacks of imports is only printed, and lost.
            os._exit(OK)
        frame = frame.f_back
    raise Interrupted
