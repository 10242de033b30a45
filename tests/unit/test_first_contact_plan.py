"""What a leader does before it serves a bot for the first time, and what it tells of the bot later."""

import dataclasses

import pytest

from actors.plans.bot_news import GAP_MS, LOOK_CLOSELY_MS, Away, BotNews
from actors.plans.effects import Now, Perform, Send, WakeAfter, Write
from actors.plans.leader import Beginning, LeaderPlan, LeaseLook
from actors.plans.leader_phase import Phase
from actors.plans.supervision import SupervisionPlan
from actors.supervision import TREE
from messages.actor import ChildConfigured
from messages.envelope import Envelope
from messages.follower_registry import (
    EndpointClosed,
    EndpointOpened,
    OwnFollowerRegistered,
    RegistryListening,
)
from messages.leader import ConfigureLeader, OwnerPaired, TopicsDoubted
from messages.poller import PollConflict, PollingContested, PollingProven, PollingStopped
from messages.prune_supervisor import PruningStopped
from messages.target_provisioner import CleanupsReplayed
from messages.telegram_gateway import TelegramAnswered, TelegramRefused

NOW = Now(wall=100 * GAP_MS, boot=2_000)
OWNER = 1001
SETTINGS = {"epoch": 3, "chat_id": OWNER, "owner_id": OWNER, "proof_ms": 700}
BOT = {"username": "work_bot", "has_topics_enabled": True}
PAIRED = OwnerPaired(owner_id=5, owner_name="Ann", chat_id=5, told_in=5)


class Leading:
    """A plan with what it wanted in its last step."""

    def __init__(self, *, led_before=False, told_conflict=False, away=None, **settings):
        self.now = NOW
        self.plan = LeaderPlan(supervision=SupervisionPlan.of(*TREE))
        self.effects = ()
        beginning = Beginning(led_before, 99, told_conflict=told_conflict, away=away)
        first = Envelope(ConfigureLeader(settings={**SETTINGS, **settings}), "m", "leader")
        self.hear("on_configure_leader", first, beginning)
        for spec in TREE:
            self.told(ChildConfigured(key=spec.key, incarnation=1, pid=100))

    def hear(self, handler, *arguments):
        self.plan, self.effects = getattr(self.plan, handler)(*arguments, self.now)
        return self

    def told(self, body, in_reply_to=None):
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in body.KIND)
        return self.hear(f"on{name}", Envelope(body, "m", "leader", in_reply_to=in_reply_to))

    def identified(self, **changes):
        return self.told(TelegramAnswered(result={**BOT, **changes}), "identify/1")

    def serving(self):
        self.told(CleanupsReplayed(pending=0)).told(RegistryListening(endpoint="/s"))
        return self.told(OwnFollowerRegistered()).told(EndpointOpened())

    @property
    def commands(self):
        return [one.body.KIND for one in self.effects if isinstance(one, Send)]

    @property
    def reports(self):
        return [one.operation_id for one in self.effects if isinstance(one, Perform)]

    @property
    def said(self):
        calls = [one.body for one in self.effects if isinstance(one, Send) and one.to == "telegram_gateway"]
        return [call.params["text"] for call in calls if call.method == "sendMessage"]

    @property
    def writes(self):
        return [one.method for one in self.effects if isinstance(one, Write)]

    @property
    def wakeups(self):
        return {one.reason: one.delay_ms for one in self.effects if isinstance(one, WakeAfter)}


# -- the proof -------------------------------------------------------------------------------------


def test_a_bot_never_led_is_proven_free_before_anything_is_touched():
    leading = Leading().identified()
    assert leading.commands == ["ProvePolling"]
    (asked,) = [one for one in leading.effects if isinstance(one, Send)]
    assert asked.body.for_ms == 700
    leading.told(PollingProven())
    assert (leading.commands, leading.reports) == (["ReplayCleanups"], ["proven"])


@pytest.mark.parametrize("known", [{"led_before": True}, {"practice": True}, {"proven": True}])
def test_it_is_not_proven_twice_and_never_of_the_practice_chat(known):
    leading = Leading(**known)
    if not known.get("led_before"):
        leading.identified()
    assert "ReplayCleanups" in leading.commands and "ProvePolling" not in leading.commands


def test_it_yields_to_whoever_reads_the_bot():
    leading = Leading().identified().told(PollingContested(cause="foreign-poller"))
    assert (leading.plan.phase, leading.reports) == (Phase.ENDED, ["foreign-poller"])
    leading = Leading().identified().told(PollingContested(cause="unauthorized", text="no"))
    assert (leading.plan.phase, leading.reports) == (Phase.ENDED, ["token-refused"])


def test_it_waits_for_a_webhook_to_be_removed_and_for_the_network():
    leading = Leading().identified().told(PollingContested(cause="webhook"))
    assert (leading.reports, leading.wakeups) == (["poll-conflict"], {"prove": 5_000})
    assert leading.hear("on_wakeup_prove").commands == ["ProvePolling"]
    leading.told(PollingContested(cause="unreachable"))
    assert (leading.plan.phase, leading.reports) == (Phase.PROVING, ["unreachable"])
    leading.hear("on_wakeup_prove").told(PollingProven())
    assert leading.reports == ["proven", "poll-conflict"] and leading.plan.poller_conflict == ""


# -- pairing ---------------------------------------------------------------------------------------


def test_a_bot_without_an_owner_is_polled_until_it_has_one():
    leading = Leading(pairing=True, owner_id=0, chat_id=0).identified().told(PollingProven())
    assert (leading.plan.phase, leading.commands) == (Phase.PAIRING, ["StartPolling"])
    assert leading.reports == ["proven", "pairing"]
    leading.told(PAIRED)
    assert leading.said == [
        "You are the owner now; this bot obeys nobody else. Every process gets its own thread here. "
        "Start one in a terminal: switchboard"
    ]
    # Told twice, it is said once.
    assert leading.told(PAIRED).effects == ()


@pytest.mark.parametrize(
    "ended", [TelegramAnswered(result={}), TelegramRefused(outcome="rejected", description="blocked")]
)
def test_when_its_owner_was_told_the_tree_ends_and_keeps_the_lease(ended):
    leading = Leading(pairing=True).identified().told(PollingProven()).told(PAIRED)
    assert leading.told(ended, "paired/2000").commands == ["StopPolling"]
    leading.told(PollingStopped()).told(PruningStopped()).told(EndpointClosed())
    assert (leading.plan.phase, leading.reports, leading.writes) == (Phase.ENDED, ["paired"], [])
    # What ends it now needs no lease.
    assert leading.hear("on_stop").reports == ["stopped"]


def test_an_end_in_the_middle_of_that_releases_the_lease():
    leading = Leading(pairing=True).identified().told(PollingProven()).told(PAIRED)
    leading.told(TelegramAnswered(result={}), "paired/2000").hear("on_stop")
    leading.told(PollingStopped()).told(PruningStopped()).told(EndpointClosed())
    assert (leading.reports, leading.writes) == (["stopped"], ["release"])


def test_a_replaced_poller_goes_on_for_the_pairing():
    leading = Leading(pairing=True).identified().told(PollingProven())
    leading.hear("on_child_exited", "poller")
    leading.told(ChildConfigured(key="poller", incarnation=2, pid=101))
    assert leading.commands == ["StartPolling"]


# -- what is told of the bot -----------------------------------------------------------------------


def test_its_threads_are_looked_at_again_and_closely_while_they_are_off():
    leading = Leading(led_before=True)
    assert leading.wakeups["identify"] == 60_000
    assert leading.identified().writes == ["record_bot"]
    assert leading.identified().writes == []
    assert leading.told(TopicsDoubted()).wakeups == {"identify": 1_000}
    leading.hear("on_wakeup_identify").identified(has_topics_enabled=False)
    assert (leading.writes, leading.reports) == (["record_bot"], ["bot"])
    assert leading.wakeups == {"identify": LOOK_CLOSELY_MS}
    assert leading.told(TopicsDoubted()).effects == ()
    assert leading.hear("on_wakeup_identify").wakeups == {"identify": LOOK_CLOSELY_MS}


def test_another_reader_is_named_once_in_the_chat_and_its_end_too():
    leading = Leading(led_before=True).serving().told(PollConflict(cause="foreign-poller"))
    assert leading.said == [
        "Another program reads this bot; messages may go astray. Stop it or give it its own bot."
    ]
    assert leading.told(PollConflict(cause="foreign-poller")).said == []
    assert leading.told(PollConflict(cause="solved")).said == ["Solved. Messages arrive again."]
    assert leading.told(PollConflict(cause="webhook")).said == []
    assert leading.told(PollConflict(cause="solved")).said == []


def test_the_next_leader_neither_repeats_nor_forgets_it():
    leading = Leading(led_before=True, told_conflict=True).serving()
    assert leading.wakeups["calm"] == 4_900
    assert leading.told(PollConflict(cause="foreign-poller")).said == []
    assert leading.hear("on_wakeup_calm").said == []
    calm = Leading(led_before=True, told_conflict=True).serving().hear("on_wakeup_calm")
    assert calm.said == ["Solved. Messages arrive again."]


def test_a_gap_is_told_when_it_is_over():
    leading = Leading(led_before=True, away=Away("Fri 18:02", "Mon 08:55")).serving()
    assert leading.said == [
        "Nothing ran from Fri 18:02 to Mon 08:55. Telegram keeps messages 24 hours; "
        "send older ones again."
    ]
    assert leading.hear("on_wakeup_lease", LeaseLook(True)).said == []
    asleep = leading.hear("on_wakeup_lease", LeaseLook(True, Away("Mon 18:00", "Wed 09:00")))
    assert len(asleep.said) == 1 and "record_led" in asleep.writes
    assert Leading(led_before=True).serving().said == []


def test_that_it_is_served_is_noted_each_minute_and_at_the_end():
    leading = Leading(led_before=True).serving()
    assert leading.writes == ["publish_endpoint", "record_led"]
    assert "record_led" not in leading.hear("on_wakeup_lease", LeaseLook(True)).writes
    leading.now = dataclasses.replace(NOW, boot=NOW.boot + 60_000)
    assert "record_led" in leading.hear("on_wakeup_lease", LeaseLook(True)).writes
    assert leading.hear("on_stop").writes == ["record_led"]


def test_nothing_is_said_in_a_chat_that_is_not_known():
    assert BotNews(epoch=3).conflict("foreign-poller", NOW)[1][1:] == ()
