"""The FollowerRegistry with its ledger and its rows, line by line as they come from the bus."""

import contextlib
import json
import select
import socket

import pytest

from actors.follower_registry import FollowerRegistry
from messages.bus import INVALID_REQUEST_ID, MAX_LINE
from messages.bus_texts import M
from messages.follower_mutation import MutationFinished
from messages.follower_registry import OpenEndpoint
from messages.telegram_gateway import TelegramAnswered
from stores.errors import StoreUnavailable
from stores.message_ownership import MessageOwnership
from tests.support.bus_samples import sample
from tests.support.stores import led_bus_database

MUTATION = "actors.follower_mutation.FollowerMutation"
GIVEN = {"chat_id": 1, "thread_id": 5, "slot": "A", "thread_name": "api", "reused": True}


class Bus:
    """A registry among played peers, and what a connection says and hears."""

    def __init__(self, stage, database, epoch):
        self.stage, self.database, self.epoch = stage, database, epoch
        self.mutation = stage.cast(MUTATION)
        self.gateway = stage.peer("telegram_gateway")
        settings = {
            "bot_directory": str(database.path.parent), "epoch": epoch, "cleanup": False,
            "owner": {"pid": 10, "instance_id": "10:1"}, "chat_id": 1, "owner_id": 77,
        }
        peers = (self.gateway, stage.peer("inbox"), stage.peer("prune_supervisor"), stage.peer("leader"))
        self.part = stage.start(
            FollowerRegistry, "follower_registry", settings, io=object(), peers=peers
        )
        stage.ask(self.part, OpenEndpoint())
        self.peers = {}
        self.heard = {}

    def peer(self, connection):
        """The other end of a connection; those before it exist as well."""
        while connection not in self.peers:
            here, there = socket.socketpair()
            there.setblocking(False)
            self.part.actor.endpoint.adopt(here)
            number = len(self.peers) + 1
            self.peers[number], self.heard[number] = there, b""
        return self.peers[connection]

    def close(self):
        """End what processes would end."""
        for peer in self.peers.values():
            peer.close()
        self.part.actor.endpoint.close()

    def say(self, plain, connection=1):
        """A line arrives; returns the answers written to the connection since."""
        line = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
        heard = len(self.answers(connection))
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[self.peer(connection).send(rest):]
            fileno = self.part.actor.endpoint.fileno
            while select.select([fileno], [], [], 0)[0]:
                self.stage.announce(self.part, fileno)
                self.stage.run()
        return self.answers(connection)[heard:]

    def answers(self, connection=1):
        """Everything written to a connection, oldest first."""
        peer = self.peer(connection)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.heard[connection] += peer.recv(1 << 16)
        return [json.loads(line) for line in self.heard[connection].splitlines()]

    def register(self, connection=1, **changed):
        """Register and be given a thread."""
        request = sample("follower.register")
        request["registration"] |= {"busSocketPath": "/tmp/x.sock", **changed}
        request["requestId"] = request["registration"]["registrationGeneration"]
        self.say(request, connection)
        return self.finish(connection)

    def finish(self, connection=1, target=GIVEN):
        """The change that was asked for last is durable."""
        heard = len(self.answers(connection))
        peer = self.mutation.peer
        command = [one for one in peer.told if one.kind == "MutateFollower"][-1]
        peer.answer(command.message_id, MutationFinished(target=target))
        self.stage.run()
        return self.answers(connection)[heard:]

    def owner(self, message_id):
        """Whose a message is."""
        return MessageOwnership(self.database).find(1, message_id)


@pytest.fixture
def bus(tmp_path, stage):
    with led_bus_database(tmp_path) as (database, epoch):
        lease_secret = sample("follower.heartbeat")["auth"]
        played = Bus(stage, database, epoch)
        played.part.actor.plan = played.part.plan.__class__(
            **{**vars(played.part.plan), "secret": lease_secret}
        )
        yield played
        played.close()


@pytest.mark.case("L22")
@pytest.mark.parametrize("garbage", [b"{", b"[]", b"\xff", b"{}", b'{"kind":"follower.heartbeat"}'])
def test_garbage_is_answered_and_the_connection_goes_on(bus, garbage):
    (ack,) = bus.say(garbage)
    assert (ack["requestId"], ack["ok"], ack["message"]) == (INVALID_REQUEST_ID, False, M.INVALID_ENVELOPE)
    (ack,) = bus.say(sample("follower.heartbeat"))
    assert (ack["requestId"], ack["message"]) == ("11:1:7", M.UNKNOWN_FOLLOWER)


def test_a_line_that_was_too_long_is_told_apart(bus):
    (ack,) = bus.say(b"x" * (MAX_LINE + 1))
    assert ack["message"] == M.LINE_TOO_LONG


@pytest.mark.case("L19", "F13")
def test_a_request_said_twice_is_carried_out_once_and_answered_to_both(bus):
    request = sample("follower.register")
    assert bus.say(request, connection=1) == bus.say(request, connection=2) == []
    assert len([one for one in bus.mutation.peer.told if one.kind == "MutateFollower"]) == 1
    (first,) = bus.finish(connection=1)
    assert [first] == bus.answers(2)
    assert first["ok"] and bus.say(request, connection=3) == [first], "answered from the ledger"


@pytest.mark.case("L20", "F14")
def test_the_same_id_for_other_content_collides(bus):
    bus.register()
    (ack,) = bus.say(sample("follower.heartbeat"))
    assert ack["ok"]
    (ack,) = bus.say({**sample("follower.heartbeat"), "sentAtMs": 5})
    assert ack["error"] == {"code": "request-id-collision"} and ack["requestId"] == "11:1:7"


@pytest.mark.case("L16", "F17")
def test_a_response_as_a_request_is_told_so_before_its_secret_is_looked_at(bus):
    (ack,) = bus.say({**sample("bus.ack"), "auth": "wrong"})
    assert ack["message"] == M.RESPONSE_AS_REQUEST


@pytest.mark.case("L23")
def test_a_request_that_fails_inside_is_answered_and_the_next_is_served(bus, monkeypatch):
    bus.register()

    def fails(*_):
        raise RuntimeError("scripted")

    with monkeypatch.context() as broken:
        broken.setattr(type(bus.part.plan), "_fenced", fails)
        (ack,) = bus.say(sample("follower.heartbeat"))
    bus.stage.log.expect("registry.request_failed")
    assert (ack["requestId"], ack["ok"], ack["message"]) == ("11:1:7", False, M.HANDLER_FAILED)
    (ack,) = bus.say({**sample("follower.heartbeat"), "requestId": "11:1:8"})
    assert ack["ok"]


@pytest.mark.case("L113")
def test_a_heartbeat_is_answered_while_a_disconnect_is_blocked(bus):
    bus.register()
    assert bus.say(sample("follower.disconnect")) == [], "its thread is being deleted"
    (ack,) = bus.say({**sample("follower.heartbeat"), "requestId": "11:1:8"})
    assert ack["ok"] and ack["result"] == {"eligibleElectionSlots": ["A"]}
    (ack,) = bus.finish(target=None)
    assert (ack["requestId"], ack["ok"]) == ("11:1:7", True)


# -- whose messages -------------------------------------------------------------------------------


def sent(bus, message_id, request_id="c1", **changed):
    """A call that made this message, and its ack."""
    call = {
        **sample("follower.callApi"), "requestId": request_id,
        "args": ["sendMessage", {"chat_id": 1, "message_thread_id": 5, "text": "x"}], **changed,
    }
    assert bus.say(call) == []
    heard = len(bus.answers())
    command = [one for one in bus.gateway.told if one.kind == "CallTelegram"][-1]
    bus.gateway.answer(command.message_id, TelegramAnswered(result={"message_id": message_id}))
    bus.stage.run()
    return bus.answers()[heard:]


def edit(bus, request_id, **changed):
    """Whether an edit of message 40 reaches the gateway, and its refusal."""
    told = len(bus.gateway.told)
    acks = bus.say({
        **sample("follower.callApi"), "requestId": request_id,
        "args": ["editMessageText", {"chat_id": 1, "message_id": 40, "text": "y"}], **changed,
    })
    return len(bus.gateway.told) > told, [ack["message"] for ack in acks]


@pytest.mark.case("L125", "L135")
def test_what_a_binding_sent_follows_it_to_its_next_process(bus):
    bus.register()
    assert sent(bus, 40)[0]["ok"]
    assert (bus.owner(40).instance_id, bus.owner(40).generation) == ("11:1", "g1")
    bus.register(instanceId="13:1", registrationGeneration="g2")
    assert (bus.owner(40).instance_id, bus.owner(40).generation) == ("13:1", "g2")
    new = {"instanceId": "13:1", "registrationGeneration": "g2"}
    assert edit(bus, "e1", **new) == (True, [])
    assert edit(bus, "e2") == (False, [M.UNKNOWN_FOLLOWER]), "the earlier process is nobody now"


@pytest.mark.case("L126", "L135")
def test_without_its_binding_a_message_is_nobodys(bus):
    bus.register()
    sent(bus, 40)
    bus.say(sample("follower.disconnect"))
    bus.finish(target=None)
    bus.mutation.peers.clear()
    other = sample("follower.register")
    other["requestId"] = "g9"
    other["registration"] |= {
        "instanceId": "14:1", "profileKey": "manual:14:1", "registrationGeneration": "g9",
    }
    bus.say(other)
    bus.finish(target={**GIVEN, "thread_id": 6})
    who = {"instanceId": "14:1", "registrationGeneration": "g9"}
    assert edit(bus, "e1", **who) == (False, [M.API_NOT_ALLOWED])
    assert bus.owner(40) is None, "its thread is gone, and it with it"


@pytest.mark.case("L135")
def test_a_record_that_fails_turns_no_sent_message_into_a_failure(bus, monkeypatch):
    bus.register()

    def full(self, **_):
        raise StoreUnavailable("scripted")

    with monkeypatch.context() as broken:
        broken.setattr(MessageOwnership, "record", full)
        (ack,) = sent(bus, 40)
    bus.stage.log.expect("registry.ownership_not_recorded")
    assert ack["ok"] and ack["result"] == {"message_id": 40}
    assert bus.owner(40) is None
