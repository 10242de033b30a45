"""The stage itself: its clock, its post, each fault, and that it does not let anything pass."""

import threading
import time

import pytest

from actors.plans.effects import Introduce, KillChild, Perform, Reply, Send, StartChild, WakeAfter
from messages.actor import ConfigureChild
from messages.inbox import CursorFetched, FetchCursor
from messages.leader import EpochLost
from messages.target_provisioner import TopicCreatedSeen
from tests.support import handler_watch
from tests.support.peer import Fail, Reply as Answer, Silent
from tests.support.sample_actor import sample_actor, sample_asyncio_actor
from tests.support.stage import Stage


def cursor_of(stage):
    """An actor that answers FetchCursor with a cursor that rises."""
    cursors = iter(range(1, 100))

    def on_fetch_cursor(said, now):
        return [Reply(said.message_id, CursorFetched(cursor=next(cursors)))]

    return stage.start(sample_actor({"on_fetch_cursor": on_fetch_cursor}), "inbox")


def listener(stage):
    """An actor that hears events and knows in which order."""
    handlers = {name: lambda said, now: [] for name in ("on_topic_created_seen", "on_epoch_lost")}
    return stage.start(sample_actor(handlers), "listener")


def topic(number=1):
    return TopicCreatedSeen(chat_id=1, thread_id=number, name="api")


def ending(play):
    """What a stage complains about at the end of a play."""
    with pytest.raises(AssertionError) as complaint:
        with Stage() as stage:
            play(stage)
    return str(complaint.value)


# -- the clock ----------------------------------------------------------------------------------


def test_its_clock_delivers_an_hour_at_once_and_at_its_instant(stage):
    woken = []

    def on_topic_created_seen(said, now):
        return [WakeAfter("late", 3_600_000), WakeAfter("soon", 1_000)]

    part = stage.start(
        sample_actor(
            {
                "on_topic_created_seen": on_topic_created_seen,
                "on_wakeup_soon": lambda now: woken.append(("soon", now)) or [],
                "on_wakeup_late": lambda now: woken.append(("late", now)) or [],
            }
        ),
        "sleeper",
    )
    begun = stage.clock()
    stage.director.tell(part, topic())
    stage.advance(999)
    assert woken == []
    started = time.perf_counter()
    stage.advance(3_600_000)
    # An hour of the stage, and none of ours.
    assert time.perf_counter() - started < 60
    assert [(name, now.boot - begun.boot, now.wall - begun.wall) for name, now in woken] == [
        ("soon", 1_000, 1_000),
        ("late", 3_600_000, 3_600_000),
    ]
    assert stage.clock().boot == begun.boot + 3_600_999


# -- the post -----------------------------------------------------------------------------------


def test_messages_arrive_in_order_and_share_nothing(stage):
    part = listener(stage)
    body = topic()
    stage.director.tell(part, body)
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    assert part.plan.seen == ("on_topic_created_seen", "on_epoch_lost")


def test_a_dropped_message_vanishes(stage):
    part = cursor_of(stage)
    stage.drop("FetchCursor", nth=2)
    assert stage.ask(part, FetchCursor()).body.cursor == 1
    assert stage.ask(part, FetchCursor()) is None
    assert stage.ask(part, FetchCursor()).body.cursor == 2
    assert stage.vanished == ["FetchCursor"]


def test_a_duplicated_message_arrives_twice(stage):
    part = listener(stage)
    stage.duplicate("EpochLost")
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    assert part.plan.seen == ("on_epoch_lost", "on_epoch_lost")


def test_a_delayed_message_arrives_when_the_clock_says_so(stage):
    part = listener(stage)
    stage.delay(500, "EpochLost")
    stage.director.tell(part, EpochLost(where="x"))
    stage.director.tell(part, topic())
    stage.advance(499)
    assert part.plan.seen == ("on_topic_created_seen",)
    stage.advance(1)
    assert part.plan.seen == ("on_topic_created_seen", "on_epoch_lost")


def test_a_reordered_message_is_overtaken_by_the_next(stage):
    part = listener(stage)
    stage.reorder("EpochLost")
    stage.director.tell(part, EpochLost(where="x"))
    stage.director.tell(part, topic())
    stage.run()
    assert part.plan.seen == ("on_topic_created_seen", "on_epoch_lost")


def test_a_reordered_message_that_none_overtakes_arrives_all_the_same(stage):
    part = listener(stage)
    stage.reorder("EpochLost")
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    assert part.plan.seen == ("on_epoch_lost",)


def test_a_killed_receiver_hears_nothing_and_its_parent_hears_of_it(stage):
    part = cursor_of(stage)
    stage.kill_receiver("FetchCursor", to="inbox")
    assert stage.ask(part, FetchCursor()) is None
    assert stage.ask(part, FetchCursor()) is None
    assert stage.director.exits == [part.address]
    assert stage.vanished == ["FetchCursor", "FetchCursor"]


def test_a_killed_sender_sends_nothing_more(stage):
    heard = stage.peer("listener")
    part = stage.start(
        sample_actor(
            {
                "on_topic_created_seen": lambda said, now: [
                    Send("listener", topic(1)),
                    Send("listener", topic(2)),
                    Send("listener", topic(3)),
                ]
            }
        ),
        "speaker",
        peers=(heard,),
    )
    stage.kill_sender("TopicCreatedSeen", to="listener", nth=2)
    stage.director.tell(part, topic())
    stage.run()
    assert [body.thread_id for body in heard.bodies("TopicCreatedSeen")] == [1]
    assert not part.alive and part.plan.seen == ()
    assert stage.director.exits == [part.address]


def test_wakeups_of_a_killed_actor_vanish(stage):
    part = stage.start(
        sample_actor(
            {"on_epoch_lost": lambda said, now: [WakeAfter("x", 10)], "on_wakeup_x": lambda now: []}
        ),
        "sleeper",
    )
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    stage.kill(part)
    stage.advance(10)
    assert stage.vanished == ["WakeupMessage"]


# -- players ------------------------------------------------------------------------------------


def test_a_peer_plays_its_steps_and_repeats_the_last(stage):
    peer = stage.peer(
        "inbox",
        {"FetchCursor": [Silent(), Fail("store", "full"), Answer(CursorFetched(cursor=7))]},
    )
    answers = []
    part = stage.start(
        sample_actor(
            {
                "on_epoch_lost": lambda said, now: [Send("inbox", FetchCursor(), resend=False)],
                "on_command_failed": lambda said, now: answers.append(said.body.reason) or [],
                "on_cursor_fetched": lambda said, now: answers.append(said.body.cursor) or [],
                "on_unanswered": lambda command, now: answers.append(command.reason) or [],
            }
        ),
        "poller",
        peers=(peer,),
    )
    for _ in range(4):
        stage.director.tell(part, EpochLost(where="x"))
        stage.run()
    stage.advance(11_000)
    assert answers == ["store", 7, 7, "deadline"]


def test_children_are_created_by_name_or_cast_and_die_with_their_parent(stage):
    role = stage.cast("actors.inbox.Inbox")
    real = sample_actor({})
    exits = []
    part = stage.start(
        sample_actor(
            {
                "on_epoch_lost": lambda said, now: [
                    StartChild("inbox", 1),
                    Send("inbox", ConfigureChild(key="inbox", incarnation=1, settings={})),
                    StartChild("other", 1),
                    Introduce(("inbox",), ("other",)),
                ],
                "on_child_configured": lambda said, now: [],
                "on_topic_created_seen": lambda said, now: [KillChild("inbox")],
                "on_child_exited": lambda key, now: exits.append(key) or [],
            },
            children={"inbox": "actors.inbox.Inbox", "other": real},
        ),
        "leader",
    )
    stage.director.tell(part, EpochLost(where="x"))
    stage.run()
    assert role.of("inbox").kinds() == ["ConfigureChild", "PeersIntroduced"]
    assert set(role.peer.bodies("PeersIntroduced")[0].peers) == {"leader", "other"}
    stage.director.tell(part, topic())
    stage.run()
    assert exits == ["inbox"]
    other = part.actor._household._children["other"][1]
    stage.kill(part)
    assert not stage.player_at(other).alive


def test_a_loop_script_finishes_operations_as_the_test_says(stage):
    class Io:
        async def open(self):
            pass

        async def close(self):
            pass

        async def perform_double(self, number):
            return 2 * number

    happened = []
    part = stage.start(
        sample_asyncio_actor(
            {
                "on_topic_created_seen": lambda said, now: [
                    Perform("double", f"d{said.body.thread_id}", {"number": said.body.thread_id})
                ],
                "on_performed_double": lambda operation_id, value, now: happened.append(
                    (operation_id, value)
                )
                or [],
                "on_rang": lambda value, now: happened.append(value) or [],
            },
            Io(),
        ),
        "gateway",
    )
    for number in (1, 2, 3):
        stage.director.tell(part, topic(number))
    stage.run()
    assert [one.operation_id for one in part.loop.named("double")] == ["d1", "d2", "d3"]
    part.loop.finish("d2", 20)
    part.loop.run("d1")
    part.loop.emit("rang", "bell")
    stage.run()
    assert happened == [("d2", 20), ("d1", 2), "bell"]
    part.loop.script("double", lambda number: number + 100)
    stage.director.tell(part, topic(4))
    stage.run()
    assert happened[-1] == ("d4", 104)


# -- what it does not let pass ------------------------------------------------------------------


def test_it_complains_of_a_handler_that_raises():
    def raising(said, now):
        raise ZeroDivisionError

    def play(stage):
        part = stage.start(sample_actor({"on_fetch_cursor": raising}), "inbox")
        stage.ask(part, FetchCursor())

    complaint = ending(play)
    assert "unexpected: actor.raised" in complaint and "ZeroDivisionError" in complaint


def test_it_complains_of_an_unknown_kind():
    def play(stage):
        stage.director.tell_plain(listener(stage), {"kind": "Nonsense"})
        stage.run()

    assert "unexpected: actor.invalid" in ending(play)


def test_it_complains_of_an_event_without_a_handler():
    def play(stage):
        stage.director.tell(cursor_of(stage), EpochLost(where="x"))
        stage.run()

    assert "unexpected: actor.unhandled" in ending(play)


def test_it_complains_of_a_dead_letter():
    def play(stage):
        part = listener(stage)
        stage.end(part)
        stage.director.tell(part, topic())
        stage.run()

    assert "unexpected: stage.dead_letter" in ending(play)


@pytest.mark.parametrize("block", [lambda: _spin(60), lambda: threading.Event().wait(0.3)], ids=["works", "rests"])
def test_it_complains_of_a_handler_that_blocks(monkeypatch, block):
    waiting = []

    def play(stage):
        part = stage.start(
            sample_actor({"on_epoch_lost": lambda said, now: waiting.append(block()) or []}),
            "slow",
        )
        stage.director.tell(part, EpochLost(where="x"))
        stage.run()

    assert "unexpected: stage.slow_handler" in ending(play)
    monkeypatch.setenv("STAGE_SLOW_HANDLERS", "warn")
    with Stage() as stage:
        play(stage)


def test_a_handler_that_others_kept_from_the_processor_is_none_that_blocks(monkeypatch):
    queued = iter([1.0, 1.3])
    monkeypatch.setattr(handler_watch, "queued_s", lambda: next(queued))
    watch = handler_watch.HandlerWatch()
    threading.Event().wait(0.3)
    assert not watch.blocked()


def _spin(milliseconds):
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass


def test_it_complains_of_a_rule_that_never_fired():
    assert "never fired" in ending(lambda stage: stage.drop("FetchCursor"))


def test_it_complains_of_an_expectation_that_was_not_met():
    assert "expected 1 × actor.raised" in ending(lambda stage: stage.log.expect("actor.raised"))


def test_it_stops_actors_that_talk_in_circles(stage):
    part = stage.start(
        sample_actor({"on_epoch_lost": lambda said, now: [Send("echo", EpochLost(where="x"))]}), "echo"
    )
    stage.introduce(part, part)
    stage.director.tell(part, EpochLost(where="x"))
    with pytest.raises(AssertionError, match="there is no end"):
        stage.run()
