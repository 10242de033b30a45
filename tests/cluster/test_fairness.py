"""One peer floods and one never reads: a third is served all the while."""

import contextlib
import json
import threading

from tests.bench.bus_follower import BenchFollower
from tests.support.cluster import Cluster

FLOOD = 20_000
MOST_TO_STALL = 200_000
"""Heartbeats after which a peer that never reads must have been left alone."""
STALLED_S = 2.0


def peer(cluster: Cluster, name: str) -> BenchFollower:
    """A registered follower on a connection of its own."""
    lease = cluster.lease()
    follower = BenchFollower(lease.endpoint or "", lease.secret or "", name)
    follower.register()
    return follower


def all_answered(lines: list[bytes]) -> bool:
    """Whether each of these acks is a yes."""
    return all(json.loads(line)["ok"] for line in lines)


def test_a_flood_and_a_peer_that_never_reads_delay_nobody(cluster: Cluster) -> None:
    """Every heartbeat of a calm follower is answered before the flood is half over."""
    first = cluster.start(name="leader")
    pids = {process.pid for process in first.members() if "mutation" not in process.name()}
    with contextlib.ExitStack() as stack:
        flooding, calm, deaf = (
            stack.enter_context(contextlib.closing(peer(cluster, name)))
            for name in ("flooding", "calm", "deaf")
        )
        serve_all(flooding, calm, deaf)
    assert {process.pid for process in first.members() if "mutation" not in process.name()} == pids


def serve_all(flooding: BenchFollower, calm: BenchFollower, deaf: BenchFollower) -> None:
    """The calm one heartbeats while the others do their worst."""
    stalled = threading.Event()

    def never_read() -> None:
        deaf.patience(STALLED_S)
        lines = b"".join(deaf.heartbeat() for _ in range(100))
        try:
            for _ in range(MOST_TO_STALL // 100):
                deaf.say(lines)
        except TimeoutError:
            stalled.set()

    flood = threading.Thread(
        target=lambda: flooding.say(b"".join(flooding.heartbeat() for _ in range(FLOOD))),
        daemon=True,
    )
    deafness = threading.Thread(target=never_read, daemon=True)
    flooded: list[int] = []

    def hear_flood() -> None:
        while len(flooded) < FLOOD:
            lines = flooding.answers()
            assert all_answered(lines)
            flooded.extend([1] * len(lines))

    hearing = threading.Thread(target=hear_flood, daemon=True)
    for thread in (flood, deafness, hearing):
        thread.start()
    beats = 0
    while len(flooded) < FLOOD // 2:
        calm.say(calm.heartbeat())
        assert all_answered(calm.answers())
        beats += 1
    assert beats >= 20, "it had a turn in every batch"
    for thread in (flood, hearing, deafness):
        thread.join(60)
    assert len(flooded) == FLOOD
    assert stalled.is_set(), "nothing more is read from who does not read"
    calm.say(calm.heartbeat())
    assert all_answered(calm.answers())
