"""The Leader on the stage: a real actor and real rows, its children played by the test."""

import contextlib

import pytest

from actors.leader import Leader
from actors.plans.leader_phase import Phase
from actors.plans.supervision import PATROL_MS, PING_EVERY_MS
from actors.supervision import TREE
from messages.actor import DescribeActor
from messages.follower_registry import EndpointOpened, OwnFollowerRegistered, RegistryListening
from messages.leader import ConfigureLeader, DescribeInstance
from messages.poller import PollingStarted
from messages.prune_supervisor import PruningStarted
from messages.target_provisioner import CleanupsReplayed
from messages.telegram_gateway import TelegramAnswered
from stores.bus_settings import BusSettings
from stores.errors import StoreBusy
from stores.lease import Lease
from tests.support.peer import Fail, Reply, Silent
from tests.support.stores import ANN, BEN, led_bus_database

SCRIPTS = {
    "telegram_gateway": {"CallTelegram": Reply(TelegramAnswered(result={"username": "b"}))},
    "target_provisioner": {"ReplayCleanups": Reply(CleanupsReplayed(pending=0))},
    "follower_registry": {
        "ListenForOwn": Reply(RegistryListening(endpoint="/bus.sock")),
        "OpenEndpoint": Reply(EndpointOpened()),
    },
    "prune_supervisor": {"StartPruning": Reply(PruningStarted())},
    "inbox": {},
    "poller": {"StartPolling": Reply(PollingStarted())},
}
SPECS = {spec.key: spec for spec in TREE}


class Tree:
    """A Leader among played children."""

    def __init__(self, stage, database, epoch, scripts):
        self.stage = stage
        self.database = database
        self.epoch = epoch
        self.reports = []
        self.roles = {
            key: stage.cast(SPECS[key].class_name, {**SCRIPTS[key], **scripts.get(key, {})})
            for key in SPECS
        }
        self.part = stage.create(Leader, stage.director)
        self.part.actor.perform_beside = lambda effect: self.reports.append(effect.operation_id)
        settings = {
            "bot_directory": str(database.path.parent),
            "owner": {
                "pid": ANN.pid,
                "boot_id": ANN.boot_id,
                "birth": ANN.birth,
                "instance_id": ANN.instance_id,
            },
            "epoch": epoch,
            "chat_id": 1001,
            "owner_id": 1001,
        }
        stage.director.tell(self.part, ConfigureLeader(settings=settings))
        stage.run()

    @property
    def phase(self):
        return self.part.plan.phase

    def child(self, key):
        return self.roles[key].peer

    def lives(self, key):
        return [peer.incarnation for peer in self.roles[key].peers]

    def register_own(self):
        self.child("follower_registry").tell(self.part, OwnFollowerRegistered())
        self.stage.run()

    def kill(self, key):
        self.stage.kill(self.child(key))
        self.stage.run()


@pytest.fixture
def begin(stage, tmp_path):
    with led_bus_database(tmp_path) as (database, epoch):
        BusSettings(database).record_led(epoch=epoch, now=1)
        yield lambda **scripts: Tree(stage, database, epoch, scripts)


@pytest.fixture
def serving(begin):
    tree = begin()
    tree.register_own()
    assert tree.phase is Phase.SERVING
    return tree


def test_it_starts_everyone_and_serves_when_its_own_thread_is_there(begin):
    tree = begin()
    assert tree.phase is Phase.OWN_THREAD
    assert tree.child("poller").bodies("StartPolling") == []
    tree.register_own()
    assert tree.phase is Phase.SERVING
    assert tree.reports[-1] == "serving"
    assert len(tree.child("poller").bodies("StartPolling")) == 1
    assert Lease(tree.database).read().endpoint == "/bus.sock"
    for key in SPECS:
        peers = tree.child(key).bodies("PeersIntroduced")[-1].peers
        assert set(peers) == {"leader", *SPECS}


@pytest.mark.parametrize("key", SPECS)
def test_a_killed_child_is_replaced_and_everyone_is_told(serving, key):
    before = {other: len(serving.child(other).bodies("PeersIntroduced")) for other in SPECS}
    serving.kill(key)
    assert serving.lives(key) == [1, 2]
    assert serving.phase is Phase.SERVING
    assert serving.part.plan.supervision.running() == tuple(SPECS)
    new = serving.child(key)
    assert set(new.bodies("PeersIntroduced")[-1].peers) == {"leader", *SPECS}
    for other in set(SPECS) - {key}:
        told = serving.child(other).bodies("PeersIntroduced")
        assert len(told) > before[other]
        assert told[-1].peers[key] == {"incarnation": 2, "address": new.address}
    resumed = {
        "poller": "StartPolling",
        "prune_supervisor": "StartPruning",
        "follower_registry": "OpenEndpoint",
    }
    if key in resumed:
        assert len(new.bodies(resumed[key])) == 1


@pytest.mark.parametrize("key", SPECS)
def test_a_child_that_dies_while_it_starts_is_replaced(begin, stage, key):
    rule = stage.kill_receiver("ConfigureChild", to="?", nth=list(SPECS).index(key) + 1)
    tree = begin()
    assert rule.fired == 1
    assert tree.lives(key)[-1] == 2
    tree.register_own()
    assert tree.phase is Phase.SERVING


@pytest.mark.parametrize("key", ["target_provisioner", "follower_registry", "telegram_gateway"])
def test_a_child_that_dies_in_the_middle_of_the_start_is_asked_again(begin, stage, key):
    kind = {
        "target_provisioner": "ReplayCleanups",
        "follower_registry": "ListenForOwn",
        "telegram_gateway": "CallTelegram",
    }[key]
    stage.kill_receiver(kind, to=key)
    tree = begin()
    assert tree.lives(key) == [1, 2]
    tree.register_own()
    assert tree.phase is Phase.SERVING
    asked = [body for body in tree.child(key).bodies(kind) if getattr(body, "method", "getMe") == "getMe"]
    assert len(asked) == 1


def test_a_child_that_never_gets_ready_is_killed_and_replaced(begin, stage):
    tree = begin(inbox={"ConfigureChild": Silent()})
    assert tree.phase is Phase.CHILDREN
    stage.advance(SPECS["inbox"].start_deadline_ms + PATROL_MS)
    assert len(tree.roles["inbox"].peers) == 2
    assert tree.phase is Phase.CHILDREN


def test_a_child_that_cannot_open_its_stores_ends_the_start(begin):
    tree = begin(inbox={"ConfigureChild": Fail("store", "no room")})
    assert tree.phase is Phase.ENDED
    assert "start-failed" in tree.reports


def test_a_child_that_answers_no_pings_is_killed_and_replaced(serving):
    serving.child("inbox").script("Ping", Silent())
    serving.stage.advance(3 * PING_EVERY_MS + PATROL_MS)
    assert serving.lives("inbox") == [1, 2]
    assert serving.lives("poller") == [1]
    assert serving.phase is Phase.SERVING
    assert len(serving.child("poller").bodies("Ping")) >= 3


def test_a_child_whose_end_nobody_told_is_replaced_once_it_is_missed(serving):
    def gone(pid, number):
        raise ProcessLookupError

    serving.part.actor.signal_process = gone
    serving.child("inbox").script("Ping", Silent())
    serving.stage.advance(3 * PING_EVERY_MS + PATROL_MS)
    assert serving.lives("inbox") == [1, 2]
    assert serving.phase is Phase.SERVING


def test_a_child_that_dies_too_often_ends_the_tree(serving):
    for _ in range(SPECS["poller"].max_restarts):
        serving.kill("poller")
        assert serving.phase is Phase.SERVING
    serving.kill("poller")
    assert serving.phase is Phase.ENDED
    assert serving.reports[-1] == "start-failed"


def test_a_lease_taken_by_another_ends_the_tree(serving):
    lease = Lease(serving.database)
    assert lease.campaign(lease.read(), BEN, 2_000_000, "other")
    serving.stage.advance(2_000)
    assert serving.phase is Phase.ENDED
    assert serving.reports[-1] == "deposed"


@pytest.mark.parametrize("offset", [0, 1_000])
def test_a_lost_lease_is_seen_within_a_second_even_if_nothing_can_be_written(serving, offset, monkeypatch):
    """Whether this second's look is one that only looks or one that refreshes as well."""

    @contextlib.contextmanager
    def refused():
        raise StoreBusy("(bus.db)")
        yield

    serving.stage.advance(offset)
    lease = Lease(serving.database)
    assert lease.campaign(lease.read(), BEN, 2_000_000, "other")
    monkeypatch.setattr(serving.part.actor.stores["lease"].database, "transaction", refused)
    serving.stage.advance(1_000)
    assert (serving.phase, serving.reports[-1]) == (Phase.ENDED, "deposed")


def test_the_lease_is_refreshed_every_two_seconds(serving):
    serving.stage.advance(10_000)
    age = serving.stage.clock.boot - Lease(serving.database).read().heartbeat_ms
    assert age <= 2_000


def test_a_description_leaves_out_whoever_does_not_answer(serving):
    for key in SPECS:
        if key != "inbox":
            serving.child(key).script(
                "DescribeActor", Fail("internal", "never mind") if key == "poller" else Silent()
            )
    command_id = serving.stage.director.tell(serving.part, DescribeInstance())
    serving.stage.advance(5_000)
    described = serving.stage.director.answers[command_id].body.description
    assert [actor["name"] for actor in described["actors"]] == ["leader", *SPECS]
    assert not set(described) & set(SPECS)
    assert serving.child("inbox").bodies("DescribeActor") == [DescribeActor()]
