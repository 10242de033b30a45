"""What becomes of a thread when it is deleted, or when its process dies or falls silent."""

import signal
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually


def shown(cluster: Cluster, name: str) -> dict[str, Any]:
    """The thread of this name in `status`; empty when there is none."""
    threads = cluster.status()["threads"]
    return next((one for one in threads if one["thread_name"] == name), {})


def test_a_thread_that_was_deleted_while_its_process_was_away_is_replaced_once(cluster: Cluster) -> None:
    """Story 5: a few attempts at most, one new thread, which says what happened."""
    cluster.start(name="api")
    web = cluster.start(name="web")
    old = cluster.thread_of("web")["thread_id"]
    web.signal(signal.SIGTERM)
    assert web.wait_exit() == 0
    cluster.practice.ask("/sandbox/threads", {"op": "delete", "thread_id": old})
    made = len(cluster.practice.calls("createForumTopic"))

    again = cluster.start(name="web")
    new = cluster.thread_of("web")["thread_id"]
    assert new != old
    assert again.fields()["slot"] == web.fields()["slot"]
    cluster.wait_answer(new, "The earlier thread was deleted. web goes on here.")
    assert len(cluster.practice.calls("createForumTopic")) == made + 1
    cluster.practice.write("hello", new)
    cluster.wait_answer(new, "hello")


@pytest.mark.case("L88", "L90")
@pytest.mark.parametrize("cleanup", [False, True], ids=["kept", "cleaned up"])
def test_a_killed_follower_keeps_its_thread_unless_cleanup_is_on(cluster: Cluster, cleanup: bool) -> None:
    """Proof of death does not wait for silence."""
    cluster.start(*(["--cleanup"] if cleanup else []), name="api")
    web = cluster.start(name="web")
    thread = cluster.thread_of("web")["thread_id"]
    assert shown(cluster, "web")["instance_id"]
    web.signal(signal.SIGKILL)
    if cleanup:
        eventually(lambda: cluster.practice.calls("deleteForumTopic"), 5)
        eventually(lambda: not shown(cluster, "web"), 5)
    else:
        eventually(lambda: not shown(cluster, "web")["instance_id"], 5)
        assert cluster.practice.calls("deleteForumTopic") == []
        assert cluster.thread_of("web")["thread_id"] == thread
    assert len(cluster.status()["followers"]) == 1


def test_silence_is_not_death(cluster: Cluster) -> None:
    """Story 6: the registration lapses, thread and messages stay, and the process resumes."""
    cluster.start("--cleanup", name="api")
    web = cluster.start(name="web")
    thread = cluster.thread_of("web")["thread_id"]
    made = len(cluster.practice.calls("createForumTopic"))
    web.signal(signal.SIGSTOP)
    eventually(lambda: len(cluster.status()["followers"]) == 1, 25)
    cluster.practice.write("are you there", thread)
    assert shown(cluster, "web")["thread_id"] == thread
    silent = "The process does not answer at present. What you write here waits."
    cluster.wait_answer(thread, silent, within=12)
    web.signal(signal.SIGCONT)
    cluster.wait_answer(thread, "are you there", within=10)
    ends = ("Lost", "Stopped", "Back")
    assert not [text for text in cluster.texts(thread) if text.startswith(ends)]
    assert len(cluster.practice.calls("createForumTopic")) == made
    assert cluster.practice.calls("deleteForumTopic") == []
