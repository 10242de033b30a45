"""The inbox of one binding: accepted once, worked off in order, damaged alone."""

import stat

import pytest

from stores.deliveries import Admission, open_inbox
from stores.errors import DeliveryConflict, SchemaTooNew, UnknownRecord

HELLO = {"message_id": 9, "text": "hello", "entities": [{"type": "bold"}]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "inbox-0123456789abcdef.db"


@pytest.fixture
def inbox(path):
    deliveries = open_inbox(path, 1_000).deliveries
    yield deliveries
    deliveries.database.close()


def admit(inbox, name="d1", update_id=1, carrier=HELLO):
    return inbox.admit(name, update_id, "message", carrier, now=1_000)


def only(inbox):
    (record,) = inbox.outstanding()
    return record


def test_a_delivery_is_kept_as_it_came(inbox):
    assert admit(inbox) == Admission(True, 1)
    found = only(inbox)
    assert (found.kind, found.carrier, found.state) == ("message", HELLO, "pending")
    assert (found.attempts, found.due_at, found.progress) == (0, None, {})
    assert inbox.get("d1") == found and inbox.get("d2") is None


def test_the_same_again_changes_nothing_even_after_it_is_done(inbox):
    admit(inbox)
    inbox.edit_pending("d1", "edited", now=1_500)
    inbox.mark_done("d1", now=2_000)
    assert admit(inbox, carrier=dict(reversed(HELLO.items()))) == Admission(False, 1)
    assert inbox.outstanding() == ()


@pytest.mark.parametrize("change", [{"carrier": {"text": "other"}}, {"update_id": 2}])
def test_other_content_under_the_same_id_is_refused(inbox, change):
    admit(inbox)
    with pytest.raises(DeliveryConflict):
        admit(inbox, **change)
    assert only(inbox).carrier == HELLO


def test_the_order_is_that_of_admission_and_stays(inbox):
    for name in ("z", "a", "m"):
        admit(inbox, name)
    inbox.mark_running("z", now=2_000)
    inbox.requeue("z", attempts=1, due_at=5_000, now=3_000)
    assert [record.delivery_id for record in inbox.outstanding()] == ["z", "a", "m"]
    again = inbox.outstanding()[0]
    assert (again.state, again.started_ms) == ("pending", None)
    assert (again.attempts, again.due_at) == (1, 5_000)


@pytest.mark.parametrize(
    ("method", "state"),
    [
        ("mark_cut_off", "cut_off"),
        ("mark_unclear", "unclear"),
        ("mark_dead", "dead"),
    ],
)
def test_what_waits_for_its_owner_is_outstanding(inbox, method, state):
    admit(inbox)
    inbox.mark_running("d1", now=2_000)
    for _ in range(2):
        getattr(inbox, method)("d1", now=3_000)
    assert (only(inbox).state, only(inbox).finished_ms) == (state, 3_000)


def test_what_ran_when_the_process_died_is_found_running(inbox, path):
    admit(inbox)
    inbox.mark_running("d1", now=2_000)
    inbox.record_progress("d1", {"parts": ["a"], "sent": 0}, now=2_100)
    inbox.database.close()
    reopened = open_inbox(path, 3_000)
    assert reopened.evidence is None
    found = only(reopened.deliveries)
    assert (found.state, found.started_ms, found.progress["parts"]) == ("running", 2_000, ["a"])
    reopened.deliveries.database.close()


def test_an_edit_reaches_what_has_not_started(inbox):
    admit(inbox)
    assert inbox.edit_pending("d1", "new", now=2_000)
    assert only(inbox).carrier == {"message_id": 9, "text": "new"}
    inbox.mark_running("d1", now=3_000)
    assert not inbox.edit_pending("d1", "too late", now=4_000)
    assert only(inbox).carrier["text"] == "new"


def test_an_edit_of_a_picture_is_its_caption(inbox):
    admit(inbox, carrier={"photo": [], "caption": "old"})
    inbox.edit_pending("d1", "new", now=2_000)
    assert only(inbox).carrier == {"photo": [], "caption": "new"}


def test_an_unknown_delivery_is_told(inbox):
    with pytest.raises(UnknownRecord):
        inbox.mark_done("d9", now=1)


def test_finished_ones_are_forgotten_but_never_the_newest(inbox):
    for number in range(5):
        admit(inbox, f"d{number}")
    for number in range(4):
        inbox.mark_done(f"d{number}", now=1_000 + number)
    assert inbox.forget_done(9_999, keep_newest=4) == 0
    assert inbox.forget_done(1_001, keep_newest=1) == 1
    assert inbox.forget_done(9_999, keep_newest=1) == 2
    assert (inbox.get("d3").state, only(inbox).delivery_id) == ("done", "d4")


@pytest.mark.parametrize("damage", ["header", "middle", "half"])
def test_a_damaged_inbox_is_put_aside_whole_and_alone(path, damage):
    neighbour = path.with_name("inbox-fedcba9876543210.db")
    for one in (path, neighbour):
        inbox = open_inbox(one, 1_000).deliveries
        for number in range(200):
            admit(inbox, f"d{number}", carrier={"text": "x" * 200})
        inbox.database.close()
    content = bytearray(path.read_bytes())
    match damage:
        case "header":
            content[:100] = b"?" * 100
        case "middle":
            content[4096:20480] = b"?" * 16384
        case "half":
            del content[len(content) // 2:]
    path.write_bytes(content)
    opened = open_inbox(path, 2_000)
    assert opened.evidence == path.with_name(path.name + ".damaged-2000")
    assert opened.evidence.read_bytes() == content
    assert stat.S_IMODE(opened.evidence.stat().st_mode) == 0o600
    assert opened.deliveries.outstanding() == ()
    assert admit(opened.deliveries).is_new
    opened.deliveries.database.close()
    kept = open_inbox(neighbour, 2_000)
    assert kept.evidence is None and len(kept.deliveries.outstanding()) == 200
    kept.deliveries.database.close()


def test_a_newer_inbox_is_no_damage(inbox, path):
    admit(inbox)
    with inbox.transaction() as tx:
        tx.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    inbox.database.close()
    with pytest.raises(SchemaTooNew):
        open_inbox(path, 2_000)
    assert [found.name for found in path.parent.glob("*.damaged-*")] == []
