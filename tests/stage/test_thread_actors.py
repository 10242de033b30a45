"""The actors of threads and of pruning, with a real mailbox entry and real rows, one letter at a time."""

import os
import signal
import subprocess
import sys

import pytest
from thespian.actors import WakeupMessage

from actors.plans.prune_supervisor import ALIVE, DEAD, UNKNOWN
from actors.prune_supervisor import PruneSupervisor
from actors.target_provisioner import TargetProvisioner
from messages.actor import ConfigureChild
from messages.envelope import Envelope, load_envelope
from messages.follower_registry import FollowersDescribed
from messages.leader import EpochLost
from messages.target_provisioner import ProvisionTarget, TargetProvisioned
from messages.telegram_gateway import TelegramAnswered
from stores.lease import Lease
from stores.pending_provisions import PendingProvisions
from stores.process_birth import ProcessBirth
from tests.support.eventually import eventually
from tests.support.manual_clock import ManualClock
from tests.support.stores import ANN, BEN, CHAT, led_bus_database

CALLER, GATEWAY, LEADER = "caller", "gateway", "leader"


def unattached(actor_class):
    """An actor of this class outside any actor system: what it sends is kept."""

    class Unattached(actor_class):
        clock = ManualClock()
        myAddress = "self"  # noqa: N815

        def __init__(self):
            super().__init__()
            self.sent = []
            self.woken = []

        def send(self, target, message):
            self.sent.append((target, load_envelope(message)))

        def wakeupAfter(self, delay, payload=None):  # noqa: N802
            self.woken.append(payload)

    actor = Unattached()
    actor.key = actor_class.__name__
    return actor


class Theatre:
    """A TargetProvisioner among played peers."""

    def __init__(self, database, epoch):
        self.actor = unattached(TargetProvisioner)
        self.database = database
        settings = {
            "bot_directory": str(database.path.parent),
            "chat_id": CHAT,
            "epoch": epoch,
            "owner": {
                "pid": ANN.pid,
                "boot_id": ANN.boot_id,
                "birth": ANN.birth,
                "instance_id": ANN.instance_id,
            },
        }
        first = ConfigureChild(key="target_provisioner", incarnation=1, settings=settings)
        self.hear(first, "configure", LEADER)
        peers = {
            "telegram_gateway": {"incarnation": 1, "address": GATEWAY},
            "leader": {"incarnation": 1, "address": LEADER},
        }
        plain = {
            "kind": "PeersIntroduced",
            "version": 1,
            "message_id": "peers",
            "in_reply_to": None,
            "to": {"key": "target_provisioner", "incarnation": 1},
            "deadline": None,
            "body": {"peers": peers},
        }
        self.actor.receiveMessage(plain, LEADER)
        self.actor.sent.clear()

    def hear(self, body, message_id, sender, in_reply_to=None):
        """A message arrives."""
        envelope = Envelope(
            body, message_id, "target_provisioner", incarnation=1, in_reply_to=in_reply_to
        )
        self.actor.receiveMessage(envelope.dump(), sender)
        self._ring()

    def _ring(self):
        while True:
            due = [payload for payload in self.actor.woken if payload[0] == "advance"]
            if not due:
                return
            self.actor.woken.clear()
            self.actor.receiveMessage(WakeupMessage(None, due[-1]), None)

    def told(self, target):
        """What was sent there, oldest first."""
        return [envelope for address, envelope in self.actor.sent if address == target]

    def close(self):
        """Give the connection back."""
        self.actor.stores["bindings"].database.close()


@pytest.fixture
def theatre(tmp_path):
    """A provisioner of Ann's, who leads."""
    with led_bus_database(tmp_path) as (database, epoch):
        theatre = Theatre(database, epoch)
        yield theatre
        theatre.close()


WANTED = ProvisionTarget(
    binding_key="manual:a", instance_id="1:1", thread_name="api", place="~", carried_slot=None,
    own=False,
)


def test_a_thread_is_made_and_answered_and_announced(theatre):
    theatre.hear(WANTED, "w", CALLER)
    (call,) = theatre.told(GATEWAY)
    theatre.hear(
        TelegramAnswered(result={"message_thread_id": 7}), "x", GATEWAY, in_reply_to=call.message_id
    )
    (answer,) = theatre.told(CALLER)
    assert answer.in_reply_to == "w"
    assert answer.body == TargetProvisioned(
        chat_id=CHAT, thread_id=7, slot="A", thread_name="api", reused=False
    )
    assert [one.body.method for one in theatre.told(GATEWAY)] == ["createForumTopic", "sendMessage"]


def test_a_command_said_twice_is_carried_out_once(theatre):
    theatre.hear(WANTED, "w", CALLER)
    theatre.hear(WANTED, "w", CALLER)
    assert len(theatre.told(GATEWAY)) == 1


@pytest.mark.case("L53")
def test_a_deposed_provisioner_leaves_word_of_the_thread_and_tells_the_leader(theatre):
    theatre.hear(WANTED, "w", CALLER)
    (call,) = theatre.told(GATEWAY)
    lease = Lease(theatre.database)
    assert lease.campaign(lease.read(), BEN, 2_000, "other")
    theatre.hear(
        TelegramAnswered(result={"message_thread_id": 7}), "x", GATEWAY, in_reply_to=call.message_id
    )
    row = PendingProvisions(theatre.database).for_binding("manual:a")
    assert (row.thread_id, row.status) == (7, "ambiguous")
    assert theatre.told(CALLER) == []
    assert [type(one.body) for one in theatre.told(LEADER)] == [EpochLost]


# -- what is known of processes -----------------------------------------------------------------


def described(instance, pid, birth):
    """An entry of the registry's description."""
    return {
        "instance_id": instance, "generation": "g", "pid": pid, "birth": birth,
        "heartbeat_age_ms": 0, "chat_id": 1, "thread_id": 2, "binding_key": instance,
    }


def test_only_a_process_that_is_gone_is_dead():
    supervisor = unattached(PruneSupervisor)
    supervisor.plan = supervisor.first_plan({"cleanup": False})
    own = ProcessBirth.current()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        born = ProcessBirth.of(child.pid)
        assert born is not None
        followers = [
            described("alive", child.pid, born.wire),
            described("reused", child.pid, f"{child.pid}:start:1"),
            described("foreign", child.pid, "2026-01-01"),
            described("self", own.pid, own.wire),
            described("no pid", None, None),
        ]

        def known():
            return supervisor.read_followers_described(FollowersDescribed(followers=followers))

        assert known() == {
            "alive": ALIVE, "reused": DEAD, "foreign": ALIVE, "self": ALIVE, "no pid": UNKNOWN
        }
        os.kill(child.pid, signal.SIGKILL)
        # Nobody has waited for it: a zombie is dead.
        eventually(lambda: known()["alive"] == DEAD)
