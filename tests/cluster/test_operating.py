"""Operators at work on a real cluster: the shell by pipe and in a terminal, doctor, events, service."""

import os
import signal
import subprocess
import sys
from contextlib import closing

import pexpect

from stores.database import Database
from stores.deliveries import Deliveries
from stores.inbox_schema import METADATA as INBOX
from tests.support.cluster import ROOT, Cluster
from tests.support.eventually import eventually


def shell(cluster: Cluster, *lines: str) -> subprocess.CompletedProcess[str]:
    """Commands by pipe."""
    return subprocess.run(
        [sys.executable, str(ROOT / "run.py"), "shell", "--home", str(cluster.home)],
        cwd=cluster.work,
        env=cluster.env,
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def said(cluster: Cluster, *lines: str) -> str:
    """What they answer, all being well."""
    done = shell(cluster, *lines)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_an_operator_names_moves_and_closes(cluster: Cluster) -> None:
    """Each command changes what it says, in Telegram and here; threads stay where they were."""
    api, web, ml = (cluster.start(name=name) for name in ("api", "web", "ml"))
    thread_id = cluster.thread_of("web")["thread_id"]

    assert said(cluster, 'rename web "web · two"') == '"web" is called "web · two" now.\n'
    assert cluster.thread_of("web · two")["thread_id"] == thread_id
    assert said(cluster, "reload ml", "prune", "disconnect C").splitlines() == [
        f"Process {ml.pid} took up anew what is stored for it.",
        "Every registered process lives.",
        f"Process {ml.pid} is disconnected. If it lives, it registers again at once.",
    ]
    cluster.practice.write("still there?", cluster.thread_of("ml")["thread_id"])
    cluster.wait_answer(cluster.thread_of("ml")["thread_id"], "still there?")

    answer = said(cluster, "stepdown")
    api.wait_role("follower")
    eventually(lambda: "leader" in (web.role, ml.role), 10)
    leader = cluster.leader
    assert answer == f"Process {leader.pid} talks to Telegram now.\n"
    assert f"Process {api.pid} handed over. This process now talks to Telegram." in leader.stderr
    cluster.practice.write("and now?", thread_id)
    cluster.wait_answer(thread_id, "and now?")
    assert f'{leader.pid} (leads)' in said(cluster, "status", "threads", "processes", "actors")

    # A process that works in a thread ends with it; a thread without a process goes as well.
    assert said(cluster, 'close "web · two"') == '"web · two" is deleted.\n'
    assert web.wait_exit() == 0
    ml.signal(signal.SIGKILL)
    ml.process.wait()
    eventually(lambda: " lost " in said(cluster, "status"), 10)
    eventually(lambda: "(leads)" in said(cluster, "status"), 15)
    cluster.practice.write("never run", cluster.thread_of("ml")["thread_id"])
    eventually(lambda: cluster.status()["inbox"]["pending"] == 1, 5)
    assert said(cluster, "close ml") == '"ml" is deleted.\n'
    eventually(lambda: not cluster.status()["inbox"]["pending"], 5)
    names = [t["name"] for t in cluster.practice.state()["threads"] if not t.get("deleted")]
    assert names == ["api"]

    refused = shell(cluster, "stepdown", "close api")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "line 1: No other process could take over. Start one first.\n"


def test_an_operator_looks_and_shows_no_token(cluster: Cluster) -> None:
    """Doctor, events and logs of a running house, at the highest level of detail."""
    cluster.start(name="api", env={"SWITCHBOARD_LOG": "debug"})
    home = ("--home", str(cluster.home))
    doctor = cluster.run("doctor", *home)
    assert doctor.returncode == 0, doctor.stdout
    for line in ("talks to Telegram and answers", "all 1 processes run", "the bot is in it", "sound"):
        assert line in doctor.stdout

    (cluster.home / "logs" / "switchboard.jsonl").chmod(0o644)
    assert "can be read by other users" in cluster.run("doctor", *home).stdout
    fixed = cluster.run("doctor", "--fix", *home)
    assert fixed.returncode == 0 and "is closed to other users now" in fixed.stdout

    events = cluster.run("events", "-n", "100000", *home).stdout
    logs = cluster.run("logs", "-n", "100000", *home).stdout
    assert "leader.serving" in events and '"action": "leader.serving"' in logs
    assert "DEBUG" in events, "libraries are heard at this level"
    token = cluster.practice.token
    shown = "".join((events, logs, doctor.stdout, fixed.stdout))
    for process in cluster.instances[0].members():
        shown += repr(process.cmdline()) + repr(process.environ())
    files = [path for path in cluster.home.rglob("*") if path.is_file()]
    for secret in (token, token.partition(":")[2]):
        assert secret not in shown
        holding = {path.relative_to(cluster.home).as_posix() for path in files if secret.encode() in path.read_bytes()}
        assert holding == {"practice/token"}
    bus_secret = (cluster.lease().secret or "?").encode()
    holding = {path.name.partition("-")[0] for path in files if bus_secret in path.read_bytes()}
    assert holding == {"bus.db"} and bus_secret.decode() not in shown


def test_the_shell_in_a_terminal(cluster: Cluster) -> None:
    """As somebody types: Tab, a mistake, a question, Ctrl-C, Ctrl-D."""
    cluster.start(name="api")
    typed = pexpect.spawn(
        sys.executable,
        [str(ROOT / "run.py"), "shell", "--home", str(cluster.home)],
        cwd=str(cluster.work),
        env={**cluster.env, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        encoding="utf-8",
        dimensions=(24, 80),
        timeout=15,
    )
    try:
        typed.expect_exact("Tab completes")
        typed.expect_exact("switchboard>")
        typed.send("thr\t")
        typed.expect("eads")
        typed.send("\r")
        typed.expect("api +A +[0-9]+ +")
        typed.send("nonsense\r")
        typed.expect_exact('No command "nonsense"')
        typed.send("half a line\x03")
        typed.send("close api\r")
        typed.expect_exact('Delete the thread "api"?')
        typed.send("n\r")
        typed.expect_exact("Kept.")
        typed.send("\x04")
        typed.expect(pexpect.EOF)
    finally:
        typed.close(force=True)
    assert typed.exitstatus == 0
    history = cluster.home / "shell.history"
    assert history.stat().st_mode & 0o777 == 0o600 and "threads" in history.read_text()
    assert cluster.thread_of("api")


def test_a_service_file_is_written_without_a_token(cluster: Cluster) -> None:
    """Where systemd cannot be reached the commands are told."""
    home = ("--home", str(cluster.home))
    user = cluster.directory / "user"
    env = {"HOME": str(user), "XDG_CONFIG_HOME": str(user / ".config"), "XDG_RUNTIME_DIR": str(user)}
    missing = cluster.run("service", "install", *home, **env)
    assert missing.returncode == 4 and "switchboard setup" in missing.stderr
    token = "123456789:AAExampleExampleExampleExampleExamp"
    cluster.home.joinpath("config.json").write_text(
        '{"bots": {"work": {"token": "%s", "owner": 5}}}' % token
    )
    done = cluster.run("service", "install", *home, **env)
    assert done.returncode == 0 and "systemctl --user enable --now switchboard.service" in done.stdout
    file = user / ".config" / "systemd" / "user" / "switchboard.service"
    assert token not in file.read_text() + done.stdout and os.access(file, os.R_OK)
    assert cluster.run("service", "uninstall", *home, **env).returncode == 0
    assert not file.exists()
    assert cluster.run("service", "status", *home, **env).returncode == 1


def test_a_cut_off_run_is_decided_from_the_terminal(cluster: Cluster) -> None:
    """It is listed with its number; dropped there, it is settled in its thread as well."""
    line = ("--", sys.executable, "-c", "import sys,time; print(sys.stdin.read()); time.sleep(600)")
    first = cluster.start(*line, name="slow")
    thread_id = cluster.thread_of("slow")["thread_id"]
    cluster.practice.write("begin", thread_id)
    eventually(lambda: " working " in said(cluster, "status"), 15)
    first.signal(signal.SIGKILL)
    first.process.wait()
    cluster.start(*line, name="slow")
    eventually(lambda: "This run was cut off." in cluster.texts(thread_id), 15)
    rows = said(cluster, "undelivered").splitlines()
    number = rows[1].split()[0]
    assert "cut off" in rows[1] and "begin" in rows[1]
    assert "1 not delivered: switchboard shell" in said(cluster, "status")
    assert said(cluster, f"undelivered drop {number}") == "Dropped.\n"
    assert said(cluster, "undelivered") == "Everything was delivered.\n"
    refused = shell(cluster, f"undelivered drop {number}")
    assert refused.stderr == f"line 1: No message {number} waits for a decision.\n"

    (path,) = cluster.home.glob("bots/*/inbox-*.db")
    with closing(Database(path, INBOX, "inbox")) as inbox:
        Deliveries(inbox).admit("d9", 9, "message", {"text": "hopeless"}, now=1)
        assert cluster.status()["inbox"]["dead"] == 0
        Deliveries(inbox).mark_dead("d9", now=2)
    assert cluster.status()["inbox"]["dead"] == 1
