"""How long a handler took, and whether that was its own doing."""

import gc
import time
from pathlib import Path

LONGEST_MS = 50
"""So long it may compute, by the processor's time."""
LONGEST_REST_MS = 250
"""So long it may rest. A disk takes its time now and then; whoever sleeps or asks a network rests longer."""

_SCHEDULED = Path("/proc/thread-self/schedstat")


class HandlerWatch:
    """Started with the handler; time in which the thread was ready and not scheduled is forgiven.

    So is a full collection of garbage, which is mostly that of tests before this one.
    """

    def __init__(self) -> None:
        self._collections = _full_collections()
        self._started, self._worked, self._queued = time.perf_counter(), time.thread_time(), queued_s()

    def elapsed_ms(self) -> int:
        """By the clock on the wall."""
        return round((time.perf_counter() - self._started) * 1000)

    def blocked(self) -> bool:
        """Whether it computed or rested for too long."""
        elapsed_ms = self.elapsed_ms()
        if elapsed_ms <= LONGEST_MS or _full_collections() > self._collections:
            return False
        worked_ms = (time.thread_time() - self._worked) * 1000
        queued = queued_s()
        if worked_ms > LONGEST_MS or queued is None or self._queued is None:
            return worked_ms > LONGEST_MS
        return elapsed_ms - worked_ms - (queued - self._queued) * 1000 > LONGEST_REST_MS


def queued_s() -> float | None:
    """How long this thread was ready and others had the processor; None where nobody tells."""
    try:
        return int(_SCHEDULED.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def _full_collections() -> int:
    return int(gc.get_stats()[2]["collections"])
