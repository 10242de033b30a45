"""Hostile neighbours: nothing they send is executed, stored or able to stop the leader."""

import os
import pickle
import socket
import stat
from pathlib import Path

import psutil

from tests.support.cluster import Cluster, Instance
from tests.support.eventually import eventually
from tests.support.own_bot import OWNER, own_bot


class Bomb:
    """A pickle that writes a file where it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


def listening(instance: Instance) -> list[tuple[str, int]]:
    """Every address that a process of the instance listens on."""
    found = []
    for process in instance.members():
        for connection in process.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                found.append((connection.laddr.ip, connection.laddr.port))
    return found


def test_ports_believe_nobody(cluster: Cluster) -> None:
    """A pickle bomb and every kind of bad header, to every port; everything goes on as before."""
    first = cluster.start(name="api")
    ports = listening(first)
    assert len(ports) >= 8, "admin, logger, Leader and its actors listen"
    assert {ip for ip, _ in ports} == {"127.0.0.1"}
    crater = cluster.directory / "crater"
    bomb = pickle.dumps(Bomb(crater))
    pids = {process.pid for process in first.members()}
    endless = []
    for ip, port in ports:
        for attack in (
            b"%d>%b" % (len(bomb), bomb), b"-5>x", b"0>", b"99999999999>", b">>>>", b"\x00" * 64,
            b"%08d>%b" % (len(bomb), b"0" * 48 + bomb),
        ):
            with socket.create_connection((ip, port), timeout=5) as peer:
                peer.sendall(attack)
        peer = socket.create_connection((ip, port), timeout=5)
        peer.sendall(b"1")
        endless.append(peer)
    thread_id = cluster.thread_of("api")["thread_id"]
    cluster.practice.write("all well?", thread_id)
    cluster.wait_answer(thread_id, "all well?")
    for peer in endless:
        peer.close()
    assert not crater.exists()
    assert {process.pid for process in first.members()} == pids, "nobody died"


def test_files_and_sockets_are_private(cluster: Cluster) -> None:
    """Directories 0700, files and sockets 0600, whatever the umask; no Thespian log elsewhere."""
    before = set(Path("/tmp").glob("thespian*"))
    mask = os.umask(0)
    try:
        cluster.start(name="api")
    finally:
        os.umask(mask)
    loose = []
    for path in [cluster.home, *cluster.home.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if path.is_symlink():
            continue
        if mode != (0o700 if path.is_dir() else 0o600):
            loose.append((str(path), oct(mode)))
    assert loose == []
    endpoint = Path(cluster.lease().endpoint or "")
    assert stat.S_ISSOCK(endpoint.stat().st_mode) and stat.S_IMODE(endpoint.stat().st_mode) == 0o600
    assert stat.S_IMODE(endpoint.parent.stat().st_mode) == 0o700
    assert set(Path("/tmp").glob("thespian*")) == before


def test_the_token_is_in_its_own_file_only(cluster: Cluster) -> None:
    """Neither logs nor databases, neither arguments nor the environment of children."""
    first = cluster.start("--mode", "command", "--", "env", name="env")
    token = cluster.practice.token
    thread_id = cluster.thread_of("env")["thread_id"]
    cluster.practice.write("show", thread_id)
    eventually(lambda: any("PATH=" in text for text in cluster.texts(thread_id)), 10)
    secret = token.split(":")[1]
    holders = [
        str(path.relative_to(cluster.home))
        for path in cluster.home.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert holders in (["practice/token"], ["config.json"], ["config.json", "practice/token"])
    for process in first.members():
        assert secret not in " ".join(process.cmdline())
        assert secret not in " ".join(process.environ().values())
    assert not any(secret in text for text in cluster.texts(thread_id))


def environment_of(process: psutil.Process) -> str:
    """As the operating system shows it: what the process began with, where that lies in memory."""
    return "\n".join(f"{name}={value}" for name, value in process.environ().items())


def test_a_planted_token_shows_nowhere_while_everything_goes_wrong(cluster: Cluster, tmp_path: Path) -> None:
    """Given by the environment, at the highest level of detail: logs, traces, errors, processes, screens."""
    with own_bot(tmp_path / "telegram", cluster) as bot:
        secret = bot.token.partition(":")[2]
        loud = {"TELEGRAM_BOT_TOKEN": bot.token, "SWITCHBOARD_LOG": "debug"}
        line = ("--owner", str(OWNER), "--verbose", "--", "sh", "-c", "cat; env; sleep 600")
        first = cluster.start(
            "--name", "env", *line,
            env={**loud, "SWITCHBOARD_FAULT": "gateway.before-write:fail*9,inbox.before-forward:fail"},
        )
        thread = cluster.thread_of("env")["thread_id"]
        for method, fault in (
            ("getUpdates", {"error_code": 502}),
            ("getUpdates", {"drop": "before"}),
            ("sendChatAction", {"error_code": 400, "description": f"no bot{bot.token} here"}),
        ):
            bot.practice.fault(method, **fault)
        bot.practice.write("show", thread)
        eventually(lambda: any("PATH=" in text for text in cluster.texts(thread)), 20)
        second = cluster.start("--name", "late", *line, env={"SWITCHBOARD_LOG": "debug"})
        members = [*first.members(), *second.members()]
        assert any("-I" in process.cmdline() for process in members), "the guard of the command is there"
        shown = "\n".join("\0".join(one.cmdline()) + environment_of(one) for one in members)
        home = ("--home", str(cluster.home))
        all_of_it = ("-n", "1000000")
        for command in (("status",), ("doctor",), ("events", *all_of_it), ("logs", *all_of_it)):
            done = cluster.run(*command, *home, TELEGRAM_BOT_TOKEN=bot.token)
            shown += done.stdout + done.stderr
        refused = cluster.run("setup", *home, TELEGRAM_BOT_TOKEN=bot.token[:-3] + "xyz")
        assert "refused the token" in refused.stderr
        unreachable = cluster.run("setup", *home, "--api-root", "http://127.0.0.1:9", **loud)
        assert "cannot be reached" in unreachable.stderr
        for done in (refused, unreachable):
            shown += done.stdout + done.stderr
        shown += first.stdout + first.stderr + second.stdout + second.stderr
        shown += "".join(text for text in cluster.texts(thread))
    assert "Traceback" in shown, "what failed was told with its trace"
    assert "DEBUG" in shown and secret[:-3] not in shown
    files = [path for path in cluster.home.rglob("*") if path.is_file()]
    holding = [path.name for path in files if secret[:-3].encode() in path.read_bytes()]
    assert holding == ["config.json"]
    assert (cluster.home / "logs" / "tree.output") in files
