"""The bus under 1, 5 and 25 followers, each a process with one duplex connection, beside its floor.

The floor is a process that sends lines of the same size back over the same kind of socket, asked by the
same clients in the same run: what Python and the kernel cost before any of ours. Times are of followers
that have one request under way each, rates of followers that keep `WINDOW`. Registering is registering
again, as after a change of leader. The API call is a typing sign within two seconds of the last, which the
gateway answers without Telegram; a forward is timed from the chat's HTTP request to the follower's
receipt, so it has the practice chat, the poll and the journal in it.
"""

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.bench.bus_follower import SENT_NS
from tests.support.cluster import ROOT, Cluster, running_cluster

COUNTS = (1, 5, 25)
SECONDS = 2.0
WINDOW = 16
FORWARDS = 100
WRITERS = 4
PATIENCE_S = 40.0


class Worker:
    """One process of the measurement, ordered about over its stdin."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.bench.{module}", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def order(self, **order: Any) -> None:
        """Say what to do."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def result(self) -> dict[str, Any]:
        """What it did; waits for it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "a process of the measurement ended early"
        return json.loads(line)

    def end(self) -> None:
        """It ends with its stdin."""
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(timeout=PATIENCE_S)


class Figures:
    """What was measured of one thing."""

    def __init__(self, took_us: list[float], per_second: float) -> None:
        self.p50 = statistics.median(took_us)
        self.p95 = sorted(took_us)[int(len(took_us) * 0.95)]
        self.per_second = per_second


def asked(workers: list[Worker], what: str) -> Figures:
    """The figures of one kind of request, asked by all at once."""
    alone = _ordered(workers, do=what, seconds=SECONDS, window=1)
    took = [value for result in alone for value in result["took_us"]]
    crowd = _ordered(workers, do=what, seconds=SECONDS, window=1 if what == "register" else WINDOW)
    began = min(result["span_ns"][0] for result in crowd)
    ended = max(result["span_ns"][1] for result in crowd)
    per_second = sum(result["answered"] for result in crowd) / ((ended - began) / 1e9)
    return Figures(took, per_second)


def _ordered(workers: list[Worker], **order: Any) -> list[dict[str, Any]]:
    for worker in workers:
        worker.order(**order)
    return [worker.result() for worker in workers]


def forwarded(cluster: Cluster, workers: list[Worker], threads: list[int]) -> Figures:
    """Updates written in the chat, one at a time for the times, then several at once for the rate."""
    took: list[float] = []
    for count, writers in ((max(1, FORWARDS // 4 // len(workers)), 1), (None, WRITERS)):
        each = count or max(1, FORWARDS // len(workers))
        for worker in workers:
            worker.order(do="take", count=each)
        began = time.monotonic()
        with ThreadPoolExecutor(writers) as pool:
            list(pool.map(lambda thread: _write(cluster, thread), threads * each))
        results = [worker.result() for worker in workers]
        seconds = time.monotonic() - began
        if writers == 1:
            took = [value for result in results for value in result["took_us"]]
    return Figures(took, sum(result["answered"] for result in results) / seconds)


def _write(cluster: Cluster, thread_id: int) -> None:
    cluster.practice.write(f"{SENT_NS}{time.monotonic_ns()}", thread_id)


@contextlib.contextmanager
def ended(workers: list[Worker]) -> Iterator[list[Worker]]:
    """Whatever happens, nobody is left."""
    try:
        yield workers
    finally:
        for worker in workers:
            worker.end()


def show(count: int, what: str, figures: Figures, floor: Figures) -> None:
    """One row of the table."""
    print(
        f"{count:9} {what:10} {figures.p50:9.0f} {figures.p95:9.0f} {figures.per_second:11.0f}"
        f" {figures.p50 / floor.p50:9.1f} {figures.per_second / floor.per_second:11.3f}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    print(
        f"{'followers':9} {'what':10} {'p50 us':>9} {'p95 us':>9} {'per second':>11}"
        f" {'x floor':>9} {'of its rate':>11}"
    )
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = stack.enter_context(running_cluster(directory))
        cluster.start(name="leader")
        lease = cluster.lease()
        assert lease.endpoint and lease.secret
        echo = str(directory / "echo")
        floor_server = stack.enter_context(ended([Worker("bus_floor", echo)]))[0]
        floor_server.result()
        followers = stack.enter_context(ended([]))
        floor_clients = stack.enter_context(ended([]))
        threads: list[int] = []
        for count in COUNTS:
            for number in range(len(followers), count):
                followers.append(Worker("bus_follower", lease.endpoint, lease.secret, f"p{number}"))
                threads.append(followers[-1].result()["thread_id"])
                floor_clients.append(Worker("bus_follower", echo, lease.secret, "floor"))
                floor_clients[-1].result()
            floor = asked(floor_clients, "heartbeat")
            show(count, "floor", floor, floor)
            for what in ("heartbeat", "call", "register"):
                show(count, what, asked(followers, what), floor)
            show(count, "forward", forwarded(cluster, followers, threads), floor)
