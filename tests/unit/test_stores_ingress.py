"""The intake journal: what was confirmed is here, once, and only the newest leader writes."""

from dataclasses import dataclass

import pytest

from stores import ingress as ingress_module
from stores.errors import CapacityReached, Deposed, IdentityMismatch, IngressConflict
from stores.ingress import Ingress
from stores.token_fingerprint import token_fingerprint
from stores.updates import AdmitResult, IngressCounts, Intake, Waiting
from tests.support.stores import CHAT, ingress_database


@dataclass(frozen=True)
class Placed:
    update_id: int
    kind: str = "message"
    fate: str = "pending"
    reason: str = ""
    chat_id: int | None = CHAT
    thread_id: int | None = 11
    message_id: int | None = None
    from_id: int | None = 5
    binding_key: str | None = "manual:a"


def update(update_id, text="hello"):
    return {"update_id": update_id, "message": {"message_id": update_id + 500, "text": text}}


def placed(update_id, text="hello", **place):
    place.setdefault("message_id", update_id + 500)
    return Placed(update_id, **place), update(update_id, text)


@pytest.fixture
def ingress(tmp_path):
    with ingress_database(tmp_path) as database:
        yield Ingress(database)


def admit(ingress, *batch, epoch=1, now=1_000):
    return ingress.admit(batch, max(place.update_id for place, _ in batch), epoch, now)


def states(ingress):
    return {key: row.state for key, row in ingress.by_ids(range(1, 100)).items()}


# -- intake --------------------------------------------------------------------------------------


def test_an_empty_journal(ingress):
    assert ingress.intake() == Intake(None, None, None, 0)
    assert (ingress.due(1_000), ingress.waiting(), ingress.get(1)) == ((), (), None)
    assert ingress.counts() == IngressCounts(0, 0, 0, 0)


@pytest.mark.case("F95")
def test_a_batch_and_its_cursor_are_kept(ingress):
    assert admit(ingress, placed(1), placed(2)) == AdmitResult((1, 2), ())
    assert ingress.cursor() == 2
    first = ingress.due(1_000)[0]
    assert (first.update, first.carrier) == (update(1), update(1)["message"])
    assert (first.binding_key, first.attempts, first.received_ms) == ("manual:a", 0, 1_000)


def test_a_thousand_come_back_in_order(ingress):
    admit(ingress, *(placed(number) for number in range(1, 1_001)))
    assert [row.update_id for row in ingress.due(1_000, 2_000)] == list(range(1, 1_001))


@pytest.mark.case("F96")
def test_the_same_again_is_a_duplicate_whatever_the_order_of_its_members(ingress):
    admit(ingress, placed(1))
    place, content = placed(1)
    turned = dict(reversed(content.items()))
    assert admit(ingress, (place, turned), placed(2)) == AdmitResult((2,), (1,))
    assert admit(ingress, placed(3), placed(3)) == AdmitResult((3,), (3,))


@pytest.mark.case("F97")
def test_other_content_under_the_same_id_writes_nothing(ingress):
    admit(ingress, placed(1))
    with pytest.raises(IngressConflict) as raised:
        admit(ingress, placed(1, "other"), placed(2))
    assert raised.value.update_ids == (1,)
    assert ingress.get(1).update == update(1)
    assert (ingress.get(2), ingress.cursor()) == (None, 1)


@pytest.mark.case("F98")
def test_a_full_journal_takes_nothing_and_says_so(ingress, monkeypatch):
    monkeypatch.setattr(ingress_module, "CAPACITY", 2)
    admit(ingress, placed(1))
    with pytest.raises(CapacityReached):
        admit(ingress, placed(2), placed(3))
    assert (states(ingress), ingress.cursor()) == ({1: "pending"}, 1)
    admit(ingress, placed(2))
    assert admit(ingress, placed(2)).duplicates == (2,)
    ingress.settle_done(1, epoch=1)
    admit(ingress, placed(3))


def test_the_bound_is_ten_thousand():
    assert ingress_module.CAPACITY == 10_000


# -- epochs --------------------------------------------------------------------------------------


def test_a_lower_epoch_than_ever_seen_is_refused_everywhere(ingress):
    admit(ingress, placed(1), placed(2, fate="chooser"), epoch=3)
    assert ingress.intake().highest_epoch == 3
    for write in (
        lambda: admit(ingress, placed(9), epoch=2),
        lambda: ingress.bind_identity(7, "x", epoch=2),
        lambda: ingress.assign(2, "manual:b", epoch=2),
        lambda: ingress.settle_done(1, epoch=2),
        lambda: ingress.settle_retry(1, "x", 5, epoch=2),
        lambda: ingress.settle_dead(1, "x", epoch=2),
        lambda: ingress.revive(1, epoch=2),
        lambda: ingress.mark_asked(2, epoch=2, now=1),
        lambda: ingress.mark_noticed("manual:a", epoch=2, now=1),
        lambda: ingress.forget_done(9_999, 0, epoch=2),
    ):
        with pytest.raises(Deposed):
            write()
    assert states(ingress) == {1: "pending", 2: "chooser"}
    assert ingress.settle_done(1, epoch=4)
    with pytest.raises(Deposed):
        ingress.settle_done(2, epoch=3)


# -- whose updates -------------------------------------------------------------------------------


@pytest.mark.case("F104")
def test_a_new_token_of_the_same_bot_is_fine(ingress):
    ingress.bind_identity(7, token_fingerprint("7:old"), epoch=1)
    admit(ingress, placed(1))
    ingress.bind_identity(7, token_fingerprint("7:new"), epoch=1)
    assert ingress.intake() == Intake(1, 7, token_fingerprint("7:new"), 1)


@pytest.mark.case("F103")
def test_another_bot_is_refused_while_updates_wait_and_begins_anew_without(ingress):
    ingress.bind_identity(7, "fingerprint", epoch=1)
    admit(ingress, placed(1))
    with pytest.raises(IdentityMismatch):
        ingress.bind_identity(8, "other", epoch=1)
    assert ingress.intake().bot_id == 7
    ingress.settle_done(1, epoch=1)
    ingress.bind_identity(8, "other", epoch=1)
    assert ingress.intake() == Intake(None, 8, "other", 1)
    assert admit(ingress, placed(1, "of the other bot")).new == (1,)


def test_no_token_is_in_its_fingerprint():
    fingerprint = token_fingerprint("7:secret")
    assert len(fingerprint) == 64 and "secret" not in fingerprint


# -- settling ------------------------------------------------------------------------------------


def test_done_is_done(ingress):
    admit(ingress, placed(1))
    assert ingress.settle_done(1, epoch=1, now=2_000)
    assert not ingress.settle_done(1, epoch=1)
    assert not ingress.settle_retry(1, "x", 5, epoch=1)
    assert not ingress.settle_dead(1, "x", epoch=1)
    assert not ingress.assign(1, "manual:b", epoch=1)
    found = ingress.get(1)
    assert (found.state, found.updated_ms, found.binding_key) == ("done", 2_000, "manual:a")


@pytest.mark.case("F112", "F113")
def test_a_failed_one_waits_and_the_others_pass(ingress):
    admit(ingress, *(placed(number) for number in (5, 6, 7)))
    assert ingress.settle_retry(5, "transport-failed", 3_000, epoch=1, now=2_000)
    assert [row.update_id for row in ingress.due(2_999)] == [6, 7]
    assert [row.update_id for row in ingress.due(3_000)] == [5, 6, 7]
    assert [row.update_id for row in ingress.due(3_000, limit=2)] == [5, 6]
    assert ingress.next_retry_ms() == 3_000
    assert (ingress.get(5).attempts, ingress.get(5).failure_class) == (1, "transport-failed")


def test_a_dead_one_is_shown_until_it_is_tried_again(ingress):
    admit(ingress, placed(1))
    ingress.settle_retry(1, "x", 5, epoch=1)
    assert ingress.settle_dead(1, "x", epoch=1)
    (dead,) = ingress.dead()
    assert (dead.attempts, ingress.due(9_999)) == (2, ())
    assert ingress.revive(1, epoch=1)
    (again,) = ingress.due(0)
    assert (again.attempts, again.failure_class, again.next_retry_ms) == (0, None, None)
    assert not ingress.revive(1, epoch=1)


def test_a_question_is_asked_once_and_its_answer_delivers(ingress):
    admit(ingress, placed(1, fate="chooser", binding_key=None))
    assert [row.update_id for row in ingress.unasked()] == [1]
    assert ingress.due(9_999) == ()
    assert ingress.mark_asked(1, epoch=1, now=2_000)
    assert ingress.unasked() == ()
    assert ingress.assign(1, "manual:b", epoch=1)
    (due,) = ingress.due(0)
    assert due.binding_key == "manual:b"
    assert not ingress.mark_asked(1, epoch=1, now=2_000)


@pytest.mark.case("F77")
def test_what_is_held_is_kept_and_not_due(ingress):
    admit(ingress, *(placed(number, fate="held", reason="before-first-start") for number in (1, 2)))
    assert ingress.due(9_999) == ()
    assert [row.reason for row in ingress.for_binding("manual:a")] == ["before-first-start"] * 2
    assert ingress.counts() == IngressCounts(0, 0, 2, 0)


def test_the_oldest_of_each_binding(ingress):
    admit(
        ingress,
        placed(1, binding_key="manual:b"),
        placed(2),
        placed(3, binding_key="manual:b"),
        placed(4, binding_key="manual:c"),
    )
    ingress.settle_retry(1, "x", 5_000, epoch=1)
    found = ingress.oldest_due(["manual:a", "manual:b", "manual:z"], 1_000)
    assert [row.update_id for row in found] == [2, 3]
    assert [row.update_id for row in ingress.oldest_due(["manual:b"], 5_000)] == [1]


def test_who_is_waited_for_and_told_once_an_absence(ingress):
    admit(ingress, placed(1, thread_id=None), placed(2), placed(3, binding_key="manual:b"))
    admit(ingress, placed(4, fate="chooser", binding_key=None))
    ingress.mark_noticed("manual:a", epoch=1, now=2_000)
    ingress.mark_noticed("manual:a", epoch=1, now=2_001)
    assert ingress.waiting() == (
        Waiting("manual:a", 2, 1_000, CHAT, 11, True),
        Waiting("manual:b", 1, 1_000, CHAT, 11, False),
    )
    ingress.settle_done(1, epoch=1)
    assert [one.noticed for one in ingress.waiting()] == [False, False]


def test_counts(ingress):
    admit(ingress, *(placed(number) for number in range(1, 6)), placed(6, fate="held"))
    ingress.settle_done(1, epoch=1)
    ingress.settle_retry(2, "x", 5, epoch=1)
    ingress.settle_dead(3, "x", epoch=1)
    admit(ingress, placed(7, fate="chooser", binding_key=None))
    assert ingress.counts() == IngressCounts(pending=2, retrying=1, queued=2, dead=1, choosing=1)


# -- memory --------------------------------------------------------------------------------------


def test_whose_an_earlier_message_was(ingress):
    admit(ingress, placed(1), placed(2, binding_key="manual:b"), placed(3, binding_key=None))
    ingress.settle_done(1, epoch=1)
    assert ingress.message_binding(CHAT, 501) == "manual:a"
    assert ingress.message_bindings(CHAT, [501, 502, 503]) == {501: "manual:a", 502: "manual:b"}
    assert ingress.message_binding(CHAT + 1, 501) is None
    admit(ingress, placed(4, kind="callback_query", message_id=501, binding_key="manual:c"))
    assert ingress.message_binding(CHAT, 501) == "manual:a"


def test_settled_ones_are_forgotten_but_never_the_newest(ingress):
    admit(ingress, *(placed(number) for number in range(1, 7)))
    for number in (1, 2, 3, 4):
        ingress.settle_done(number, epoch=1, now=1_000 + number)
    assert ingress.forget_done(1_003, keep_newest=1, epoch=1) == 2
    assert ingress.forget_done(9_999, keep_newest=1, epoch=1) == 1
    assert states(ingress) == {4: "done", 5: "pending", 6: "pending"}


# -- a thread that is no more ----------------------------------------------------------------------


def test_what_waits_for_a_closed_thread_is_dropped(ingress):
    admit(ingress, placed(1), placed(2), placed(3, binding_key="manual:b"), placed(4, fate="held"))
    ingress.settle_retry(2, "transport-failed", 9_000, epoch=1, now=2_000)
    assert ingress.drop_waiting("manual:a", epoch=1, now=3_000) == 2
    assert states(ingress) == {1: "done", 2: "done", 3: "pending", 4: "held"}
    assert not ingress.settle_retry(1, "transport-failed", 9_000, epoch=1), "told too late"
    with pytest.raises(Deposed):
        ingress.drop_waiting("manual:b", epoch=0, now=3_000)


def test_messages_without_a_thread_are_asked_about(ingress):
    admit(ingress, placed(1), placed(2, kind="callback_query"), placed(3, binding_key="manual:b"))
    assert ingress.ask_about_waiting("manual:a", epoch=1, now=3_000) == 2
    assert states(ingress) == {1: "chooser", 2: "done", 3: "pending"}
    (row,) = ingress.unasked()
    assert (row.update_id, row.thread_id, row.reason) == (1, None, "thread-gone")
    assert ingress.waiting()[0].binding_key == "manual:b"


def test_a_question_goes_where_it_can_be_seen(ingress):
    admit(ingress, placed(1, fate="chooser", binding_key=None), placed(2))
    assert ingress.ask_outside(1, epoch=1, now=3_000) and not ingress.ask_outside(2, epoch=1, now=3_000)
    assert (ingress.get(1).thread_id, ingress.get(2).thread_id) == (None, 11)
