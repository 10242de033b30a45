"""Requests on their way to the mailbox: in turn, in batches, and never more than a peer may have waiting."""

import asyncio
import functools
import json
import socket

from actors.bus_connection import MAX_UNSENT_BYTES, MOST_UNANSWERED
from actors.bus_endpoint import BATCH, MOST_OF_ONE_PROCESS, BusEndpoint, Outgoing


class Wire:
    """A transport that only remembers."""

    def __init__(self):
        self.socket, self.other = socket.socketpair()
        self.is_reading = True
        self.is_gone = False
        self.written = b""
        self.unsent = 0

    def get_extra_info(self, name):
        return getattr(self, name)

    def set_write_buffer_limits(self, high):
        self.high = high

    def pause_reading(self):
        self.is_reading = False

    def resume_reading(self):
        self.is_reading = True

    def write(self, data):
        self.written += data

    def get_write_buffer_size(self):
        return self.unsent

    def is_closing(self):
        return self.is_gone

    def close(self):
        self.is_gone = True

    abort = close


class Bus:
    """An endpoint, its connections, and the mailbox that the test plays."""

    def __init__(self):
        self.happened = []
        self.endpoint = BusEndpoint(lambda name, value: self.happened.append((name, value)))
        self.wires = []

    def connect(self):
        connection, wire = self.endpoint._connection(), Wire()
        connection.connection_made(wire)
        self.wires.append(wire)
        return connection

    async def batch(self):
        """What reached the mailbox since the last time: (connection, request id) of each request."""
        await asyncio.sleep(0)
        happened, self.happened = self.happened, []
        requests = [one for name, value in happened if name == "requests" for one in value]
        return [(one.connection, one.envelope.request_id) for one in requests]

    def answer(self, **answers):
        """The mailbox is done with a batch; so many answers for each connection."""
        outgoing = {
            int(number[1:]): Outgoing([b"answer\n"] * count, count)
            for number, count in answers.items()
        }
        self.endpoint.now_answer(outgoing, is_done=True)

    def ends(self):
        return [value for name, value in self.happened if name == "connection_closed"]


def play(test):
    """Run a test on a loop, with a bus."""

    @functools.wraps(test)
    def run():
        async def playing():
            bus = Bus()
            try:
                await test(bus)
            finally:
                for wire in bus.wires:
                    wire.socket.close()
                    wire.other.close()

        asyncio.run(playing())

    del run.__wrapped__
    return run


def heartbeats(count, name="r"):
    said = {"kind": "follower.heartbeat", "auth": "s", "instanceId": "1:1", "sentAtMs": 1,
            "registrationGeneration": "g"}
    return b"".join(
        json.dumps({**said, "requestId": f"{name}{number}"}).encode() + b"\n"
        for number in range(count)
    )


@play
async def test_who_floods_is_in_turn_with_everyone_else(bus):
    flood, calm = bus.connect(), bus.connect()
    flood.data_received(heartbeats(500, "a"))
    calm.data_received(heartbeats(2, "b"))
    batch = await bus.batch()
    assert len(batch) == BATCH
    assert batch[:5] == [(1, "a0"), (2, "b0"), (1, "a1"), (2, "b1"), (1, "a2")]


@play
async def test_the_next_batch_comes_when_the_mailbox_is_done_with_the_last(bus):
    flood, calm = bus.connect(), bus.connect()
    flood.data_received(heartbeats(2 * BATCH, "a"))
    assert len(await bus.batch()) == BATCH
    calm.data_received(heartbeats(1, "b"))
    assert await bus.batch() == []
    bus.answer(c1=BATCH)
    assert (2, "b0") in (await bus.batch())[:2]
    bus.answer(c1=BATCH - 1, c2=1)
    assert len(await bus.batch()) == 1
    bus.answer(c1=1)
    assert await bus.batch() == []


@play
async def test_nothing_is_read_from_a_peer_with_too_many_unanswered_requests(bus):
    connection = bus.connect()
    (wire,) = bus.wires
    connection.data_received(heartbeats(MOST_UNANSWERED - 1))
    assert wire.is_reading
    connection.data_received(heartbeats(1))
    assert not wire.is_reading
    taken = 0
    while taken < MOST_UNANSWERED:
        taken += len(await bus.batch())
        bus.answer()
    bus.answer(c1=MOST_UNANSWERED // 2 - 1)
    assert not wire.is_reading, "not for every single answer"
    bus.answer(c1=1)
    assert wire.is_reading


@play
async def test_an_answer_of_a_peer_waits_for_no_answer(bus):
    connection = bus.connect()
    connection.data_received(b'{"kind":"bus.ack","requestId":"x","ok":true}\n')
    assert await bus.batch() == [(1, "x")]
    assert connection.unanswered == 0


@play
async def test_nothing_is_read_from_a_peer_that_does_not_read(bus):
    connection = bus.connect()
    (wire,) = bus.wires
    connection.pause_writing()
    assert not wire.is_reading
    connection.resume_writing()
    assert wire.is_reading


@play
async def test_a_peer_with_too_much_unread_is_dropped(bus):
    connection = bus.connect()
    (wire,) = bus.wires
    wire.unsent = MAX_UNSENT_BYTES
    connection.write([b"one\n"])
    assert not wire.is_gone
    wire.unsent += 1
    connection.write([b"two\n"])
    assert wire.is_gone and wire.written == b"one\ntwo\n"
    connection.write([b"three\n"])
    assert wire.written == b"one\ntwo\n"


@play
async def test_the_end_of_a_stream_is_told_once_after_what_it_said(bus):
    connection = bus.connect()
    connection.data_received(heartbeats(BATCH + 1))
    assert connection.eof_received(), "it can still be answered"
    await asyncio.sleep(0)
    assert bus.ends() == []
    bus.answer(c1=BATCH)
    assert bus.ends() == [1]
    assert not bus.wires[0].is_gone
    bus.answer(c1=1)
    assert bus.wires[0].is_gone
    connection.connection_lost(None)
    bus.answer()
    await asyncio.sleep(0)
    assert bus.ends() == [1]


@play
async def test_what_a_peer_said_before_it_vanished_is_heard_and_then_its_end(bus):
    connection = bus.connect()
    connection.data_received(heartbeats(2))
    connection.connection_lost(None)
    await asyncio.sleep(0)
    assert [name for name, _ in bus.happened] == ["requests", "connection_closed"]
    bus.answer(c1=2)
    assert bus.ends() == [1] and bus.wires[0].written == b""


@play
async def test_one_connection_too_many_is_turned_away_and_nobody_hears_of_it(bus):
    for _ in range(MOST_OF_ONE_PROCESS):
        bus.connect()
    turned_away = bus.connect()
    assert [wire.is_gone for wire in bus.wires] == [False] * MOST_OF_ONE_PROCESS + [True]
    turned_away.connection_lost(None)
    await asyncio.sleep(0)
    assert bus.happened == []
    bus.endpoint.is_gone(turned_away)
