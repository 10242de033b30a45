"""From `kill -9` of the leading run.py to the new leader's first getUpdates, and to every follower back.

The first figure is taken at the practice chat, which stamps each call as it arrives.
"""

import json
import signal
import statistics
import tempfile
import time
from pathlib import Path

from tests.bench.footprint import cpu_s
from tests.support.cluster import Cluster, running_cluster
from tests.support.eventually import eventually

RUNS = 10
CALM_S = 0.5
WORK_S = 0.02
"""Less than so much of a processor in `CALM_S` is no work."""


def at_rest(cluster: Cluster) -> None:
    """Wait until whoever was started last has read in what it needs to lead: takeovers are told apart from starts."""
    everyone = [process for one in cluster.instances for process in one.members()]
    seen = [(time.monotonic(), cpu_s(everyone))]

    def is_calm() -> bool:
        seen.append((time.monotonic(), cpu_s(everyone)))
        before = [used for at, used in seen if at <= seen[-1][0] - CALM_S]
        return bool(before) and seen[-1][1] - before[-1] < WORK_S

    eventually(is_calm, 20, "nobody works")


def one_takeover(cluster: Cluster) -> tuple[float, float]:
    """Kill the leader once; (first poll, last follower back) in milliseconds."""
    at_rest(cluster)
    leader = cluster.leader
    polls = len(cluster.practice.calls("getUpdates"))
    epoch = cluster.status()["leader"]["epoch"]
    others = {one.pid for one in cluster.instances if one.process.poll() is None} - {leader.pid}
    began = time.monotonic()
    leader.signal(signal.SIGKILL)
    eventually(lambda: len(cluster.practice.calls("getUpdates")) > polls, 15)
    first = cluster.practice.calls("getUpdates")[polls]
    leader.process.wait()
    registered = eventually(lambda: _registered(cluster, epoch, others), 15)
    return first["at_monotonic_ms"] - began * 1_000, registered - began * 1_000


def _registered(cluster: Cluster, epoch: int, pids: set[int]) -> float | None:
    """When the last of these registered under a newer epoch, on the monotonic clock in ms."""
    status = cluster.status()
    if not status["leader"] or status["leader"]["epoch"] <= epoch:
        return None
    if {follower["pid"] for follower in status["followers"]} < pids:
        return None
    wall_ahead_ms = time.time() * 1_000 - time.monotonic() * 1_000
    log = (cluster.home / "logs" / "switchboard.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in log[-400:]]
    since = [
        event["time"] for event in events if event["action"] == "registry.registered"
    ][-len(pids):]
    from datetime import datetime

    return max(datetime.fromisoformat(t).timestamp() * 1_000 for t in since) - wall_ahead_ms


def main() -> None:
    """Ten takeovers with three instances; each killed one is started again."""
    with tempfile.TemporaryDirectory() as directory, running_cluster(Path(directory)) as cluster:
        names = ("api", "web", "ml")
        for name in names:
            cluster.start(name=name)
        figures = []
        for _ in range(RUNS):
            gone = cluster.leader.fields()["thread"]
            figures.append(one_takeover(cluster))
            cluster.start(name=gone)
        polls, backs = zip(*figures, strict=True)
        for what, values in (("first getUpdates", polls), ("every follower back", backs)):
            print(
                f"{what}: median {statistics.median(values):.0f} ms,"
                f" worst {max(values):.0f} ms of {RUNS}"
            )
