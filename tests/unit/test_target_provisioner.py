"""Giving threads: reuse, probe, create, replace; on real stores, with Telegram played by the test."""

import pytest

from actors.plans.routing import Routed
from messages.actor import CommandFailed
from messages.target_provisioner import TargetProvisioned, TargetRefused
from stores.errors import Deposed
from stores.process_birth import Liveness
from tests.support.stores import ANN, BEN, CHAT, led_bus_database
from tests.support.thread_desk import ID_INVALID, NOT_FOUND, NOT_MODIFIED, ThreadDesk

ANNOUNCEMENT = (
    "api · claude is connected. ~/api on workstation. Write here to give it work. /stop /new /status"
)


@pytest.fixture
def desk(tmp_path):
    """A provisioner of the leading instance."""
    with led_bus_database(tmp_path) as (database, epoch):
        yield ThreadDesk(database, epoch)


def provisioned(thread=10, slot="A", name="api · claude", reused=False):
    """The answer that gives a thread."""
    return TargetProvisioned(
        chat_id=CHAT, thread_id=thread, slot=slot, thread_name=name, reused=reused
    )


# -- a new thread -------------------------------------------------------------------------------


@pytest.mark.case("L36")
def test_a_new_thread_is_written_down_before_each_step_and_announced_after_the_answer(desk):
    command = desk.provision()
    assert desk.pending().status == "in-flight"
    assert desk.params() == {"chat_id": CHAT, "name": "api · claude"}
    desk.created(10)
    assert desk.replies[command] == provisioned()
    assert desk.log == [
        ("write", "begin"),
        ("call", "createForumTopic"),
        ("write", "record_target"),
        ("write", "record_starting"),
        ("write", "record_active"),
        ("write", "finish"),
        ("reply", command),
        ("call", "sendMessage"),
    ]
    assert desk.params()["text"] == ANNOUNCEMENT
    assert desk.params()["message_thread_id"] == 10
    assert "parse_mode" not in desk.params()
    assert desk.pending() is None
    binding = desk.binding()
    assert (binding.status, binding.instance_id, binding.slot) == ("active", "1:1", "A")


@pytest.mark.case("L56")
@pytest.mark.parametrize("fail", ["refuse", "leave_unanswered"])
def test_an_announcement_that_fails_is_an_event_and_nothing_else(desk, fail):
    command = desk.provision()
    desk.created(10)
    getattr(desk, fail)()
    assert desk.replies[command] == provisioned()
    assert desk.binding().status == "active"
    assert desk.event("telegram.follower-topic-announce")


def test_a_creation_is_never_said_again_to_a_replaced_gateway(desk):
    desk.provision()
    assert not desk.calls[0].resend


@pytest.mark.case("L55")
@pytest.mark.parametrize("outcome", ["rejected", "unavailable", "shed", "unauthorized"])
def test_a_creation_that_did_not_happen_is_tried_again_by_the_next_command(desk, outcome):
    first = desk.provision()
    desk.refuse("not enough rights to create a topic", outcome)
    assert desk.replies[first].reason == "telegram"
    assert desk.pending() is None
    second = desk.provision()
    desk.created(10)
    assert desk.replies[second] == provisioned()
    assert desk.methods[:2] == ["createForumTopic"] * 2


LOST = {
    "commit-unknown": lambda desk: desk.refuse("connection lost", "commit-unknown", None),
    "no thread in it": lambda desk: desk.answer({"name": "api"}),
    "gateway replaced": lambda desk: desk.leave_unanswered("peer-replaced"),
    "deadline": lambda desk: desk.leave_unanswered("deadline"),
    "gateway raised": lambda desk: desk.tell(CommandFailed(reason="internal", text="KeyError")),
}


@pytest.mark.case("L54")
@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
def test_an_unclear_creation_is_not_repeated_until_telegram_reports_the_thread(desk, lose):
    first = desk.provision()
    lose(desk)
    assert desk.replies[first].reason == "ambiguous"
    assert desk.pending().status == "ambiguous"
    second = desk.provision()
    assert desk.replies[second].reason == "ambiguous"
    assert desk.methods == ["createForumTopic"]
    desk.see_created(33)
    third = desk.provision()
    assert desk.replies[third] == provisioned(thread=33, reused=True)
    assert desk.methods == ["createForumTopic", "sendMessage"]
    assert desk.pending() is None


@pytest.mark.case("L54")
def test_a_report_that_overtakes_the_lost_answer_settles_it(desk):
    command = desk.provision()
    desk.see_created(33)
    desk.refuse("connection lost", "commit-unknown", None)
    assert desk.replies[command] == provisioned(thread=33)


def test_a_report_is_not_needed_when_the_answer_comes(desk):
    command = desk.provision()
    desk.see_created(33)
    desk.created(33)
    assert desk.replies[command] == provisioned(thread=33)


@pytest.mark.parametrize("name, chat", [("web", CHAT), ("api · claude", CHAT + 1)])
def test_a_report_of_another_thread_settles_nothing(desk, name, chat):
    desk.provision()
    desk.refuse("connection lost", "commit-unknown", None)
    desk.chat_id = chat
    desk.see_created(33, name)
    assert desk.pending().thread_id is None


def test_a_report_of_a_thread_that_somebody_has_settles_nothing(desk):
    desk.connected("manual:b", "2:2", thread=33)
    desk.provision()
    desk.refuse("connection lost", "commit-unknown", None)
    desk.see_created(33)
    assert desk.pending().thread_id is None


def test_a_creation_cut_off_by_a_death_is_unclear(desk):
    desk.provision()
    desk.succeed()
    command = desk.provision()
    assert desk.replies[command].reason == "ambiguous"
    assert desk.pending().status == "ambiguous"
    assert desk.methods == ["createForumTopic"]


def test_a_thread_that_was_noted_before_a_death_is_adopted_and_announced(desk):
    desk.provision()
    desk.stores["pending_provisions"].record_target(desk.pending().id, 10, desk.epoch)
    desk.succeed()
    command = desk.provision(instance="9:9")
    assert desk.replies[command] == provisioned(reused=True)
    assert desk.methods == ["createForumTopic", "sendMessage"]
    assert desk.binding().instance_id == "9:9"


def test_a_binding_that_was_started_before_a_death_is_reused(desk):
    desk.provision()
    row = desk.pending()
    desk.stores["pending_provisions"].record_target(row.id, 10, desk.epoch)
    desk.stores["bindings"].record_starting(
        row.binding_key, CHAT, 10, row.slot, row.thread_name, "1:1", desk.epoch, desk.clock.wall
    )
    desk.succeed()
    command = desk.provision()
    assert desk.replies[command] == provisioned(reused=True)
    assert desk.methods == ["createForumTopic"]
    assert desk.binding().status == "active"
    assert desk.pending() is None


@pytest.mark.case("L53")
def test_a_thread_made_for_a_deposed_leader_is_found_by_the_next(desk):
    desk.provision()
    desk.depose()
    with pytest.raises(Deposed):
        desk.created(10)
    assert desk.binding() is None
    assert (desk.pending().status, desk.pending().thread_id) == ("ambiguous", 10)
    desk.succeed()
    command = desk.provision()
    assert desk.replies[command] == provisioned(reused=True)
    assert desk.methods.count("createForumTopic") == 1


@pytest.mark.parametrize(
    "chat, words", [(CHAT, "Threaded Mode is off"), (-100123, "Topics are off in this group")]
)
def test_a_chat_without_topics_is_refused_with_a_sentence(tmp_path, chat, words):
    with led_bus_database(tmp_path) as (database, epoch):
        desk = ThreadDesk(database, epoch, chat_id=chat)
        command = desk.provision()
        desk.refuse("Bad Request: the chat is not a forum")
    assert desk.replies[command].reason == "topics-off"
    assert words in desk.replies[command].text


def test_a_fenced_creation_did_not_happen(desk):
    command = desk.provision()
    desk.refuse("", "fenced", None)
    assert desk.replies[command].reason == "deposed"
    assert desk.pending() is None


@pytest.mark.case("L59")
@pytest.mark.parametrize("elapsed, told", [(999, False), (1_000, True)])
def test_a_slow_grant_is_an_event(desk, elapsed, told):
    desk.provision()
    desk.clock.move(elapsed)
    desk.created(10)
    slow = [event for event in desk.events if event.action == "bus.follower-register-critical"]
    assert bool(slow) is told


# -- the same thread again ----------------------------------------------------------------------


@pytest.mark.case("L37")
def test_the_same_instance_gets_its_thread_without_a_call(desk):
    desk.connected()
    command = desk.provision()
    assert desk.log == [("write", "record_active"), ("reply", command)]
    assert desk.replies[command].reused
    assert desk.binding().last_action == "follower-register-reuse"


@pytest.mark.case("L190")
def test_the_own_follower_of_the_leader_is_neither_probed_nor_announced(desk):
    desk.connected(instance="1:1")
    command = desk.provision(instance="5:5", own=True)
    assert desk.methods == []
    assert desk.replies[command].thread_id == 10
    assert desk.binding().instance_id == "5:5"


@pytest.mark.case("L38")
def test_another_instance_probes_with_the_announcement_and_says_nothing_after_it(desk):
    desk.connected()
    before = desk.binding()
    command = desk.provision(instance="2:2")
    assert desk.binding() == before
    assert desk.params()["text"].startswith("name of manual:a is connected. ~/api on workstation.")
    desk.sent(10)
    assert desk.methods == ["sendMessage"]
    assert desk.replies[command].reused
    assert desk.binding().instance_id == "2:2"
    assert desk.binding().last_action == "follower-session-handoff"


@pytest.mark.parametrize(
    ("released", "preserved", "waiting", "words"),
    [
        (True, False, 0, "Back after 9 h."),
        (True, False, 2, "Back after 9 h. 2 messages were waiting."),
        (False, True, 1, "Back after 9 h. 1 message was waiting."),
        (False, False, 3, "Back. 3 messages were waiting."),
    ],
)
def test_one_that_was_away_is_probed_with_its_welcome(desk, released, preserved, waiting, words):
    identities = desk.stores["identities"]
    key = identities.claim("base", ANN, lambda *_: Liveness.DEAD, 1).binding_key
    desk.connected(key, ANN.instance_id)
    if released:
        identities.release(key, ANN.instance_id, desk.clock.wall)
    if preserved:
        desk.preserve(key, ANN.instance_id)
    desk.clock.move(9 * 3_600_000)
    identities.claim("base", BEN, lambda *_: Liveness.DEAD, desk.clock.wall)
    ingress = desk.stores["ingress"]
    for number in range(waiting):
        place = Routed(number, "message", "pending", "", chat_id=CHAT, binding_key=key)
        ingress.admit([(place, {"update_id": number})], number, desk.epoch, desk.clock.wall)
    desk.provision(key, BEN.instance_id)
    assert desk.params()["text"] == words
    identities.record_welcome(key, BEN.instance_id)
    desk.refuse()
    desk.provision(key, BEN.instance_id)
    assert desk.params()["text"].startswith(f"name of {key} is connected.")
    desk.ingress.close()


def test_a_thread_kept_without_its_process_is_handed_over(desk):
    desk.connected()
    desk.preserve()
    assert desk.binding().inactive_since_ms is not None
    desk.provision(instance="2:2")
    desk.sent(10)
    assert desk.binding().inactive_since_ms is None
    assert (desk.binding().instance_id, desk.binding().slot) == ("2:2", "A")


@pytest.mark.case("L42", "L47")
@pytest.mark.parametrize("words", [NOT_FOUND, ID_INVALID, "Bad Request: TOPIC_DELETED"])
def test_a_thread_that_is_gone_is_replaced_after_a_second_look(desk, words):
    desk.connected()
    command = desk.provision(instance="2:2")
    desk.refuse(words)
    assert desk.binding().thread_id == 10, "one error proves nothing"
    desk.refuse(ID_INVALID)
    assert desk.binding() is None
    assert desk.stores["bindings"].get("manual:a") is None
    desk.created(11)
    assert desk.methods == ["sendMessage", "editForumTopic", "createForumTopic", "sendMessage"]
    assert desk.replies[command] == provisioned(11, "A", "name of manual:a")
    assert desk.params()["text"] == "The earlier thread was deleted. name of manual:a goes on here."
    assert desk.params()["message_thread_id"] == 11


def test_a_message_that_landed_elsewhere_is_looked_into(desk):
    desk.connected()
    desk.provision(instance="2:2")
    desk.answer({"message_id": 1})
    assert desk.methods == ["sendMessage", "editForumTopic"]
    desk.refuse(ID_INVALID)
    assert desk.methods[-1] == "createForumTopic"


def test_a_closed_thread_is_replaced_although_it_can_be_renamed(desk):
    desk.connected()
    desk.provision(instance="2:2")
    desk.refuse("Bad Request: TOPIC_CLOSED")
    desk.refuse(NOT_MODIFIED)
    assert desk.methods[-1] == "createForumTopic"


def test_an_outage_that_contradicts_itself_loses_no_thread(desk):
    desk.connected()
    before = desk.binding()
    command = desk.provision(instance="2:2")
    desk.refuse(NOT_FOUND)
    desk.refuse(NOT_MODIFIED)
    assert desk.replies[command].reason == "telegram"
    assert desk.binding() == before


UNCLEAR_PROBES = {
    "timeout": lambda desk: desk.refuse("timed out", "unavailable", None),
    "flood": lambda desk: desk.refuse("Too Many Requests: retry after 5", "rejected", 429),
    "server error": lambda desk: desk.refuse("Bad Gateway", "commit-unknown", 502),
    "not found by a proxy": lambda desk: desk.refuse(NOT_FOUND, "rejected", 502),
    "gateway gone": lambda desk: desk.leave_unanswered(),
}


@pytest.mark.case("L43")
@pytest.mark.parametrize("fail", UNCLEAR_PROBES.values(), ids=UNCLEAR_PROBES)
def test_a_probe_that_proves_nothing_changes_nothing(desk, fail):
    desk.connected()
    before = desk.binding()
    command = desk.provision(instance="2:2")
    fail(desk)
    assert isinstance(desk.replies[command], TargetRefused)
    assert desk.replies[command].reason == "telegram"
    assert desk.binding() == before
    assert desk.event("telegram.follower-topic-reuse-probe").fields["instanceId"] == "2:2"


def test_a_message_that_may_have_arrived_is_not_repeated_for_the_same_instance(desk):
    desk.connected()
    desk.provision(instance="2:2")
    desk.refuse("connection lost", "commit-unknown", None)
    desk.provision(instance="2:2")
    assert desk.methods == ["sendMessage", "sendChatAction"]
    assert desk.params() == {"chat_id": CHAT, "message_thread_id": 10, "action": "typing"}
    desk.refuse("no connection", "unavailable", None)
    command = desk.provision(instance="2:2")
    assert desk.methods[2:] == ["sendChatAction"]
    desk.answer(True)
    assert desk.replies[command].reused
    desk.provision(instance="3:3")
    assert desk.methods[3:] == ["sendMessage"], "another process is news"


def test_a_binding_of_another_chat_is_left_alone(desk):
    desk.connected()
    desk.plan = type(desk.plan)(chat_id=CHAT + 1, epoch=desk.epoch)
    desk.provision(instance="2:2")
    assert desk.methods == ["createForumTopic"]
    assert desk.params()["chat_id"] == CHAT + 1
    assert desk.params()["name"] == "name of manual:a"


# -- replacing ----------------------------------------------------------------------------------


def test_a_replacement_makes_sure_first(desk):
    desk.connected()
    command = desk.replace(10)
    assert desk.params() == {
        "chat_id": CHAT, "message_thread_id": 10, "name": "name of manual:a"
    }
    desk.refuse(ID_INVALID)
    desk.created(11)
    assert desk.replies[command] == provisioned(11, "A", "name of manual:a")
    assert desk.methods == ["editForumTopic", "createForumTopic", "sendMessage"]
    assert desk.params()["text"] == "The earlier thread was deleted. name of manual:a goes on here."


@pytest.mark.parametrize("answer", [lambda d: d.answer(True), lambda d: d.refuse(NOT_MODIFIED)])
def test_a_thread_that_is_there_is_not_replaced(desk, answer):
    desk.connected()
    command = desk.replace(10)
    answer(desk)
    assert desk.replies[command] == provisioned(10, "A", "name of manual:a", reused=True)
    assert desk.methods == ["editForumTopic"]


def test_a_thread_that_was_replaced_meanwhile_is_not_replaced_again(desk):
    desk.connected()
    command = desk.replace(9)
    assert desk.replies[command].thread_id == 10
    assert desk.methods == []


def test_a_replacement_for_another_instance_is_superseded(desk):
    desk.connected()
    command = desk.replace(10, instance="7:7")
    assert desk.replies[command].reason == "superseded"
    assert desk.methods == []


def test_a_replacement_whose_creation_failed_goes_on_later(desk):
    desk.connected()
    desk.replace(10)
    desk.refuse(ID_INVALID)
    desk.refuse("no connection", "unavailable", None)
    command = desk.replace(10)
    desk.created(12)
    assert desk.replies[command] == provisioned(12, "A", "name of manual:a")
    assert desk.params()["text"].startswith("The earlier thread was deleted.")


# -- many at once -------------------------------------------------------------------------------


@pytest.mark.case("L52")
@pytest.mark.parametrize("fails", [False, True])
def test_whoever_asks_for_the_same_binding_gets_the_same_result(desk, fails):
    first = desk.provision(instance="1:1")
    second = desk.provision(instance="2:2")
    if fails:
        desk.refuse("Bad Request: not enough rights")
    else:
        desk.created(10)
    assert desk.replies[first] == desk.replies[second]
    assert desk.methods.count("createForumTopic") == 1
    third = desk.provision(instance="2:2")
    if fails:
        desk.created(10)
    assert desk.replies[third].thread_id == 10
    assert desk.binding().instance_id == "2:2"


@pytest.mark.case("L110")
def test_different_bindings_go_on_side_by_side_and_share_no_letter_and_no_name(desk):
    commands = [desk.provision(f"manual:{number}", f"{number}:0") for number in range(3)]
    assert desk.methods == ["createForumTopic"] * 3
    for thread in (10, 11, 12):
        desk.created(thread)
    given = [desk.replies[command] for command in commands]
    assert [one.slot for one in given] == ["A", "B", "C"]
    assert [one.thread_name for one in given] == [
        "api · claude", "api · claude 2", "api · claude 3"
    ]


def test_a_change_waits_for_the_one_before_it(desk):
    desk.connected()
    first = desk.remove()
    second = desk.provision(instance="2:2")
    assert desk.methods == ["deleteForumTopic"]
    desk.answer(True)
    assert [what for kind, what in desk.log if kind in ("reply", "call")] == [
        "deleteForumTopic", first, "createForumTopic"
    ]
    desk.created(11)
    assert desk.replies[second].thread_id == 11


# -- letters ------------------------------------------------------------------------------------


def fill(desk):
    """All 26 letters belong to bindings."""
    for number in range(26):
        desk.connected(f"manual:{number}", f"{number}:0", thread=100 + number)


def test_a_remembered_letter_is_given_if_it_is_free(desk):
    desk.connected("manual:b", "2:2", thread=20)
    command = desk.provision(carried_slot="Q")
    desk.created(10)
    desk.sent(10)
    assert desk.replies[command].slot == "Q"
    other = desk.provision("manual:c", "3:3", carried_slot="Q")
    desk.created(11)
    assert desk.replies[other].slot == "R"


@pytest.mark.case("L156")
def test_without_a_free_letter_nobody_alive_loses_one(desk):
    fill(desk)
    command = desk.provision()
    assert desk.replies[command].reason == "slots-taken"
    assert desk.methods == []


def test_the_letter_of_the_longest_absent_is_taken_and_its_thread_kept(desk):
    fill(desk)
    for number in (7, 3, 9):
        desk.preserve(f"manual:{number}", f"{number}:0")
        desk.clock.move(1_000)
    command = desk.provision()
    desk.created(10)
    assert desk.replies[command].slot == "H"
    loser = desk.binding("manual:7")
    assert (loser.slot, loser.thread_id) == (None, 107)
    back = desk.provision("manual:7", "70:0")
    desk.calls.pop(0)
    desk.sent(107)
    assert desk.replies[back].slot == "D"
    assert desk.replies[back].thread_id == 107


def test_one_that_is_coming_back_keeps_its_letter(desk):
    fill(desk)
    desk.preserve("manual:7", "7:0")
    desk.provision("manual:7", "70:0")
    command = desk.provision()
    assert desk.replies[command].reason == "slots-taken"


def test_one_that_comes_back_without_a_letter_to_be_had_is_refused_before_it_is_announced(desk):
    fill(desk)
    desk.preserve("manual:7", "7:0")
    desk.provision()
    desk.created(10)
    desk.log.clear()
    command = desk.provision("manual:7", "70:0")
    assert desk.replies[command].reason == "slots-taken"
    assert desk.methods == []
