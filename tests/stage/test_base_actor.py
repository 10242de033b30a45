"""The base of every actor: commands once, answers the same, effects in order, letters to the living."""

import pytest

from actors.base import EVENT_TRIES, LONGEST_WAIT, RETRY_TICK_MS
from actors.correspondence import RESEND_MS, WINDOW
from actors.loop_thread import PerformFailed
from actors.plans.effects import Introduce, Notify, Perform, Reply, Send, StartChild, WakeAfter, Write
from messages.actor import (
    CommandFailed,
    ConfigureChild,
    DescribeActor,
    PeersIntroduced,
    Ping,
    Pong,
)
from messages.inbox import AdmitUpdates, CursorFetched, FetchCursor
from messages.leader import EpochLost
from messages.target_provisioner import TopicCreatedSeen
from stores.errors import Deposed, StoreBusy
from tests.support.peer import Reply as Answer
from tests.support.sample_actor import Shelf, sample_actor, sample_asyncio_actor


def topic(number=1):
    return TopicCreatedSeen(chat_id=1, thread_id=number, name="api")


def raising(*_):
    raise ZeroDivisionError


def asking(**more):
    """A plan that asks the inbox for its cursor at every topic, and keeps what came of it."""
    outcomes = []
    handlers = {
        "on_topic_created_seen": lambda said, now: [Send("inbox", FetchCursor(), **more)],
        "on_cursor_fetched": lambda said, now: outcomes.append(said.body.cursor) or [],
        "on_command_failed": lambda said, now: outcomes.append(said.body.reason) or [],
        "on_unanswered": lambda command, now: outcomes.append(command.reason) or [],
    }
    return handlers, outcomes


# -- commands -----------------------------------------------------------------------------------


def test_a_command_received_twice_is_executed_once_and_answered_twice_the_same(stage):
    cursors = iter((1, 2))
    part = stage.start(
        sample_actor(
            {
                "on_fetch_cursor": lambda said, now: [
                    Reply(said.message_id, CursorFetched(cursor=next(cursors)))
                ]
            }
        ),
        "inbox",
    )
    answer = stage.ask(part, FetchCursor(), message_id="same")
    assert stage.ask(part, FetchCursor(), message_id="same") == answer
    assert stage.director.answer_count["same"] == 2
    assert next(cursors) == 2


def test_a_command_heard_again_while_it_is_worked_on_is_answered_once(stage):
    later = []
    part = stage.start(
        sample_actor(
            {
                "on_fetch_cursor": lambda said, now: later.append(said.message_id) or [],
                "on_epoch_lost": lambda said, now: [Reply(later[0], CursorFetched(cursor=1))],
            }
        ),
        "inbox",
    )
    for _ in range(2):
        assert stage.ask(part, FetchCursor(), message_id="same") is None
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    assert later == ["same"]
    assert stage.director.answer_count["same"] == 1


@pytest.mark.parametrize(("body", "kind"), [(Ping(), "Pong"), (DescribeActor(), "ActorDescribed")])
def test_what_the_base_answers_itself_is_answered_again_too(stage, body, kind):
    part = stage.start(sample_actor({}), "inbox")
    answer = stage.ask(part, body, message_id="same")
    assert answer.kind == kind
    assert stage.ask(part, body, message_id="same") == answer
    assert stage.director.answer_count["same"] == 2


def test_configuration_is_answered_again_and_done_once(stage):
    opened = []
    part = stage.create(
        sample_actor({"on_begun": lambda now: opened.append(now) or []}, at_start="on_begun"),
        stage.director,
    )
    first = ConfigureChild(key="inbox", incarnation=3, settings={})
    for _ in range(2):
        answer = stage.ask(part, first, message_id="configure", key="inbox")
        assert (answer.kind, answer.body.incarnation, answer.body.pid) == ("ChildConfigured", 3, part.pid)
    assert len(opened) == 1


def test_a_failed_configuration_is_told(stage):
    part = stage.create(sample_actor({"on_begun": raising}, at_start="on_begun"), stage.director)
    stage.log.expect("actor.raised")
    answer = stage.ask(part, ConfigureChild(key="inbox", incarnation=1, settings={}), key="inbox")
    assert answer.body == CommandFailed(reason="internal", text="ZeroDivisionError in inbox")


def test_a_raising_handler_is_one_delivery_and_one_failure_message(stage):
    calls = []

    def on_fetch_cursor(said, now):
        calls.append(said)
        raise ZeroDivisionError

    part = stage.start(sample_actor({"on_fetch_cursor": on_fetch_cursor}), "inbox")
    stage.log.expect("actor.raised", actor="inbox")
    command_id = stage.director.tell(part, FetchCursor())
    stage.advance(60_000)
    assert len(calls) == 1
    assert stage.director.answer_count[command_id] == 1
    failed = CommandFailed(reason="internal", text="ZeroDivisionError in inbox")
    assert stage.director.answers[command_id].body == failed
    assert part.plan.seen == ()


@pytest.mark.parametrize(("failure", "reason"), [(Deposed(), "deposed"), (StoreBusy(), "store")])
def test_a_failing_store_is_told_by_its_kind_and_leaves_the_plan_as_it_was(stage, failure, reason):
    shelf = Shelf()
    shelf.failures = [failure]
    leader = stage.peer("leader")
    part = stage.start(
        sample_actor(
            {
                "on_fetch_cursor": lambda said, now: [
                    Write("shelf", "put", {"thing": 1}),
                    Reply(said.message_id, CursorFetched(cursor=1)),
                ]
            },
            stores={"shelf": shelf},
        ),
        "inbox",
        peers=(leader,),
    )
    stage.log.expect("actor.raised", times=int(reason == "store"))
    assert stage.ask(part, FetchCursor()).body.reason == reason
    assert part.plan.seen == () and shelf.kept == []
    lost = [EpochLost(where="inbox")] if reason == "deposed" else []
    assert leader.bodies("EpochLost") == lost
    assert stage.ask(part, FetchCursor()).kind == "CursorFetched"


def test_a_command_without_a_handler_is_refused(stage):
    part = stage.start(sample_actor({}), "inbox")
    stage.log.expect("actor.unhandled")
    assert stage.ask(part, FetchCursor()).body.reason == "invalid"


def test_a_command_before_the_configuration_waits_for_it(stage):
    part = stage.create(
        sample_actor(
            {"on_fetch_cursor": lambda said, now: [Reply(said.message_id, CursorFetched(cursor=1))]}
        ),
        stage.director,
    )
    early = stage.director.tell(part, FetchCursor(), key="inbox:7", incarnation=2)
    stray = stage.director.tell(part, FetchCursor(), key="poller")
    assert stage.ask(part, Ping(), key="sample").kind == "Pong"
    assert early not in stage.director.answers
    stage.log.expect("actor.misdelivered", meant="poller")
    stage.ask(part, ConfigureChild(key="inbox:7", incarnation=2, settings={}), key="inbox:7")
    assert stage.director.answers[early].body == CursorFetched(cursor=1)
    assert stray not in stage.director.answers


def test_no_more_wait_for_the_configuration_than_fit(stage):
    part = stage.create(sample_actor({"on_fetch_cursor": lambda said, now: []}), stage.director)
    asked = [stage.director.tell(part, FetchCursor(), key="sample") for _ in range(LONGEST_WAIT + 1)]
    stage.run()
    answered = [command_id for command_id in asked if command_id in stage.director.answers]
    assert answered == asked[-1:]
    assert stage.director.answers[asked[-1]].body.reason == "not-configured"


def test_a_command_that_does_not_fit_its_schema_is_refused(stage):
    part = stage.start(sample_actor({}), "inbox")
    stage.log.expect("actor.invalid", times=2)
    plain = {
        "kind": "AdmitUpdates",
        "version": 1,
        "message_id": "bad",
        "in_reply_to": None,
        "to": {"key": "inbox", "incarnation": 1},
        "deadline": None,
        "body": {"updates": "none"},
    }
    stage.director.tell_plain(part, plain)
    stage.director.tell_plain(part, {**plain, "kind": ["unhashable"]})
    stage.run()
    assert stage.director.answers["bad"].body.reason == "invalid"


def test_a_command_past_its_deadline_is_not_executed(stage):
    part = stage.start(sample_actor({"on_fetch_cursor": raising}), "inbox")
    stage.delay(1_000, "FetchCursor")
    command_id = stage.director.tell(part, FetchCursor(), deadline_ms=1_000)
    stage.advance(1_000)
    assert command_id not in stage.director.answers
    assert stage.log.of("actor.expired")


def test_a_reply_that_may_not_answer_the_command_is_refused_before_anything_is_written(stage):
    shelf = Shelf()
    part = stage.start(
        sample_actor(
            {
                "on_fetch_cursor": lambda said, now: [
                    Write("shelf", "put", {"thing": 1}),
                    Reply(said.message_id, Pong(pid=1)),
                ]
            },
            stores={"shelf": shelf},
        ),
        "inbox",
    )
    stage.log.expect("actor.raised")
    assert stage.ask(part, FetchCursor()).body.reason == "internal"
    assert shelf.kept == []


# -- whom a message is meant for ----------------------------------------------------------------


@pytest.mark.parametrize(("key", "incarnation"), [("poller", 0), ("inbox", 1), ("inbox", 3)])
def test_a_misdelivered_message_is_ignored(stage, key, incarnation):
    part = stage.start(sample_actor({"on_fetch_cursor": raising}), "inbox", incarnation=2)
    stage.log.expect("actor.misdelivered", meant=key)
    assert stage.ask(part, FetchCursor(), key=key, incarnation=incarnation) is None


# -- wakeups ------------------------------------------------------------------------------------


def test_a_wakeup_of_an_older_generation_is_ignored(stage):
    woken = []
    part = stage.start(
        sample_actor(
            {
                "on_epoch_lost": lambda said, now: [WakeAfter("look", 1_000)],
                "on_wakeup_look": lambda now: woken.append(now.boot) or [],
            }
        ),
        "inbox",
    )
    stage.director.tell(part, EpochLost(where="x"))
    stage.advance(600)
    begun = stage.clock.boot
    stage.director.tell(part, EpochLost(where="x"))
    stage.advance(5_000)
    assert woken == [begun + 1_000]


# -- effects ------------------------------------------------------------------------------------


def test_effects_are_performed_in_their_order_whatever_order_the_plan_gave(stage):
    shelf, performed = Shelf(), []
    peer = stage.peer("poller")
    role = stage.cast("actors.some.Child")

    def on_epoch_lost(said, now):
        return [
            WakeAfter("x", 1),
            Send("poller", EpochLost(where="inbox")),
            StartChild("child", 1),
            Write("shelf", "put", {"thing": "a"}),
            Notify("noted"),
            Write("shelf", "put", {"thing": "b"}),
        ]

    part = stage.start(
        sample_actor(
            {"on_epoch_lost": on_epoch_lost, "on_wakeup_x": lambda now: []},
            stores={"shelf": shelf},
            children={"child": "actors.some.Child"},
        ),
        "inbox",
        peers=(peer,),
    )
    perform_one = part.actor._perform_one

    def recorded(effect):
        performed.append((type(effect).__name__, list(shelf.kept)))
        perform_one(effect)

    part.actor._perform_one = recorded
    stage.director.tell(part, EpochLost(where="x"))
    stage.advance(1)
    assert performed == [
        ("StartChild", ["a", "b"]),
        ("Send", ["a", "b"]),
        ("Notify", ["a", "b"]),
        ("WakeAfter", ["a", "b"]),
    ]
    assert shelf.commits == 1
    assert len(role.peers) == 1


def test_two_stores_of_one_database_share_its_transaction(stage):
    shelf = Shelf()
    part = stage.start(
        sample_actor(
            {
                "on_epoch_lost": lambda said, now: [
                    Write("left", "put", {"thing": 1}),
                    Write("right", "put", {"thing": 2}),
                ]
            },
            stores={"left": shelf, "right": shelf},
        ),
        "inbox",
    )
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    assert (shelf.kept, shelf.commits) == ([1, 2], 1)


def test_killed_between_write_and_send_the_message_is_sent_from_the_store(stage):
    shelf = Shelf()
    peer = stage.peer("poller")
    kind = sample_actor(
        {
            "on_topic_created_seen": lambda said, now: [
                Write("shelf", "put", {"thing": said.body.thread_id}),
                Send("poller", said.body),
            ],
            "on_begun": lambda now: [Send("poller", topic(number)) for number in shelf.kept],
        },
        stores={"shelf": shelf},
        at_start="on_begun",
    )
    part = stage.start(kind, "inbox", peers=(peer,))
    stage.kill_sender("TopicCreatedSeen", to="poller")
    stage.director.tell(part, topic(7))
    stage.run()
    assert not part.alive and shelf.kept == [7]
    assert peer.bodies("TopicCreatedSeen") == []
    stage.start(kind, "inbox", incarnation=2, peers=(peer,))
    assert peer.bodies("TopicCreatedSeen") == [topic(7)]


def test_killed_before_the_write_is_committed_nothing_is_kept(stage):
    shelf = Shelf()

    class Deadly(Shelf):
        def put(self, thing):
            super().put(thing)
            stage.kill(part)

    part = stage.start(
        sample_actor(
            {
                "on_epoch_lost": lambda said, now: [
                    Write("shelf", "put", {"thing": 1}),
                    Write("deadly", "put", {"thing": 2}),
                ]
            },
            stores={"shelf": shelf, "deadly": Deadly()},
        ),
        "inbox",
    )
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    assert shelf.kept == [] and not part.alive


def test_a_half_done_step_fails_the_actor(stage):
    shelf = Shelf()
    part = stage.start(
        sample_actor(
            {
                "on_fetch_cursor": lambda said, now: [
                    Write("shelf", "put", {"thing": 1}),
                    Perform("impossible", "p1", {}),
                ]
            },
            stores={"shelf": shelf},
        ),
        "inbox",
    )
    stage.log.expect("actor.raised")
    stage.log.expect("actor.failed")
    assert stage.ask(part, FetchCursor()).body.reason == "internal"
    assert stage.director.exits == [part.address]
    assert shelf.kept == [1]


# -- events that nobody would repeat ------------------------------------------------------------


def test_an_event_whose_step_raised_is_tried_again(stage):
    shelf = Shelf()
    shelf.failures = [StoreBusy(), StoreBusy()]
    part = stage.start(
        sample_actor(
            {
                "on_wakeup_look": lambda now: [
                    Write("shelf", "put", {"thing": now.boot}),
                    WakeAfter("look", 10_000),
                ],
                "on_begun": lambda now: [WakeAfter("look", 1_000)],
            },
            stores={"shelf": shelf},
            at_start="on_begun",
        ),
        "inbox",
    )
    begun = stage.clock.boot
    stage.log.expect("actor.raised", times=2, what="wakeup look")
    stage.advance(20_000)
    assert [time - begun for time in shelf.kept] == [3_000, 13_000]
    assert part.alive


def test_an_event_that_goes_on_raising_fails_the_actor(stage):
    calls = []

    def on_epoch_lost(said, now):
        calls.append(now.boot)
        raise ZeroDivisionError

    part = stage.start(sample_actor({"on_epoch_lost": on_epoch_lost}), "inbox")
    begun = stage.clock.boot
    stage.log.expect("actor.raised", times=EVENT_TRIES)
    stage.log.expect("actor.failed")
    stage.director.tell(part, EpochLost(where="x"))
    stage.advance(60_000)
    assert [time - begun for time in calls] == [n * RETRY_TICK_MS for n in range(EVENT_TRIES)]
    assert stage.director.exits == [part.address]


# -- letters ------------------------------------------------------------------------------------


def test_a_lost_command_is_sent_again_while_it_is_wanted(stage):
    handlers, outcomes = asking()
    peer = stage.peer("inbox", {"FetchCursor": Answer(CursorFetched(cursor=4))})
    part = stage.start(sample_actor(handlers), "poller", peers=(peer,))
    stage.drop("FetchCursor")
    stage.director.tell(part, topic())
    stage.advance(RESEND_MS - 1)
    assert outcomes == [] and stage.vanished == ["FetchCursor"]
    stage.advance(RETRY_TICK_MS)
    assert outcomes == [4] and len(peer.told) == 1


def test_a_lost_answer_is_sent_again_and_taken_once(stage):
    handlers, outcomes = asking()
    calls = []
    inbox = stage.start(
        sample_actor(
            {
                "on_fetch_cursor": lambda said, now: calls.append(said)
                or [Reply(said.message_id, CursorFetched(cursor=4))]
            }
        ),
        "inbox",
    )
    part = stage.start(sample_actor(handlers), "poller", peers=(inbox,))
    stage.drop("CursorFetched")
    stage.director.tell(part, topic())
    stage.advance(30_000)
    assert outcomes == [4] and len(calls) == 1


def test_unanswered_commands_go_to_the_newest_incarnation(stage):
    handlers, outcomes = asking(message_id="ask")
    peer = stage.peer("inbox")
    part = stage.start(sample_actor(handlers), "poller", peers=(peer,))
    stage.director.tell(part, topic())
    stage.run()
    stage.replace(peer)
    peer.script("FetchCursor", Answer(CursorFetched(cursor=9)))
    stage.introduce(part, peer)
    asked = [envelope for envelope in peer.told if envelope.kind == "FetchCursor"]
    assert [(said.message_id, said.incarnation) for said in asked] == [("ask", 1), ("ask", 2)]
    assert outcomes == [9]


def test_a_command_that_may_not_be_repeated_is_given_up_when_its_peer_was_replaced(stage):
    handlers, outcomes = asking(resend=False)
    peer = stage.peer("inbox")
    part = stage.start(sample_actor(handlers), "poller", peers=(peer,))
    stage.director.tell(part, topic())
    stage.run()
    stage.replace(peer)
    stage.introduce(part, peer)
    stage.advance(60_000)
    assert outcomes == ["peer-replaced"]
    assert peer.kinds().count("FetchCursor") == 1


def test_an_older_introduction_that_comes_late_changes_nothing(stage):
    handlers, outcomes = asking()
    peer = stage.peer("inbox", {"FetchCursor": Answer(CursorFetched(cursor=1))})
    part = stage.start(sample_actor(handlers), "poller", peers=(peer,))
    older = {"inbox": {"incarnation": 1, "address": peer.address}}
    stage.replace(peer)
    stage.introduce(part, peer)
    stage.director.tell(part, PeersIntroduced(peers=older))
    stage.director.tell(part, topic())
    stage.run()
    assert outcomes == [1] and stage.vanished == []


def test_children_are_told_where_a_peer_lives_now_and_not_where_it_lived(stage):
    role = stage.cast("actors.some.Child")
    part = stage.start(
        sample_actor(
            {
                "on_epoch_lost": lambda said, now: [
                    StartChild("child", 1),
                    Send("child", ConfigureChild(key="child", incarnation=1, settings={})),
                    Introduce(("child",), ("poller",)),
                ],
                "on_child_configured": lambda said, now: [],
            },
            children={"child": "actors.some.Child"},
        ),
        "registry",
    )
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    poller, stranger = stage.peer("poller"), stage.peer("stranger")
    older = {"poller": {"incarnation": 1, "address": poller.address}}
    stage.introduce(part, poller)
    stage.replace(poller)
    stage.introduce(part, poller)
    stage.director.tell(part, PeersIntroduced(peers=older))
    stage.introduce(part, stranger)
    told = [body.peers.get("poller") for body in role.peer.bodies("PeersIntroduced")]
    assert [peer and peer["incarnation"] for peer in told] == [None, 1, 2]
    assert told[-1]["address"] == poller.address


def test_at_most_a_window_of_commands_is_under_way_and_pings_pass_it(stage):
    handlers, outcomes = asking()
    handlers["on_epoch_lost"] = lambda said, now: [Send("inbox", Ping(), resend=False)]
    handlers["on_pong"] = lambda said, now: outcomes.append("pong") or []
    peer = stage.peer("inbox")
    part = stage.start(sample_actor(handlers), "poller", peers=(peer,))
    for _ in range(WINDOW + 3):
        stage.director.tell(part, topic())
    stage.run()
    assert len(peer.bodies("FetchCursor")) == WINDOW
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    assert outcomes == ["pong"]
    asked = [envelope for envelope in peer.told if envelope.kind == "FetchCursor"]
    peer.answer(asked[0].message_id, CursorFetched(cursor=1))
    stage.run()
    assert len(peer.bodies("FetchCursor")) == WINDOW + 1
    for envelope in asked[1:]:
        peer.answer(envelope.message_id, CursorFetched(cursor=1))
    stage.run()
    assert len(peer.bodies("FetchCursor")) == WINDOW + 3


@pytest.mark.parametrize("known", [True, False])
def test_an_unanswered_command_is_told_at_its_deadline(stage, known):
    handlers, outcomes = asking(deadline_ms=7_000)
    peers = (stage.peer("inbox"),) if known else ()
    part = stage.start(sample_actor(handlers), "poller", peers=peers)
    stage.director.tell(part, topic())
    stage.advance(6_999)
    assert outcomes == []
    stage.advance(RETRY_TICK_MS)
    assert outcomes == ["deadline"]


def test_giving_up_goes_on_after_a_step_that_raised(stage):
    handlers, outcomes = asking(deadline_ms=2_000)
    failures = iter((True,))

    def on_unanswered(command, now):
        if next(failures, False):
            raise ZeroDivisionError
        outcomes.append(command.reason)
        return []

    handlers["on_unanswered"] = on_unanswered
    part = stage.start(sample_actor(handlers), "poller", peers=(stage.peer("inbox"),))
    stage.log.expect("actor.raised")
    for _ in range(2):
        stage.director.tell(part, topic())
    stage.advance(30_000)
    stage.director.tell(part, topic())
    stage.advance(30_000)
    assert outcomes == ["deadline"] * 3


def test_an_event_for_a_peer_that_is_not_known_in_time_is_forgotten(stage):
    peer = stage.peer("inbox")
    part = stage.start(
        sample_actor(
            {"on_topic_created_seen": lambda said, now: [Send("inbox", said.body, deadline_ms=1_000)]}
        ),
        "poller",
    )
    stage.director.tell(part, topic(1))
    stage.advance(900)
    stage.director.tell(part, topic(2))
    stage.advance(100)
    stage.introduce(part, peer)
    assert peer.bodies("TopicCreatedSeen") == [topic(2)]


def test_what_the_effects_of_a_step_end_is_told_after_that_step(stage):
    role = stage.cast("actors.some.Child")
    part = stage.start(
        sample_actor(
            {
                "on_epoch_lost": lambda said, now: [
                    StartChild("child", 1),
                    Send("child", ConfigureChild(key="child", incarnation=1, settings={})),
                    Send("child", FetchCursor(), resend=False),
                ],
                "on_child_configured": lambda said, now: [],
                "on_child_exited": lambda key, now: [StartChild("child", 2)],
                "on_unanswered": lambda command, now: [],
            },
            children={"child": "actors.some.Child"},
        ),
        "registry",
    )
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    stage.kill(role.peer)
    stage.run()
    assert part.plan.seen == (
        "on_epoch_lost",
        "on_child_configured",
        "on_child_exited",
        "on_unanswered",
    )


# -- the loop -----------------------------------------------------------------------------------


def test_a_loop_that_does_not_open_fails_its_actor(stage):
    part = stage.start(sample_asyncio_actor({}, None), "gateway")
    stage.log.expect("actor.failed", what="no socket")
    part.loop.fail_open("no socket")
    stage.run()
    assert stage.director.exits == [part.address]


def test_an_operation_that_raised_is_told_to_the_plan(stage):
    values = []
    part = stage.start(
        sample_asyncio_actor(
            {
                "on_epoch_lost": lambda said, now: [Perform("call", "c1", {})],
                "on_performed_call": lambda operation_id, value, now: values.append(value) or [],
            },
            None,
        ),
        "gateway",
    )
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    part.loop.fail("c1", "RuntimeError in call")
    stage.run()
    assert values == [PerformFailed(text="RuntimeError in call")]


def test_a_value_without_a_handler_is_told_to_the_log_and_none_needs_none(stage):
    part = stage.start(sample_asyncio_actor({}, None), "gateway")
    stage.log.expect("actor.unhandled", kind="rang")
    part.loop.emit("hushed", None)
    part.loop.emit("rang", "bell")
    stage.run()


# -- large batches ------------------------------------------------------------------------------


def test_a_batch_of_updates_fits_into_one_message(stage):
    seen = []
    part = stage.start(
        sample_actor({"on_admit_updates": lambda said, now: seen.append(len(said.body.updates)) or []}),
        "inbox",
    )
    updates = [{"update_id": n, "message": {"text": "x" * 4_096}} for n in range(100)]
    stage.director.tell(part, AdmitUpdates(updates=updates))
    stage.run()
    assert seen == [100]
