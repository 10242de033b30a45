"""Bad input gets a clear sentence and the right exit code; nothing is lost, no traceback is shown."""

import contextlib
import json
import socket
import subprocess

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually

TOKEN = "123456789:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr"


def check(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """The exit code, one or two sentences with these words, and no traceback."""
    assert done.returncode == code, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr and done.stdout == ""
    assert len(done.stderr.strip().splitlines()) <= 3, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_a_refused_token(cluster: Cluster) -> None:
    """A well-formed token that Telegram refuses: exit 4, and what to do."""
    cluster.start(name="api")
    done = cluster.run(
        "--home", str(cluster.directory / "other"), "--api-root", cluster.practice.api_root,
        "--owner", "1001", TELEGRAM_BOT_TOKEN=TOKEN,
    )
    check(done, 4, "Telegram refused the token. Get a new one from @BotFather, then:")
    assert TOKEN not in done.stderr


@pytest.mark.parametrize("token", ["abc", "123:", "no token at all"])
def test_a_malformed_token(cluster: Cluster, token: str) -> None:
    """What can be no token is refused here."""
    done = cluster.run("--home", str(cluster.home), "--owner", "1001", TELEGRAM_BOT_TOKEN=token)
    check(done, 4, "token")


def test_a_malformed_configuration(cluster: Cluster) -> None:
    """The file is named and left as it is."""
    cluster.home.mkdir(mode=0o700)
    (cluster.home / "config.json").write_text("{not json")
    done = cluster.run("--home", str(cluster.home))
    check(done, 4, "config.json")
    assert (cluster.home / "config.json").read_text() == "{not json"


def test_a_home_that_is_a_file(cluster: Cluster) -> None:
    """The home is named."""
    cluster.home.write_text("")
    done = cluster.run("--home", str(cluster.home))
    check(done, 4, str(cluster.home))


def test_a_token_file_that_is_missing(cluster: Cluster) -> None:
    """The file is named."""
    missing = str(cluster.directory / "nowhere")
    done = cluster.run("--home", str(cluster.home), "--owner", "1001", "--token-file", missing)
    check(done, 4, missing)


def test_a_real_bot_without_an_owner(cluster: Cluster) -> None:
    """Nobody is let in by default, so somebody has to be named."""
    done = cluster.run("--home", str(cluster.home), TELEGRAM_BOT_TOKEN=TOKEN)
    assert done.returncode in (2, 4)
    assert "--owner" in done.stderr and "Traceback" not in done.stderr


def test_a_second_leader(cluster: Cluster) -> None:
    """Exit 3 and how to join instead; the first one is not disturbed."""
    first = cluster.start(name="api")
    done = cluster.run("--home", str(cluster.home), "--role", "leader", "--name", "web")
    check(done, 3, f"Process {first.pid}", "api", "Leave out --role leader to join it.")
    assert first.role == "leader" and first.process.poll() is None


@pytest.mark.parametrize("arguments", [("--role", "king"), ("--mode", "command"), ("--what",)])
def test_a_usage_error(cluster: Cluster, arguments: tuple[str, ...]) -> None:
    """Exit 2."""
    done = cluster.run("--home", str(cluster.home), *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_unknown_envelopes_and_garbage_on_the_bus(cluster: Cluster) -> None:
    """The leader answers what it can, forgets the rest, and serves."""
    cluster.start(name="api")
    path = cluster.lease().endpoint
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(socket.socket(socket.AF_UNIX))
        peer.settimeout(10)
        peer.connect(path)
        lines = stack.enter_context(peer.makefile("rb"))
        peer.sendall(b'\x00\xff\xfegarbage\n[]\n{"kind":"follower.heartbeat"}\n')
        for _ in range(3):
            answer = json.loads(lines.readline())
            assert (answer["requestId"], answer["ok"]) == ("invalid", False)
        peer.sendall(b'{"kind":"leader.surprise","requestId":"r1"}\n')
        assert json.loads(lines.readline())["ok"] is False
        chunk = b"x" * 1_000_000
        for _ in range(20):
            peer.sendall(chunk)
        peer.sendall(b"\n")
        assert json.loads(lines.readline())["requestId"] == "invalid"
        peer.sendall(b'{"kind":"bus.ack","requestId":"r2","ok":true}\n')
        assert json.loads(lines.readline())["ok"] is False
    thread_id = cluster.thread_of("api")["thread_id"]
    cluster.practice.write("still there?", thread_id)
    cluster.wait_answer(thread_id, "still there?")


def test_a_message_for_a_deleted_thread(cluster: Cluster) -> None:
    """Scenario 5: one new thread, the answer exactly once and in no other place."""
    cluster.start(name="api")
    web = cluster.start(name="web")
    old = cluster.thread_of("web")["thread_id"]
    cluster.practice.fault("sendMessage", times=1, delay_ms=300)
    cluster.practice.write("where does this go?", old)
    cluster.practice.ask("/sandbox/threads", {"op": "delete", "thread_id": old})
    eventually(lambda: cluster.thread_of("web")["thread_id"] != old, 15)
    new = cluster.thread_of("web")["thread_id"]
    cluster.wait_answer(new, "where does this go?")
    assert "where does this go?" not in cluster.texts(cluster.thread_of("api")["thread_id"])
    assert web.process.poll() is None
    assert len(cluster.practice.calls("createForumTopic")) == 3
