"""Requests on their way to the mailbox: in turn, in batches, and never more than a peer may have waiting."""

import contextlib
import errno
import json
import select
import socket

import pytest

from actors import bus_endpoint
from actors.bus_connection import MAX_UNSENT_BYTES, MOST_UNANSWERED, MUCH_UNREAD, MUCH_WAITING
from actors.bus_endpoint import BATCH, MOST_OF_ONE_PROCESS, BusEndpoint, Outgoing
from actors.bus_line import CHUNK
from messages.bus import MAX_LINE


class Bus:
    """An endpoint with real sockets, and the mailbox that the test plays."""

    def __init__(self):
        self.endpoint = BusEndpoint()
        self.peers = []

    def connect(self):
        """A peer that is served, if it is; returns its end."""
        here, there = socket.socketpair()
        self.endpoint.adopt(here)
        there.settimeout(5)
        self.peers.append(there)
        return there

    def connection(self, number):
        return self.endpoint._connections[number]

    def is_served(self, number):
        return number in self.endpoint._connections

    def has_news(self):
        """Whether the mailbox would be woken."""
        return bool(select.select([self.endpoint.fileno], [], [], 0)[0])

    def batch(self):
        """One turn: (connection, request id) of each request."""
        return [(one.connection, one.envelope.request_id) for one in self.endpoint.turn().arrived]

    def answer(self, *lines, **answers):
        """The mailbox is done with a batch; so many answers for each connection."""
        self.endpoint.say({
            int(number[1:]): Outgoing(list(lines) or [b"answer\n"] * count, count)
            for number, count in answers.items()
        })

    def take_all(self):
        """Turn until nothing comes; returns how many requests did."""
        taken = 0
        while self.has_news():
            taken += len(self.batch())
        return taken


@pytest.fixture
def bus():
    bus = Bus()
    yield bus
    bus.endpoint.close()
    for peer in bus.peers:
        peer.close()


def heartbeats(count, name="r"):
    said = {"kind": "follower.heartbeat", "auth": "s", "instanceId": "1:1", "sentAtMs": 1,
            "registrationGeneration": "g"}
    return b"".join(
        json.dumps({**said, "requestId": f"{name}{number}"}).encode() + b"\n"
        for number in range(count)
    )


def test_who_floods_is_in_turn_with_everyone_else(bus):
    flood, calm = bus.connect(), bus.connect()
    flood.sendall(heartbeats(400, "a"))
    calm.sendall(heartbeats(2, "b"))
    batch = bus.batch()
    assert len(batch) == BATCH
    assert batch[:5] == [(1, "a0"), (2, "b0"), (1, "a1"), (2, "b1"), (1, "a2")]


def test_what_is_left_over_wakes_the_mailbox_again_until_it_is_taken(bus):
    flood, calm = bus.connect(), bus.connect()
    flood.sendall(heartbeats(2 * BATCH, "a"))
    assert len(bus.batch()) == BATCH
    bus.answer(c1=BATCH)
    calm.sendall(heartbeats(1, "b"))
    assert bus.has_news()
    assert (2, "b0") in bus.batch()[:2]
    assert bus.has_news()
    assert len(bus.batch()) == 1
    assert not bus.has_news()
    assert bus.batch() == []


def test_nothing_is_read_from_a_peer_with_too_many_unanswered_requests(bus):
    peer = bus.connect()
    peer.sendall(heartbeats(MOST_UNANSWERED - 1))
    assert bus.take_all() == MOST_UNANSWERED - 1
    peer.sendall(heartbeats(1))
    assert bus.take_all() == 1
    peer.sendall(heartbeats(1))
    assert not bus.has_news()
    bus.answer(c1=MOST_UNANSWERED // 2 - 1)
    assert not bus.has_news(), "not for every single answer"
    bus.answer(c1=1)
    assert bus.take_all() == 1


def test_nothing_is_read_from_a_peer_with_too_many_bytes_waiting(bus):
    peer = bus.connect()
    peer.setblocking(False)
    line = b"x" * (MAX_LINE - 1) + b"\n"
    connection, said, unsent = bus.connection(1), 0, b""
    while connection.wanted:
        unsent = unsent or line
        with contextlib.suppress(BlockingIOError):
            sent = peer.send(unsent)
            unsent, said = unsent[sent:], said + sent
        connection.read()
    assert MUCH_WAITING <= said <= MUCH_WAITING + 2 * MAX_LINE
    bus.endpoint._mind(connection)
    taken = len(bus.endpoint.turn().arrived)
    assert taken >= MUCH_WAITING // MAX_LINE and not connection.wanted
    bus.answer(c1=taken)
    assert connection.wanted, "what waited was taken and answered"


def test_an_answer_of_a_peer_waits_for_no_answer(bus):
    bus.connect().sendall(b'{"kind":"bus.ack","requestId":"x","ok":true}\n')
    assert bus.batch() == [(1, "x")]
    assert bus.connection(1).unanswered == 0


def test_nothing_is_read_from_a_peer_that_does_not_read(bus):
    peer = bus.connect()
    said = b"x" * (MUCH_UNREAD + CHUNK * 16)
    bus.answer(said, c1=0)
    peer.sendall(heartbeats(1))
    assert bus.take_all() == 0
    heard = 0
    while heard < len(said):
        heard += len(peer.recv(CHUNK))
        bus.endpoint.turn()
    assert bus.connection(1).unanswered == 1, "what it said meanwhile is taken now"


def test_a_peer_with_too_much_unread_is_dropped(bus):
    peer = bus.connect()
    bus.answer(b"x" * MAX_UNSENT_BYTES, c1=0)
    assert bus.is_served(1)
    bus.answer(b"y" * CHUNK * 16, c1=0)
    assert not bus.is_served(1)
    bus.answer(b"z", c1=0)
    heard = b"".join(iter(lambda: peer.recv(CHUNK), b""))
    assert set(heard) == {ord("x")}
    assert bus.endpoint.turn().ended == [1]


def test_the_end_of_a_stream_is_told_once_after_what_it_said(bus):
    peer = bus.connect()
    peer.sendall(heartbeats(BATCH + 1))
    peer.shutdown(socket.SHUT_WR)
    turn = bus.endpoint.turn()
    assert (len(turn.arrived), turn.ended) == (BATCH, [])
    bus.answer(c1=BATCH)
    turn = bus.endpoint.turn()
    assert (len(turn.arrived), turn.ended) == (1, [1])
    assert bus.is_served(1), "it can still be answered"
    bus.answer(c1=1)
    assert not bus.is_served(1)
    assert b"".join(iter(lambda: peer.recv(CHUNK), b"")) == b"answer\n" * (BATCH + 1)
    assert bus.endpoint.turn().ended == [] and not bus.has_news()


def test_what_a_peer_said_before_it_vanished_is_heard_and_then_its_end(bus):
    peer = bus.connect()
    peer.sendall(heartbeats(2))
    peer.close()
    turn = bus.endpoint.turn()
    while not turn.ended:
        assert bus.has_news()
        more = bus.endpoint.turn()
        turn.arrived += more.arrived
        turn.ended += more.ended
    assert (len(turn.arrived), turn.ended) == (2, [1])
    bus.answer(c1=2)
    assert not bus.is_served(1) and not bus.has_news()


def test_one_connection_too_many_is_turned_away_and_nobody_hears_of_it(bus):
    peers = [bus.connect() for _ in range(MOST_OF_ONE_PROCESS + 1)]
    assert peers[-1].recv(1) == b""
    assert len(bus.endpoint._connections) == MOST_OF_ONE_PROCESS
    assert bus.endpoint.turn() == bus_endpoint.Turn()
    peers[0].close()
    assert bus.endpoint.turn().ended == [1]
    assert bus.connect() and len(bus.endpoint._connections) == MOST_OF_ONE_PROCESS


def test_whoever_connects_is_served_and_a_closed_endpoint_leaves_nothing(bus, tmp_path):
    path = bus.endpoint.listen(str(tmp_path / "1-2.sock"))
    assert (tmp_path / "1-2.sock").stat().st_mode & 0o777 == 0o600
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(5)
        peer.connect(path)
        peer.sendall(heartbeats(1))
        assert bus.take_all() == 1
        bus.answer(c1=1)
        assert peer.recv(CHUNK) == b"answer\n"
        bus.endpoint.shut()
        assert peer.recv(1) == b""
    assert list(tmp_path.iterdir()) == []


def test_who_is_dropped_by_a_shut_endpoint_is_told_of(bus):
    bus.connect()
    bus.endpoint.shut()
    assert bus.has_news()
    assert bus.endpoint.turn().ended == [1] and not bus.has_news()


def test_a_peer_of_whom_the_system_tells_nothing_is_turned_away(bus, monkeypatch):
    def tell_nothing(peer):
        raise OSError(errno.ENOTCONN, "Socket is not connected")

    monkeypatch.setattr(bus_endpoint, "peer_credentials", tell_nothing)
    assert bus.connect().recv(1) == b""
    assert not bus.is_served(1)


def test_without_descriptors_it_listens_again_a_second_later_and_does_not_spin(bus, tmp_path, monkeypatch):
    class Full:
        """A listener whose process has no descriptor left."""

        def __init__(self, listener):
            self.listener, self.left = listener, 0

        def accept(self):
            if not self.left:
                raise OSError(errno.EMFILE, "Too many open files")
            self.left -= 1
            return self.listener.accept()

        def __getattr__(self, name):
            return getattr(self.listener, name)

    path = bus.endpoint.listen(str(tmp_path / "1-2.sock"))
    now = [100.0]
    monkeypatch.setattr(bus_endpoint.time, "monotonic", lambda: now[0])
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        listener = Full(bus.endpoint._listener)
        bus.endpoint._accept(listener)
        assert not bus.has_news()
        listener.left = 1
        now[0] += 1.1
        bus.endpoint.turn()
        assert bus.is_served(1)
        listener.left = 0
        bus.endpoint._accept(listener)
        path = bus.endpoint.listen(str(tmp_path / "1-3.sock"))
        now[0] += 1.1
        bus.endpoint.turn()
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        bus.endpoint.turn()
        assert bus.is_served(2), "another socket is listened to at once, and once"


# -- the file of the socket ----------------------------------------------------------------------


@pytest.fixture
def listening(tmp_path):
    """Makes endpoints that listen at a name; all are closed."""
    made = []

    def listen(name):
        made.append(BusEndpoint())
        made[-1].listen(str(tmp_path / name))
        return made[-1]

    yield listen
    for endpoint in made:
        endpoint.close()


@pytest.mark.parametrize(
    "names, left",
    [
        (["bus-3-1.sock", "bus-4-1.sock"], ["bus-4-1.sock"]),
        (["bus-3-1.sock", "bus-3-2.sock"], ["bus-3-2.sock"]),
        (["bus-9-1.sock", "bus-10-1.sock"], ["bus-10-1.sock"]),
        # Deposed, and not aware of it yet.
        (["bus-4-1.sock", "bus-3-2.sock"], ["bus-3-2.sock", "bus-4-1.sock"]),
    ],
)
def test_a_socket_takes_the_place_of_earlier_ones_only(listening, tmp_path, names, left):
    for name in names:
        listening(name)
    assert sorted(path.name for path in tmp_path.glob("*.sock")) == left


def test_a_socket_whose_file_was_taken_away_is_bound_again_and_nobody_is_dropped(listening, tmp_path, monkeypatch):
    monkeypatch.setattr(bus_endpoint, "LOOK_EVERY_S", 0)
    endpoint, path = listening("bus-1-1.sock"), tmp_path / "bus-1-1.sock"
    here, there = socket.socketpair()
    endpoint.adopt(here)
    path.unlink()
    endpoint.listen_again()
    assert path.stat().st_mode & 0o777 == 0o600
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as newcomer:
        newcomer.connect(str(path))
        endpoint.turn()
        assert len(endpoint._connections) == 2
    there.close()
