"""Hostile peers on the bus of a real leader: whatever they do, the others are served as before."""

import json
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from actors.bus_endpoint import MOST_OF_ONE_PROCESS
from tests.support.bus_samples import KINDS, sample
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.foreign_follower import ForeignFollower

LINES = 10_000


@pytest.fixture
def served(cluster: Cluster) -> Iterator[ForeignFollower]:
    """A leader, and a registered peer in a process that lives for the test."""
    cluster.start(name="api")
    lease = cluster.lease()
    assert lease.endpoint and lease.secret
    with ForeignFollower(lease.endpoint, lease.secret, Path(cluster.directory), "web") as peer:
        assert peer.register()["ok"]
        yield peer


def connected(peer: ForeignFollower) -> socket.socket:
    """Another connection to the same leader."""
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.settimeout(20)
    stream.connect(peer.leader)
    return stream


def all_is_well(cluster: Cluster, peer: ForeignFollower, words: str) -> None:
    """Requests are answered, calls reach Telegram, and what is written reaches another process."""
    assert peer.ask("follower.heartbeat")["ok"]
    assert peer.call("sendMessage", text=words)["ok"]
    own = cluster.thread_of("api")["thread_id"]
    cluster.practice.write(words, own)
    cluster.wait_answer(own, words)


def noise(secret: str) -> Iterator[bytes]:
    """Lines of chance, and samples broken by it; some carry the right secret."""
    chance = random.Random(11)
    samples = [sample(kind) for kind in KINDS]
    for _ in range(LINES):
        if chance.random() < 0.3:
            line = chance.randbytes(chance.randrange(1, 120)).replace(b"\n", b" ")
        else:
            said = {**chance.choice(samples), "requestId": f"noise {chance.random()}"}
            if "auth" in said and chance.random() < 0.5:
                said["auth"] = secret
            said.pop(chance.choice([*said]))
            line = json.dumps(said).encode()
        yield line + b"\n"


@pytest.mark.case("L22")
def test_ten_thousand_random_lines(cluster: Cluster, served: ForeignFollower) -> None:
    """Each is answered, or is an answer itself; nobody else notices."""
    with connected(served) as stream, stream.makefile("rb") as answers:
        lines = list(noise(served.secret))
        for first in range(0, LINES, 200):
            stream.sendall(b"".join(lines[first:first + 200]))
            for _ in range(200):
                assert json.loads(answers.readline())["ok"] in (True, False)
        # The same connection is served on.
        stream.sendall(json.dumps(served.request("follower.heartbeat")).encode() + b"\n")
        assert json.loads(answers.readline())["ok"]
    all_is_well(cluster, served, "after the noise")


def test_one_that_never_reads_and_one_that_never_ends_a_line(
    cluster: Cluster, served: ForeignFollower
) -> None:
    """The first is read from no longer; the second's line is thrown away as it comes."""
    with connected(served) as deaf, connected(served) as endless:
        deaf.setblocking(False)
        line = json.dumps({"kind": "nothing", "requestId": "x" * 200}).encode() + b"\n"
        written = 0
        try:
            while written < 64 * 1024 * 1024:
                written += deaf.send(line * 100)
        except BlockingIOError:
            pass
        assert written < 64 * 1024 * 1024, "somebody kept all of it"
        for _ in range(12):
            endless.sendall(b"x" * (1024 * 1024))
        all_is_well(cluster, served, "between the deaf and the endless")
        endless.sendall(b"\n")
        with endless.makefile("rb") as answers:
            assert json.loads(answers.readline())["requestId"] == "invalid"


def test_five_hundred_connections_of_one_process(cluster: Cluster, served: ForeignFollower) -> None:
    """It is refused beyond its share, and others connect as before."""
    with ExitStack() as opened:
        crowd = [opened.enter_context(connected(served)) for _ in range(500)]
        eventually(lambda: sum(map(is_dropped, crowd)) >= 500 - MOST_OF_ONE_PROCESS, 10)
        # This very process has its share already; another one is not concerned.
        second = cluster.start(name="other")
        thread = cluster.thread_of("other")["thread_id"]
        cluster.practice.write("in the crowd", thread)
        cluster.wait_answer(thread, "in the crowd")
        assert second.process.poll() is None
    eventually(lambda: served.ask("follower.heartbeat")["ok"], 10)
    all_is_well(cluster, served, "after the crowd")


def is_dropped(stream: socket.socket) -> bool:
    """Whether the leader ended this connection."""
    stream.setblocking(False)
    try:
        return stream.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
