"""From starting `run.py` without a bot to the address of its practice chat, and to `ready`; then one that joins.

Beside them the floor: a bare interpreter that imports the same packages of others, and does nothing.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.cluster import ROOT, Cluster, running_cluster

RUNS = 8
PACKAGES = "asyncio, marshmallow, loguru, psutil, platformdirs, sqlalchemy.dialects.sqlite"


class Start:
    """One `run.py`, and when it said what."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "run.py"), "--home", str(cluster.home), "--name", name],
            cwd=cluster.work,
            env=cluster.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def said_ms(self, words: str) -> float:
        """How long it took until it said this."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if words in line:
                return _ms_since(self._began)
        raise AssertionError(f"it ended with {self._process.wait()} and never said {words!r}")

    def end(self) -> None:
        """In order."""
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate()


def floor_ms() -> float:
    """What no start of ours can be faster than."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", f"import {PACKAGES}"], check=True)
    return _ms_since(began)


def starts_ms(cluster: Cluster) -> dict[str, float]:
    """The first process of a home, and a second one."""
    first = Start(cluster, "first")
    figures = {"address": first.said_ms("http://127.0.0.1:"), "ready, leading": first.said_ms("ready ")}
    second = Start(cluster, "second")
    figures["ready, joining"] = second.said_ms("ready ")
    second.end()
    first.end()
    return figures


def _ms_since(began: float) -> float:
    return (time.monotonic() - began) * 1_000


def main() -> None:
    """Each run on a home of its own, with the floor beside it."""
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        print("Python may not keep what it compiles here (PYTHONDONTWRITEBYTECODE), so starts take longer.")
    figures: dict[str, list[float]] = {}
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as directory, running_cluster(Path(directory)) as cluster:
            for what, value in {"floor": floor_ms(), **starts_ms(cluster)}.items():
                figures.setdefault(what, []).append(value)
    floor = min(figures["floor"])
    for what, values in figures.items():
        least, median = min(values), statistics.median(values)
        print(f"{what}: least {least:.0f} ms, {least / floor:.1f} floors; median {median:.0f} ms of {RUNS}")
