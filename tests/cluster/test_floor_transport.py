"""The transport between real processes: hostile neighbours change nothing, and nothing is slow."""

import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from actors import frames
from tests.cluster.floor_actors import Bereaved, Crossing, Echo, Ping
from tests.support.ended import ended
from tests.support.eventually import eventually
from tests.support.floor_host import FloorHost
from tests.support.forked import start_forked

NOBODY = 65534


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def host(home: Path) -> Iterator[FloorHost]:
    started = FloorHost(home)
    yield started
    started.end()
    assert started.output.read_text() == ""  # nobody wrote to the terminal, whatever happened


def listening(processes: list[psutil.Process]) -> list[tuple[str, int]]:
    return [(c.laddr.ip, c.laddr.port) for process in processes
            for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def hostile_bytes(bomb: Path) -> list[bytes]:
    body = pickle.dumps((None, Bomb(bomb)))
    stranger = frames.FrameKey(os.urandom(32))
    return [
        b"%d>" % len(body) + body,
        b"%08d>" % len(body) + body,
        stranger.frame(body),
        b"%08d>" % len(body) + b"\0" * 48 + body,
        b"-1>" + body,
        b"-0000001>" + b"\0" * 48 + body,
        b"0>",
        b"00000000>" + b"\0" * 48,
        b"99999999>" + b"x" * 100_000,
        b"9" * 1_000_000,
        b"\0" * 100,
        b"ACK",
    ]


def test_hostile_bytes_at_every_port_change_nothing(host, home) -> None:
    echo = host.create(Echo)
    child = host.ask(echo, {"want": "child"})
    before = host.processes()
    ports = {port for process in before for _, port in listening([process])}
    assert len(ports) >= 5  # the host itself, admin, logger, two actors
    [unattended] = [port for _, port in listening(before[:1])]  # the host looks only when it asks
    for port in ports:
        for data in hostile_bytes(home / "exploded"):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                try:
                    connection.sendall(data)
                    if port != unattended:
                        # Closed on us, without one byte of theirs in return.
                        assert connection.recv(100) == b""
                except ConnectionError:
                    pass
    assert host.ask(echo, {"hello": 1}) == {"hello": 1}
    assert host.ask(echo, {"want": "child's answer", "hello": 2}) == {"hello": 2}
    assert host.ask(host.create(Echo), {"hello": 3}) == {"hello": 3}
    assert all(process.is_running() for process in before) and child["pid"]
    assert not (home / "exploded").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can play another user")
def test_another_users_connection_is_closed_unheard(host) -> None:
    _, _, port = served_echo(host)
    neighbour = (f"import os, socket\nos.setuid({NOBODY})\ns = socket.socket()\n"
                 f"s.settimeout(5)\ns.connect(('127.0.0.1', {port}))\n"
                 "raise SystemExit(7 if s.recv(1) == b'' else 8)")
    assert subprocess.run([sys.executable, "-I", "-c", neighbour]).returncode == 7


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can play another user")
def test_nothing_is_sent_to_another_user_who_got_the_port_of_a_dead_actor(host) -> None:
    echo, process, port = served_echo(host)
    process.kill()
    eventually(lambda: ended(process))
    neighbour = (f"import os, socket\nos.setuid({NOBODY})\ns = socket.create_server(('127.0.0.1', {port}))\n"
                 "print('there', flush=True)\nc, _ = s.accept()\nc.settimeout(5)\n"
                 "raise SystemExit(7 if c.recv(1) == b'' else 8)")
    with subprocess.Popen([sys.executable, "-I", "-c", neighbour],
                          stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"there\n"
        assert host.ask(echo, {"secret": 1}, 1.0) is None
        assert other.wait(5) == 7


def test_nothing_listens_beyond_loopback(host) -> None:
    host.ask(host.create(Echo), {"want": "child"})
    assert {address for address, _ in listening(host.processes())} == {"127.0.0.1"}


def test_no_process_keeps_a_listening_socket_of_another(host) -> None:
    host.ask(host.create(Echo), {"want": "child"})
    ports = [port for _, port in listening(host.processes())]
    assert sorted(ports) == sorted(set(ports))


def test_silent_and_slow_connections_do_not_stop_an_actor(host) -> None:
    echo, process, port = served_echo(host)
    with ExitStack() as stack:
        for number in range(500):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
            if number % 2:
                connection.sendall(b"0")
        began = time.monotonic()
        for number in range(20):
            assert host.ask(echo, {"hello": number}) == {"hello": number}
        # Each by itself waits for no connection: that would be seconds.
        assert time.monotonic() - began < 20
        assert eventually(lambda: len(process.net_connections("inet")) < 200)
        used = sum(process.cpu_times()[:2])
        rested = time.monotonic() + 0.5
        eventually(lambda: time.monotonic() > rested)
        assert sum(process.cpu_times()[:2]) - used < 0.2  # it does not spin


def test_an_actor_out_of_descriptors_serves_again(host) -> None:
    echo, process, port = served_echo(host)
    process.rlimit(psutil.RLIMIT_NOFILE, (process.num_fds() + 25, 1000))
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
        assert host.ask(echo, {"hello": 1}) == {"hello": 1}
    assert host.ask(echo, {"hello": 2}) == {"hello": 2}


def served_echo(host: FloorHost) -> tuple[int, psutil.Process, int]:
    echo = host.create(Echo)
    process = psutil.Process(host.ask(echo, {"want": "pid"})["pid"])
    [(_, port)] = listening([process])
    return echo, process, port


def test_messages_too_large_are_refused_to_their_sender(host) -> None:
    echo = host.create(Echo)
    size = frames.MAX_BODY + 1
    assert host.ask(echo, {"want": "oversize", "size": size})["refused"] >= size
    assert host.tell_of_size(echo, size) == "MessageTooLarge"
    big = {"body": b"x" * 8_000_000}
    assert host.ask(echo, big, 10) == big


def test_messages_that_cross_all_arrive(host) -> None:
    crossing = host.create(Crossing)
    # Far more than may be unanswered between two at a time.
    assert host.ask(crossing, {"shower": 200}, 20) == {"all": 200}


def test_thespian_writes_no_log_of_its_own(host, home) -> None:
    host.ask(host.create(Echo), {"want": "child"})
    assert not (Path(tempfile.gettempdir()) / "thespian.log").exists()
    assert [path.name for path in home.iterdir()] == ["output"]


def test_a_port_held_by_another_is_left_to_it(tmp_path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        began = time.monotonic()
        host = FloorHost(tmp_path, ports=(held.getsockname()[1],))
        assert time.monotonic() - began < 10
        assert host.ask(host.create(Echo), {"hello": 1}) == {"hello": 1}
    host.end()


def test_ping_pong_waits_for_nothing(host) -> None:
    """Some ten times what two bare sockets take; one delayed acknowledgement a trip would be a thousand times."""
    ping = host.create(Ping)
    ratios = []
    for _ in range(3):
        bare = bare_round_trips(500, 100)
        ratios.append(bare / host.ask(ping, {"rounds": 500, "size": 100}, 60)["per_second"])
    assert min(ratios) < 200, ratios


def bare_round_trips(rounds: int, size: int) -> float:
    """How many a second two processes manage over one connection, with nothing of ours between."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        pid = start_forked(lambda: send_back(server.accept()[0]))
        with socket.create_connection(server.getsockname()) as connection:
            began = time.perf_counter()
            for _ in range(rounds):
                connection.sendall(b"x" * size)
                assert connection.recv(size, socket.MSG_WAITALL)
            took = time.perf_counter() - began
        os.waitpid(pid, 0)
    return rounds / took


def send_back(connection: socket.socket) -> None:
    while chunk := connection.recv(4096):
        connection.sendall(chunk)


def test_a_killed_logger_does_not_take_the_admin_along(host) -> None:
    echo = host.create(Echo)
    assert host.ask(echo, {"hello": 1}) == {"hello": 1}
    [admin] = [child for child in psutil.Process(host.pid).children() if not ended(child)]
    logger = min(admin.children(), key=psutil.Process.create_time)
    logger.kill()
    eventually(lambda: ended(logger))
    assert host.ask(host.create(Echo), {"hello": 2}) == {"hello": 2}


def test_of_children_that_die_together_each_death_is_told(host) -> None:
    parent = host.create(Bereaved)
    assert host.ask(parent, {"children": 3}) == {"killed": True}
    eventually(lambda: host.ask(parent, {"want": "heard"}) == {"heard": 3}, 5)
