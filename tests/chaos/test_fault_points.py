"""Death, once, at every named place: nothing is lost, no thread is made twice or deleted."""

import pytest

from actors.faults import PLACES
from tests.support.cluster import Cluster, Instance
from tests.support.eventually import eventually

ENDS_MAIN = ("follower.", "session.")
"""Places in main, so that the instance has to be started again."""


@pytest.mark.timeout(90)
@pytest.mark.parametrize("place", sorted(set(PLACES) - {"provisioner.before-create"}))
def test_a_death_at_any_place_loses_nothing(cluster: Cluster, place: str) -> None:
    """The leading instance dies, or a process of it, and what replaces it lives."""
    marks = cluster.directory / "marks"
    marks.mkdir()
    env = {"SWITCHBOARD_FAULT": f"{place}:kill", "SWITCHBOARD_FAULT_ONCE": str(marks)}
    first = cluster.start(name="api", ready=False, env=env)
    first = surviving(cluster, first, env)
    cluster.start(name="web")
    threads = {name: cluster.thread_of(name)["thread_id"] for name in ("api", "web")}
    for number in range(3):
        for name, thread_id in threads.items():
            cluster.practice.write(f"{name} {number}", thread_id)
    if place == "leader.before-release":
        first.process.terminate()
    if place.startswith(ENDS_MAIN) or place == "leader.before-release":
        first.wait_exit(10)
        cluster.start(name="api", env=env)
    for name, thread_id in threads.items():
        for number in range(3):
            text = f"{name} {number}"
            eventually(lambda t=thread_id, x=text: told(cluster, t, x), 25)
    assert (marks / place).exists(), "the fault never fired"
    assert len(cluster.practice.calls("createForumTopic")) == 2
    assert cluster.practice.calls("deleteForumTopic") == []
    eventually(lambda: unsettled(cluster) == 0, 10)


def surviving(cluster: Cluster, instance: Instance, env: dict[str, str]) -> Instance:
    """The instance once it is ready, or its successor in case it died with the fault."""
    eventually(lambda: instance.fields("ready") or instance.process.poll() is not None, 40)
    if instance.process.poll() is None:
        return instance
    return cluster.start(name="api", env=env)


def unsettled(cluster: Cluster) -> int:
    """How many updates are still with the inbox."""
    inbox = cluster.status()["inbox"]
    return inbox["pending"] + inbox["retrying"] + inbox["dead"]


def told(cluster: Cluster, thread_id: int, text: str) -> bool:
    """Answered (echo repeats what a death cut off), or the thread says that an answer may be missing."""
    texts = cluster.texts(thread_id)
    assert texts.count(text) <= 2, texts
    return text in texts or any("An answer may be missing here" in said for said in texts)
