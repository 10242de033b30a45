"""A leader that is stopped, and every process of an instance killed in turn."""

import contextlib
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.cluster import Cluster, Instance
from tests.support.ended import ended
from tests.support.eventually import eventually
from tests.support.forked import start_forked

ACTORS = (
    "telegram_gateway",
    "target_provisioner",
    "follower_registry",
    "prune_supervisor",
    "inbox",
    "poller",
)
ENDS_THE_TREE = ("leader", "admin", "logger")


def test_a_stopped_leader_is_taken_over_and_becomes_a_follower(cluster: Cluster) -> None:
    """Silence for eight seconds, not less; after SIGCONT at most one late call a connection."""
    first = cluster.start(name="api")
    second = cluster.start(name="web")
    web = cluster.thread_of("web")["thread_id"]
    stopped = first.members()
    began = time.monotonic()
    for process in stopped:
        process.suspend()
    second.wait_role("leader", 12)
    took = time.monotonic() - began
    assert took >= 6, f"a lease of {took:.1f} s was not stale"
    cluster.practice.write("to the new leader", web)
    cluster.wait_answer(web, "to the new leader", within=10)

    seen = len(cluster.practice.calls())
    for process in stopped:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()
    first.wait_role("follower", 10)
    api = cluster.thread_of("api")["thread_id"]
    cluster.practice.write("to the old one", api)
    cluster.wait_answer(api, "to the old one")
    assert not [call for call in cluster.practice.calls()[seen:] if call.get("error_code") == 409]
    assert len(cluster.practice.calls("createForumTopic")) == 2
    assert cluster.practice.calls("deleteForumTopic") == []


def test_a_leader_that_is_stopped_while_it_writes_is_taken_over(cluster: Cluster) -> None:
    """Its actors keep the write locks of both databases; whoever takes over ends them, and its `run.py` lives."""
    begun = cluster.directory / "begun"
    env = {
        "SWITCHBOARD_FAULT": "inbox.before-commit:stop,leader.before-commit:stop",
        "SWITCHBOARD_FAULT_FROM": str(begun),
    }
    first = cluster.start(name="api", env=env)
    second = cluster.start(name="web")
    threads = {name: cluster.thread_of(name)["thread_id"] for name in ("api", "web")}
    pids, members = pids_of_actors(cluster.status()), first.members()
    inbox, leader = (psutil.Process(pids[name]) for name in ("inbox", "leader"))
    cluster.practice.write("hello", threads["web"])
    cluster.wait_answer(threads["web"], "hello")
    begun.touch()
    cluster.practice.write("and now?", threads["web"])
    for writer in (inbox, leader):
        eventually(lambda w=writer: w.status() == psutil.STATUS_STOPPED, 10)
        for process in members:
            # The launcher among them: it would replace who stands still. The Leader comes to its own stop.
            if process.pid != leader.pid:
                process.suspend()
    second.wait_role("leader", 12)
    assert f"silent_owner.writer_killed writer={leader.pid} database=bus.db" in second.stderr
    eventually(lambda: ended(inbox) and ended(leader), 2)
    cluster.wait_answer(threads["web"], "and now?")

    for process in members:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()
    first.wait_role("follower", 10)
    cluster.practice.write("to the old one", threads["api"])
    cluster.wait_answer(threads["api"], "to the old one")


def test_a_leader_that_is_stuck_is_replaced_where_nobody_else_can_lead(cluster: Cluster) -> None:
    """Its process lives, so the launcher sees nothing; main sees its own lease go stale."""
    alone = cluster.start(name="api")
    thread_id = cluster.thread_of("api")["thread_id"]
    epoch = cluster.status()["leader"]["epoch"]
    psutil.Process(pids_of_actors(cluster.status())["leader"]).suspend()
    eventually(lambda: cluster.lease().epoch > epoch, 20)
    cluster.practice.write("hello", thread_id)
    cluster.wait_answer(thread_id, "hello")
    assert "reign.leader_stuck" in alone.stderr


@contextlib.contextmanager
def writing(cluster: Cluster, thread_ids: list[int]) -> Iterator[list[tuple[int, str]]]:
    """A stream of messages into these threads while the block runs; bounded, and ends by itself."""
    written: list[tuple[int, str]] = []
    over = threading.Event()

    def write() -> None:
        for number in range(500):
            thread_id = thread_ids[number % len(thread_ids)]
            text = f"message {number}"
            cluster.practice.write(text, thread_id)
            written.append((thread_id, text))
            if over.wait(0.05):
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield written
    finally:
        over.set()
        writer.join(10)


def role_pids(status: dict[str, Any], leader: Instance) -> dict[str, int]:
    """The processes of the leading instance by what they do."""
    pids = pids_of_actors(status)
    known = {leader.pid, *pids.values()}
    (launcher,) = (p for p in psutil.Process(leader.pid).children())
    pids |= {"main": leader.pid, "launcher": launcher.pid}
    for process in launcher.children(recursive=True):
        if process.pid not in known and not process.name().startswith("sb-mutation"):
            pids["admin" if process.ppid() == launcher.pid else "logger"] = process.pid
    return pids


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "victims", [ACTORS, ENDS_THE_TREE, ("launcher",), ("main",)], ids="-".join
)
def test_any_process_killed_under_a_stream(cluster: Cluster, victims: tuple[str, ...]) -> None:
    """One after the other: within two seconds a whole instance or none of it; no update lost, no thread
    made or deleted."""
    first = cluster.start(name="api")
    cluster.start(name="web")
    threads = [cluster.thread_of(name)["thread_id"] for name in ("api", "web")]
    with writing(cluster, threads) as written:
        for victim in victims:
            seen = len(written)
            eventually(lambda: len(written) > seen + 5, 5)
            before, members = cluster.status(), first.members()
            pids = role_pids(before, first)
            os.kill(pids[victim], signal.SIGKILL)
            if victim in ("main", "launcher"):
                eventually(lambda: all(map(ended, members)), 2, f"{victim} leaves nothing")
                with contextlib.suppress(Exception):
                    first.process.wait(1)
                cluster.start(name="api")
            else:
                eventually(lambda: serves_again(cluster, victim, before), 8, f"a whole tree after {victim}")
        seen = len(written)
        eventually(lambda: len(written) > seen + 10, 10)
    for thread_id, text in list(written):
        eventually(lambda t=thread_id, x=text: settled(cluster, t, x), 30, text)
    repeated = [text for thread_id, text in written if cluster.texts(thread_id).count(text) > 1]
    # Only the executor's own death, between an answer and the note that it was given, lets echo repeat.
    assert len(repeated) <= (1 if {"main", "launcher"} & set(victims) else 0), repeated
    assert len(cluster.practice.calls("createForumTopic")) == 2
    assert cluster.practice.calls("deleteForumTopic") == []
    inbox = cluster.status()["inbox"]
    assert (inbox["pending"], inbox["retrying"], inbox["dead"]) == (0, 0, 0)


def serves_again(cluster: Cluster, victim: str, before: dict[str, Any]) -> bool:
    """The instance is whole: every actor is there, the victim replaced or, with what it holds up, the tree."""
    status = cluster.status()
    pids, old = pids_of_actors(status), pids_of_actors(before)
    if victim in ENDS_THE_TREE:
        is_fresh = status["leader"]["epoch"] > before["leader"]["epoch"]
    else:
        is_fresh = pids.get(victim) != old[victim]
    return is_fresh and set(ACTORS) <= set(pids)


def pids_of_actors(status: dict[str, Any]) -> dict[str, int]:
    """Actors by name."""
    return {actor["name"]: actor["pid"] for actor in status["actors"]}


def settled(cluster: Cluster, thread_id: int, text: str) -> bool:
    """The message was answered, or the thread says openly that its answer is unclear."""
    texts = cluster.texts(thread_id)
    return text in texts or any("An answer may be missing here" in said for said in texts)


def test_a_store_that_refuses_for_a_while_ends_nobody(cluster: Cluster) -> None:
    """Nobody can write who leads: whoever may says why, waits, and leads when it can."""
    first = cluster.start(name="api")
    second = cluster.start(name="web")
    thread_id = cluster.thread_of("web")["thread_id"]
    (path,) = cluster.home.glob("bots/*/bus.db")
    holder = psutil.Process(start_forked(lambda: hold_and_stop(path)))
    eventually(lambda: holder.status() == psutil.STATUS_STOPPED)
    try:
        first.process.kill()
        told = f"Process {holder.pid} is suspended in the middle of a write."
        eventually(lambda: told in second.stderr, 20)
    finally:
        holder.kill()
        os.waitpid(holder.pid, 0)
    second.wait_role("leader", 15)
    cluster.practice.write("hello", thread_id)
    cluster.wait_answer(thread_id, "hello")


def hold_and_stop(path: Path) -> None:
    """Nobody's actor: somebody at the shell of SQLite, say."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    os.kill(os.getpid(), signal.SIGSTOP)
