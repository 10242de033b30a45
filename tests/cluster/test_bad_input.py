"""Bad input and unhappy ends of real processes: a sentence, the right status, and no traceback."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from tests.support.cluster import ROOT, running_cluster
from tests.support.ended import ended
from tests.support.eventually import eventually

WRONG = "123456789:AAExampleExampleExampleExampleExamp"


@pytest.fixture
def cluster(tmp_path):
    """No instance yet."""
    with running_cluster(tmp_path) as running:
        yield running


def refused(cluster, *arguments, status, sentence, **env):
    done = cluster.run("--home", str(cluster.home), *arguments, within=20, **env)
    assert (done.returncode, done.stdout) == (status, ""), done
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert WRONG not in done.stderr
    return done


def test_what_is_missing_or_malformed_is_named(cluster):
    refused(cluster, "--token-file", "none", status=4, sentence="token file")
    refused(cluster, status=4, sentence="no bot token", TELEGRAM_BOT_TOKEN="nonsense")
    refused(cluster, "--mode", "command", status=2, sentence="-- CMD")
    refused(cluster, "--", "no-such-program", status=2, sentence='no program "no-such-program" here')
    refused(cluster, "--bot", "nobody", status=4, sentence="nobody")
    refused(cluster, status=2, sentence="SWITCHBOARD_FAULT", SWITCHBOARD_FAULT="nowhere:kill")
    cluster.home.joinpath("config.json").write_text('{"bots": [')
    done = refused(cluster, status=4, sentence="config.json")
    assert "line 1" in done.stderr
    assert cluster.home.joinpath("config.json").read_text() == '{"bots": ['


def test_a_home_that_cannot_be_used_is_named(cluster):
    cluster.home.write_text("a file")
    refused(cluster, status=4, sentence=str(cluster.home))
    done = cluster.run("status", "--home", str(cluster.home))
    assert done.returncode == 4
    assert "Traceback" not in done.stderr


def test_a_token_that_telegram_refuses_ends_with_four_and_is_not_kept(cluster):
    cluster.start(name="one")
    other = cluster.directory / "other"
    done = cluster.run(
        "--home", str(other), "--api-root", cluster.practice.api_root, "--owner", "1001",
        TELEGRAM_BOT_TOKEN=WRONG,
    )
    assert (done.returncode, done.stdout) == (4, ""), done
    assert "Telegram refused the token" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads((other / "config.json").read_text())["bots"] == {}
    assert WRONG not in (other / "logs" / "switchboard.jsonl").read_text()


def test_a_second_leader_is_refused_and_named(cluster):
    first = cluster.start(name="api · codex")
    done = refused(
        cluster, "--role", "leader", status=3,
        sentence=f'Process {first.pid} ("api · codex") already leads',
    )
    assert "Leave out --role leader" in done.stderr


def test_a_mere_follower_waits_and_says_so_once(cluster):
    waiting = cluster.start(role="follower", name="waits", ready=False)
    eventually(lambda: "waits for another" in waiting.stderr)
    leader = cluster.start(name="leads")
    assert waiting.wait_ready()["role"] == "follower"
    leader.signal(signal.SIGTERM)
    assert leader.wait_exit() == 0
    eventually(lambda: waiting.stderr.count("waits for another") == 1)
    assert waiting.role == "follower"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_leader_and_follower_in_order_in_the_middle_of_a_run(cluster, number):
    leader = cluster.start("--", "sleep", "60", name="leads")
    follower = cluster.start("--", "sleep", "60", name="follows")
    for name in ("leads", "follows"):
        thread = cluster.thread_of(name)["thread_id"]
        cluster.practice.write("go", thread)
    eventually(lambda: len(_named(cluster, "sleep")) == 2, 10)
    for one in (follower, leader):
        one.signal(number)
        assert one.wait_exit(5.0) == 0
    eventually(lambda: not _named(cluster, "sleep"), 2)
    assert not cluster.practice.calls("deleteForumTopic")
    assert cluster.status()["leader"] is None


def test_a_second_interrupt_ends_at_once_and_leaves_nothing(cluster):
    leader = cluster.start("--", "sh", "-c", "trap '' TERM; sleep 60", name="stubborn")
    cluster.practice.write("go", cluster.thread_of("stubborn")["thread_id"])
    eventually(lambda: _named(cluster, "sleep"), 10)
    members = leader.members()
    leader.signal(signal.SIGINT)
    log = cluster.home / "logs" / "switchboard.jsonl"
    eventually(lambda: "instance.ending" in log.read_text(), 1)
    leader.signal(signal.SIGINT)
    leader.wait_exit(1.0)
    eventually(lambda: all(map(ended, members)), 2)


def test_nobody_reading_the_lines_does_not_matter(cluster):
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), "--home", str(cluster.home), "--name", "x"],
        cwd=cluster.work, env=cluster.env, stdin=subprocess.DEVNULL, stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    try:
        eventually(lambda: (cluster.home / "practice" / "port.json").exists(), 10)
        eventually(lambda: (cluster.status()["leader"] or {}).get("state") == "serving", 15)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=6)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert b"Traceback" not in errors
    assert b"BrokenPipe" not in errors


def test_without_its_launcher_an_instance_ends_with_five(cluster):
    instance = cluster.start(name="one")
    (launcher,) = psutil.Process(instance.pid).children()
    launcher.kill()
    assert instance.wait_exit(3.0) == 5
    assert "See " in instance.stderr
    assert "Traceback" not in instance.stderr


def _named(cluster, name):
    """Processes of this name in the cluster's directory."""
    found = []
    for process in psutil.process_iter(["name", "cwd"]):
        if process.info["name"] == name and process.info["cwd"] == str(cluster.work):
            found.append(process)
    return found


def test_a_practice_chat_that_is_killed_runs_again_and_nothing_is_missed(cluster):
    """It is no part of an instance; whoever leads starts it again, at whatever port is free."""
    cluster.start(name="api")
    cluster.start(name="web")
    threads = {name: cluster.thread_of(name)["thread_id"] for name in ("api", "web")}
    port, pid = cluster.practice.port, cluster.practice.pid
    os.kill(pid, signal.SIGKILL)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            # Its port is somebody else's by now.
            other.bind(("127.0.0.1", port))
        other.listen()
        eventually(lambda: cluster.practice.pid != pid, 10)
        for name, thread_id in threads.items():
            cluster.practice.write(f"hello {name}", thread_id)
        for name, thread_id in threads.items():
            cluster.wait_answer(thread_id, f"hello {name}", within=20)
    assert len(cluster.practice.state()["threads"]) == 2
