"""A peer of another make on the bus of a real leader, and two of its requests at the same time."""

import concurrent.futures
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from messages.bus_texts import M
from stores.process_birth import ProcessBirth
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.foreign_follower import ForeignFollower

Made = Any


@pytest.fixture
def make(cluster: Cluster) -> Iterator[Made]:
    """Foreign followers of the leader of the cluster."""
    sockets = Path(cluster.directory) / "s"
    sockets.mkdir(mode=0o700)
    with ExitStack() as made:

        def one(name: str, pid: int | None = None) -> ForeignFollower:
            lease = cluster.lease()
            assert lease.endpoint and lease.secret
            return made.enter_context(
                ForeignFollower(lease.endpoint, lease.secret, sockets, name, pid)
            )

        yield one


@pytest.fixture
def at_once() -> Iterator[concurrent.futures.Executor]:
    """For requests that are under way together."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        yield pool


def methods(cluster: Cluster) -> list[str]:
    """The Bot API calls so far that make and delete threads, in order."""
    wanted = ("createForumTopic", "deleteForumTopic")
    return [one["method"] for one in cluster.practice.calls() if one["method"] in wanted]


def test_a_peer_written_from_the_contract_alone(cluster: Cluster, make: Made) -> None:
    """It registers, beats, is forwarded to and answers, calls Telegram, edits, and leaves."""
    cluster.start(name="api")
    peer = make("web")
    ack = peer.register()
    assert ack["ok"] and ack["protocol"]["protocolVersion"] == 1
    thread = cluster.thread_of("web")["thread_id"]
    assert peer.result["threadId"] == thread and peer.result["threadName"] == "web"

    beat = peer.ask("follower.heartbeat")
    assert beat["ok"] and beat["result"] == {"eligibleElectionSlots": [peer.result["slot"]]}

    cluster.practice.write("hello there", thread)
    eventually(lambda: peer.heard, 10)
    (forward,) = peer.heard
    assert forward["kind"] == "leader.forwardMessage"
    assert forward["message"]["text"] == "hello there"
    assert (forward["recipientInstanceId"], forward["delivery"]["recipientBindingKey"]) == (
        peer.instance, peer.profile
    )

    sent = peer.call("sendMessage", text="hello yourself")
    cluster.wait_answer(thread, "hello yourself")
    message_id = sent["result"]["message_id"]
    assert peer.call("editMessageText", message_id=message_id, text="hello again")["ok"]
    cluster.wait_answer(thread, "hello again")
    assert peer.call("getUpdates")["message"] == M.API_NOT_ALLOWED
    assert peer.ask("follower.callApi", method="call", args=["getMe", {}])["ok"]
    other = cluster.thread_of("api")["thread_id"]
    assert peer.call("sendMessage", message_thread_id=other, text="x")["message"] == M.API_NOT_ALLOWED

    found = peer.ask("follower.resolveAgentTarget", selector={"threadName": "API"})
    assert found["result"]["threadId"] == other
    message = {"target": found["result"], "messageId": 9_999, "text": "from web"}
    assert peer.ask("follower.routeAgentMessage", message=message)["ok"]
    cluster.wait_answer(other, "from web")

    assert peer.ask("follower.disconnect")["ok"]
    assert methods(cluster)[-1] == "deleteForumTopic"
    assert peer.ask("follower.heartbeat")["message"] == M.UNKNOWN_FOLLOWER


def test_an_update_that_a_peer_does_not_take_is_offered_again(cluster: Cluster, make: Made) -> None:
    """With the same delivery id, until it is taken."""
    cluster.start(name="api")
    peer = make("web")
    peer.register()
    taken = peer.answer
    peer.answer = lambda request: {
        "kind": "bus.ack", "requestId": request["requestId"], "ok": False, "message": "full",
    }
    cluster.practice.write("take this", cluster.thread_of("web")["thread_id"])
    eventually(lambda: peer.heard, 10)
    peer.answer = taken
    eventually(lambda: len(peer.heard) > 1, 10)
    assert len({one["delivery"]["deliveryId"] for one in peer.heard}) == 1
    assert peer.heard[0]["requestId"] != peer.heard[1]["requestId"], "another try"


@pytest.mark.case("L131")
def test_a_deleted_thread_is_replaced_and_the_peer_is_asked(cluster: Cluster, make: Made) -> None:
    """It hears of the new thread on its socket before its call fails; its yes moves it."""
    cluster.start(name="api")
    peer = make("web")
    peer.register()
    old = peer.result["threadId"]
    cluster.practice.ask("/sandbox/threads", {"op": "delete", "thread_id": old})
    refused = peer.call("sendMessage", text="anyone?")
    assert refused["error"] == {"code": "stale-target", "chatId": peer.result["chatId"], "threadId": old}
    (told,) = peer.heard
    assert (told["kind"], told["reason"]) == ("leader.replaceFollowerTarget", "thread-restore")
    assert told["oldTarget"]["threadId"] == old
    peer.result["threadId"] = told["target"]["threadId"]
    assert peer.call("sendMessage", text="here I am")["ok"]


# -- races ----------------------------------------------------------------------------------------


@pytest.mark.case("L19")
def test_a_registration_said_twice_makes_one_thread(
    cluster: Cluster, make: Made, at_once: concurrent.futures.Executor
) -> None:
    """On two connections, the second while Telegram is slow with the first; both get the same answer."""
    cluster.start(name="api")
    peer = make("web")
    cluster.practice.fault("createForumTopic", delay_ms=700)
    request = peer.registration()
    answers = list(at_once.map(peer.say, [request, request]))
    assert answers[0] == answers[1] and answers[0]["ok"]
    assert methods(cluster).count("createForumTopic") == 2, "one of the leading instance, one of the peer"


@pytest.mark.case("L109")
def test_a_newcomer_waits_for_the_end_of_the_deletion(
    cluster: Cluster, make: Made, at_once: concurrent.futures.Executor
) -> None:
    """The same profile: its thread is made when the old one is gone, and not before."""
    cluster.start(name="api")
    old, new = make("web"), make("web")
    old.register()
    new.instance = f"{new.instance}9"
    before = len(methods(cluster))
    cluster.practice.fault("deleteForumTopic", delay_ms=1_000)
    leaving = at_once.submit(old.ask, "follower.disconnect")
    eventually(lambda: "deleteForumTopic" in methods(cluster), 5)
    coming = at_once.submit(new.register)
    beat = old.ask("follower.heartbeat")
    assert beat["ok"] and not leaving.done(), "a heartbeat waits for nobody"
    assert leaving.result(20)["ok"] and coming.result(20)["ok"]
    assert methods(cluster)[before:] == ["deleteForumTopic", "createForumTopic"]
    assert new.result["threadId"] != old.result["threadId"]
    assert new.ask("follower.heartbeat")["ok"]


@pytest.mark.case("L95")
def test_a_replacement_of_a_dead_one_waits_for_the_end_of_its_clean_up(
    cluster: Cluster, make: Made, at_once: concurrent.futures.Executor
) -> None:
    """Proven dead with clean-up on: the thread goes first, then the replacement gets a new one."""
    cluster.start("--cleanup", name="api")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        birth = ProcessBirth.of(process.pid)
        assert birth is not None
        old = make("web", process.pid)
        old.register(processBirthId=birth.wire)
        new = make("web")
        before = len(methods(cluster))
        cluster.practice.fault("deleteForumTopic", delay_ms=1_500)
        process.kill()
    eventually(lambda: "deleteForumTopic" in methods(cluster), 10)
    assert at_once.submit(new.register).result(20)["ok"]
    assert methods(cluster)[before:] == ["deleteForumTopic", "createForumTopic"]
    assert new.ask("follower.heartbeat")["ok"]


@pytest.mark.case("L114")
def test_a_disconnect_behind_a_newer_registration_deletes_nothing(
    cluster: Cluster, make: Made, at_once: concurrent.futures.Executor
) -> None:
    """The newer one is being given the same thread; it keeps it."""
    cluster.start(name="api")
    old, new = make("web"), make("web")
    old.register()
    new.instance = f"{new.instance}9"
    sent = len(cluster.practice.calls("sendMessage"))
    cluster.practice.fault("sendMessage", delay_ms=1_000)
    coming = at_once.submit(new.register)
    eventually(lambda: len(cluster.practice.calls("sendMessage")) > sent, 5)
    refused = old.ask("follower.disconnect")
    assert (refused["ok"], refused["message"]) == (False, M.STALE_GENERATION)
    assert coming.result(20)["ok"] and new.ask("follower.heartbeat")["ok"]
    assert new.result["threadId"] == old.result["threadId"]
    assert "deleteForumTopic" not in methods(cluster)


@pytest.mark.case("L143")
def test_a_late_call_of_a_replaced_registration_does_not_reach_telegram(
    cluster: Cluster, make: Made
) -> None:
    """The same process registered anew meanwhile: only its new generation speaks."""
    cluster.start(name="api")
    peer = make("web")
    peer.register()
    late = peer.request("follower.callApi", method="call", args=["sendMessage", {
        "chat_id": peer.result["chatId"], "message_thread_id": peer.result["threadId"], "text": "late",
    }])
    assert peer.register()["ok"]
    refused = peer.say(late)
    assert (refused["ok"], refused["message"]) == (False, M.STALE_GENERATION)
    assert peer.call("sendMessage", text="in time")["ok"]
    said = [one["params"].get("text") for one in cluster.practice.calls("sendMessage") if "params" in one]
    assert "late" not in said
    assert "late" not in cluster.texts(peer.result["threadId"])
