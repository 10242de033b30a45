"""The Inbox on the stage: a real actor, real rows in both databases."""

import dataclasses

import pytest

from actors.inbox import Inbox
from actors.plans.inbox import ID_SEQUENCE_MS
from messages.follower_registry import FollowersDescribed
from messages.inbox import AdmitUpdates, FetchCursor
from stores.bindings import Bindings
from stores.identities import Identities
from stores.ingress import Ingress
from stores.lease import Owner
from stores.process_birth import ProcessBirth, liveness
from tests.support.peer import Reply
from tests.support.stores import ANN, CHAT, ingress_database, led_bus_database


@dataclasses.dataclass(frozen=True)
class Placed:
    """Where an update belongs."""

    update_id: int
    binding_key: str
    kind: str = "message"
    fate: str = "pending"
    reason: str = ""
    chat_id: int = CHAT
    thread_id: int = 11
    message_id: int = 501
    from_id: int = 5


@pytest.fixture
def databases(tmp_path):
    with led_bus_database(tmp_path) as (bus, epoch), ingress_database(tmp_path) as ingress:
        yield bus, Ingress(ingress), epoch


def begin(stage, databases):
    """An inbox whose registry knows nobody."""
    bus, _, epoch = databases
    peer = stage.peer("follower_registry", {"DescribeFollowers": Reply(FollowersDescribed(followers=[]))})
    settings = {
        "bot_directory": str(bus.path.parent),
        "epoch": epoch,
        "bot_id": 77,
        "token_fingerprint": "f",
        "chat_id": CHAT,
        "owner_id": 5,
        "owner": {"instance_id": ANN.instance_id},
    }
    return stage.start(Inbox, "inbox", settings=settings, peers=(peer,))


def message(update_id):
    return {"update_id": update_id, "message": {"message_id": update_id, "date": 1, "from": {"id": 5}}}


def test_after_a_silent_week_updates_are_taken_whatever_their_ids(stage, databases):
    """Telegram goes on with any number then; else nothing would ever be taken again."""
    inbox = begin(stage, databases)
    for first, cursor in ((900, 900), (3, 3)):
        assert stage.ask(inbox, FetchCursor()).body.cursor is None
        assert stage.ask(inbox, AdmitUpdates(updates=[message(first)])).body.cursor == cursor
        assert stage.ask(inbox, FetchCursor()).body.cursor == cursor
        lower = stage.ask(inbox, AdmitUpdates(updates=[message(first - 1)]))
        assert lower.body.cursor == cursor and databases[1].get(first - 1) is None
        stage.clock.move(ID_SEQUENCE_MS)


def test_what_waits_for_a_thread_that_is_gone_is_asked_about(stage, databases):
    """Whoever leads next may not have heard of its end; one whose process is away just waits."""
    bus, ingress, epoch = databases
    Bindings(bus).record_active("manual:away", CHAT, 12, "B", "web", "9:9", epoch=epoch, now=1)
    batch = [(Placed(n, key), {"update_id": n, "message": {}}) for n, key in enumerate(("gone", "manual:away"), 1)]
    ingress.admit(batch, 2, epoch, 1_000)
    begin(stage, databases)
    stage.run()
    assert [ingress.get(n).state for n in (1, 2)] == ["chooser", "pending"]


def test_what_waits_for_a_process_that_is_about_to_get_another_thread_waits_for_it(stage, databases):
    """Its thread was deleted while it was away: between that being seen and its new thread it has no binding."""
    bus, ingress, epoch = databases
    birth = ProcessBirth.current()
    myself = Owner(birth.pid, birth.boot_id, birth.wire, f"{birth.pid}:1")
    key = Identities(bus).claim("abc", myself, liveness, 1_000).binding_key
    ingress.admit([(Placed(1, key), {"update_id": 1, "message": {}})], 1, epoch, 1_000)
    begin(stage, databases)
    stage.run()
    assert ingress.get(1).state == "pending"
