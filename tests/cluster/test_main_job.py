"""The main job: several processes, one bot, a thread each."""

import re
import signal
from pathlib import Path

from tests.support.cluster import Cluster, running_cluster
from tests.support.eventually import eventually


def test_three_terminals(cluster: Cluster) -> None:
    """One leader, two followers, three threads; each message is answered in its thread only."""
    first = cluster.start(name="api", ready=False)
    eventually(lambda: "Practice chat on this machine: http://127.0.0.1:" in first.stderr, 20)
    first.wait_ready()
    others = [cluster.start(name=name) for name in ("web", "ml")]

    assert [one.role for one in (first, *others)] == ["leader", "follower", "follower"]
    assert [one.fields()["slot"] for one in (first, *others)] == ["A", "B", "C"]
    threads = {name: cluster.thread_of(name)["thread_id"] for name in ("api", "web", "ml")}
    assert len(set(threads.values())) == 3
    for name, thread_id in threads.items():
        cluster.practice.write(f"to {name}", thread_id)
    for name, thread_id in threads.items():
        cluster.wait_answer(thread_id, f"to {name}")
    for name, thread_id in threads.items():
        others_said = [text for text in cluster.texts(thread_id) if text.startswith("to ")]
        assert others_said == [f"to {name}"]
    for one in (first, *others):
        assert all(re.match(r"(ready )?role=", line) for line in one.lines), one.lines

    status = cluster.printed_status()
    assert status["leader"]["pid"] == first.pid
    assert {f["thread_name"] for f in status["followers"]} == {"api", "web", "ml"}
    assert {t["thread_id"] for t in status["threads"]} == set(threads.values())
    assert status["inbox"] == {"pending": 0, "retrying": 0, "queued": 0, "dead": 0}
    assert {actor["name"] for actor in status["actors"]} >= {"poller", "inbox", "telegram_gateway"}


def test_two_of_the_same_program_get_two_threads(cluster: Cluster) -> None:
    """The same command line twice at once: two names, two threads, two slots."""
    one, two = cluster.start(), cluster.start()
    assert one.fields()["thread"] != two.fields()["thread"]
    assert one.fields()["slot"] != two.fields()["slot"]
    assert len(cluster.practice.state()["threads"]) == 2


def test_a_killed_leader_is_replaced(cluster: Cluster) -> None:
    """Threads and names stay; a message sent in between is answered once; nobody makes a thread."""
    first = cluster.start(name="api")
    second, third = cluster.start(name="web"), cluster.start(name="ml")
    web = cluster.thread_of("web")["thread_id"]
    made = len(cluster.practice.calls("createForumTopic"))

    first.signal(signal.SIGKILL)
    cluster.practice.write("in between", web)
    eventually(lambda: "leader" in (second.role, third.role), 5)
    cluster.wait_answer(web, "in between")
    leader = second if second.role == "leader" else third
    assert f"Process {first.pid} ended. This process now talks to Telegram." in leader.stderr

    again = cluster.start(name="api")
    assert again.fields()["thread"] == "api" and again.fields()["slot"] == "A"
    assert len(cluster.practice.calls("createForumTopic")) == made
    assert cluster.practice.calls("deleteForumTopic") == []


def test_a_stop_in_order_hands_over_and_keeps_the_thread(cluster: Cluster) -> None:
    """SIGTERM ends with 0 within five seconds; the next one leads at once."""
    first = cluster.start(name="api")
    second = cluster.start(name="web")
    first.signal(signal.SIGTERM)
    assert first.wait_exit(5) == 0
    second.wait_role("leader", 3)
    assert cluster.practice.calls("deleteForumTopic") == []


def test_polls_never_overlap(cluster: Cluster) -> None:
    """Scenario 1: a second process joins, and the poll of the first is not disturbed."""
    cluster.start(name="api")
    eventually(lambda: cluster.practice.calls("getUpdates"), 5)
    before = len(cluster.practice.calls("getUpdates"))
    cluster.start(name="web")
    cluster.thread_of("web")
    polls = cluster.practice.calls("getUpdates")
    assert len(polls) <= before + 2, "forum_topic_created ends one poll, and nothing else does"
    assert not [call for call in cluster.practice.calls() if call.get("error_code") == 409]


def test_a_cluster_leaves_no_practice_chat_behind(tmp_path: Path) -> None:
    """Not even one that nobody waits for any more, before it tells where it answers."""
    with running_cluster(tmp_path) as cluster:
        first = cluster.start(ready=False)
        eventually(lambda: cluster.processes(practice=True), 20)
        first.signal(signal.SIGKILL)
        first.wait_exit()
    assert cluster.processes(practice=True) == []
