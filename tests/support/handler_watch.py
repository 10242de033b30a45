"""How long a handler took, and whether that was its own doing."""

import gc
import time

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

LONGEST_MS = 50


class HandlerWatch:
    """Started with the handler; time in which the thread was merely not scheduled is forgiven.

    So is a full collection of garbage, which is mostly that of tests before this one.
    """

    def __init__(self) -> None:
        self._collections = _full_collections()
        self._started, self._worked, self._waits = time.perf_counter(), time.thread_time(), _waits()

    def elapsed_ms(self) -> int:
        """By the clock on the wall."""
        return round((time.perf_counter() - self._started) * 1000)

    def blocked(self) -> bool:
        """Whether it computed or waited for too long."""
        if self.elapsed_ms() <= LONGEST_MS or _full_collections() > self._collections:
            return False
        worked_ms = (time.thread_time() - self._worked) * 1000
        return worked_ms > LONGEST_MS or _waits() > self._waits


def _full_collections() -> int:
    return int(gc.get_stats()[2]["collections"])


def _waits() -> int:
    # How often this thread gave the processor away by itself, to sleep or to wait for a device.
    if hasattr(resource, "RUSAGE_THREAD"):
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    return time.perf_counter_ns()  # unknown here, so every long handler counts as blocked
