"""Hostile neighbours: nothing they send is executed, stored or able to stop the leader."""

import os
import pickle
import socket
import stat
from pathlib import Path

import psutil

from tests.support.cluster import Cluster, Instance
from tests.support.eventually import eventually


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
