"""What the Leader decides: start order, stop order, and what each death implies.

    Leader                    dies: the launcher ends what is left, a fresh tree follows
    ├─ telegram_gateway       replaced; sends under way become commit-unknown
    ├─ target_provisioner     replaced; its write-ahead rows tell it what was under way
    ├─ follower_registry      replaced; followers see the end of their stream and register again
    ├─ prune_supervisor       replaced; observations begin anew
    ├─ inbox                  replaced; everything it admitted is on disk
    └─ poller                 replaced; it goes on from the stored cursor

Start: children ready → first contact (`first_contact`) → pending clean-ups replayed → the registry
listens for the own follower → own thread → endpoint open → pruning and polling. A step that fails ends
the start, and the tree with it. Stop: polling → pruning → endpoint → lease released, unless the next tree
of this instance is to have it.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans import first_contact, into_service, stopping
from actors.plans.bot_news import IDENTIFY_CALL, NEWS_CALL, Away, BotNews, report
from actors.plans.command_list import MENU_CALL, set_menus
from actors.plans.effects import (
    Effects,
    Introduce,
    Notify,
    Now,
    Perform,
    Reply,
    Send,
    StartChild,
    WakeAfter,
    Write,
)
from actors.plans.gathering import Gathering
from actors.plans.leader_phase import Phase
from actors.plans.supervision import PATROL_MS, Escalate, Restart, SupervisionPlan
from messages.actor import CommandFailed, ConfigureChild, DescribeActor, Ping
from messages.leader import InstanceDescribed, LeaseYielding, OwnerPaired

LEASE_MS = 1_000
"""The lease is checked at this interval and refreshed at every second look."""
CONFIGURE_DEADLINE_MS = 15_000
DESCRIBE_DEADLINE_MS = 800


@dataclasses.dataclass(frozen=True, slots=True)
class Beginning:
    """What is read at the start: what this home knows of the bot, and our own pid."""

    led_before: bool
    pid: int
    told_conflict: bool = False
    away: Away | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseLook:
    """What is read now and then: whether the lease is ours, and whether this machine was asleep."""

    held: bool
    away: Away | None = None


@dataclasses.dataclass(frozen=True)
class LeaderPlan:
    """State of leading: the children, the phase, and who waits for a description."""

    supervision: SupervisionPlan
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    phase: Phase = Phase.BLANK
    led_before: bool = False
    pid: int = 0
    began_at: int = 0
    refresh_next: bool = False
    endpoint: str = ""
    token: str = "ok"
    poller_conflict: str = ""
    news: BotNews = BotNews()
    away: Away | None = None
    paired: OwnerPaired | None = None
    gathering: Gathering = Gathering()

    # -- start ----------------------------------------------------------------------------------

    def on_configure_leader(
        self, envelope: Any, beginning: Beginning, now: Now
    ) -> tuple["LeaderPlan", Effects]:
        """Start all children at once; the order of work follows when they are ready."""
        plan = dataclasses.replace(
            self,
            settings=envelope.body.settings,
            phase=Phase.CHILDREN,
            led_before=beginning.led_before,
            pid=beginning.pid,
            began_at=now.boot,
            away=beginning.away,
            news=BotNews(
                epoch=envelope.body.settings["epoch"],
                chat_id=envelope.body.settings.get("chat_id", 0),
                told_conflict=beginning.told_conflict,
            ),
        )
        started = {"epoch": plan.settings["epoch"], "now": now.wall}
        effects: list[Any] = [
            Write("bus_settings", "record_first_start", started),
            WakeAfter("patrol", PATROL_MS),
            WakeAfter("lease", LEASE_MS),
        ]
        for key in self.supervision.children:
            supervision, incarnation = plan.supervision.start(key, now.boot)
            plan = dataclasses.replace(plan, supervision=supervision)
            effects += plan._birth(key, incarnation)
        return plan, tuple(effects)

    def _birth(self, key: str, incarnation: int) -> Effects:
        first = ConfigureChild(key=key, incarnation=incarnation, settings=dict(self.settings))
        return (
            StartChild(key, incarnation),
            Send(key, first, f"configure/{key}/{incarnation}", CONFIGURE_DEADLINE_MS, False),
        )

    def on_child_configured(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """A child is ready: tell everyone where everyone lives, and go on."""
        said = envelope.body
        supervision = self.supervision.started(said.key, said.incarnation, said.pid, now.boot)
        plan = dataclasses.replace(self, supervision=supervision)
        everyone = tuple(plan.supervision.children)
        introduced: Effects = (Introduce(to=plan.supervision.running(), keys=everyone),)
        if plan.phase is not Phase.CHILDREN:
            return plan, introduced + into_service.resume(plan, said.key)
        if plan.supervision.running() != everyone:
            return plan, ()
        if plan.led_before:
            plan, more = first_contact.begin(plan, now)
        else:
            plan, more = plan.at(Phase.BOT), ()
        # Identifying the bot never delays a takeover: only the very first start waits for it.
        return plan, (*introduced, *plan.news.ask(now), *more)

    phases = Phase

    def at(self, phase: Phase) -> "LeaderPlan":
        """The same, that far."""
        return dataclasses.replace(self, phase=phase)

    # -- first contact --------------------------------------------------------------------------

    def on_telegram_answered(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """The bot told who it is, or said what it was to say."""
        call_id = envelope.in_reply_to or ""
        if call_id.startswith(first_contact.PAIRED_CALL):
            return stopping.begin(self, now)
        if call_id.startswith((MENU_CALL, NEWS_CALL)):
            return self, ()
        bot = envelope.body.result if isinstance(envelope.body.result, dict) else {}
        news, effects = self.news.identified(bot)
        plan = dataclasses.replace(self, news=news)
        if self.phase is not Phase.BOT:
            return plan, effects
        plan, more = first_contact.begin(plan, now)
        return plan, effects + more

    def on_telegram_refused(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """A refused token ends a first start, a silent network does not."""
        said, call_id = envelope.body, envelope.in_reply_to or ""
        if call_id.startswith(first_contact.PAIRED_CALL):
            return stopping.begin(self, now)
        if call_id.startswith((MENU_CALL, NEWS_CALL)):
            fields = {"call": call_id, "outcome": said.outcome, "text": said.description}
            return self, (Notify("leader.call_refused", fields, "WARNING"),)
        if said.outcome == "unauthorized" and self.phase is Phase.BOT:
            return self.end("token-refused", said.description)
        return self._unidentified(said.outcome, now)

    def _unidentified(self, why: str, now: Now) -> tuple["LeaderPlan", Effects]:
        if self.phase is not Phase.BOT:
            return self, ()
        noted = Notify("leader.unidentified", {"outcome": why}, "WARNING")
        plan, effects = first_contact.begin(self, now)
        return plan, (noted, *effects)

    def on_wakeup_identify(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Ask the bot again: its owner may have switched its threads on or off."""
        if self.phase in (Phase.STOPPING, Phase.ENDED):
            return self, ()
        return self, self.news.ask(now)

    def on_topics_doubted(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Telegram says that there are no threads."""
        return self, self.news.doubt()

    def on_polling_proven(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Nobody else reads this bot."""
        return first_contact.proven(self) if self.phase is Phase.PROVING else (self, ())

    def on_polling_contested(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Somebody does, or it cannot be found out."""
        if self.phase is not Phase.PROVING:
            return self, ()
        return first_contact.contested(self, envelope.body)

    def on_wakeup_prove(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Try again to find out."""
        return first_contact.prove(self, now) if self.phase is Phase.PROVING else (self, ())

    def on_owner_paired(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Somebody sent the code; the tree of that owner follows this one."""
        if self.paired is not None or self.phase in (Phase.STOPPING, Phase.ENDED):
            return self, ()
        return first_contact.tell_owner(self, envelope.body, now)

    # -- own thread and endpoint ----------------------------------------------------------------

    def replay(self) -> tuple["LeaderPlan", Effects]:
        """First contact is made: go on into service."""
        return into_service.begin(self)

    def on_cleanups_replayed(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Old intents are settled."""
        return into_service.replayed(self)

    def on_registry_listening(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """The own follower can register."""
        return into_service.listening(self, envelope.body.endpoint)

    def on_own_follower_registered(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """The leading instance has its thread."""
        return into_service.own_registered(self)

    def on_wakeup_own_thread(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Or it has not, after some seconds."""
        return into_service.own_late(self)

    def on_endpoint_opened(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Every follower can register."""
        return into_service.opened(self, now)

    def on_wakeup_calm(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """No conflict since this leader serves."""
        if self.poller_conflict or self.phase is not Phase.SERVING:
            return self, ()
        news, effects = self.news.conflict("solved", now)
        return dataclasses.replace(self, news=news), effects

    def on_wakeup_menu(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Set the menus once in each reign, for everybody who follows."""
        if self.phase is not Phase.SERVING:
            return self, ()
        return self, set_menus(self.settings["chat_id"], self.settings["owner_id"])

    def on_polling_started(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Nothing waits for this."""
        return self, ()

    def on_pruning_started(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Nothing waits for this."""
        return self, ()

    # -- deaths ---------------------------------------------------------------------------------

    def on_child_exited(self, key: str, now: Now) -> tuple["LeaderPlan", Effects]:
        """Replace a child that ended unasked; too often means that this tree is no good."""
        supervision, verdict = self.supervision.exited(key, now.boot)
        plan = dataclasses.replace(self, supervision=supervision)
        if self.phase in (Phase.STOPPING, Phase.ENDED):
            return plan, ()
        match verdict:
            case Restart(incarnation=incarnation):
                noted = Notify("leader.child_replaced", {"child": key}, "WARNING")
                return plan, (noted, *plan._birth(key, incarnation))
            case Escalate(reason=reason):
                return plan.end("start-failed", reason)
        return plan, ()

    def on_wakeup_patrol(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Look after the children."""
        supervision, effects = self.supervision.patrol(now.boot)
        plan = dataclasses.replace(self, supervision=supervision)
        return plan, (*effects, WakeAfter("patrol", PATROL_MS))

    def on_pong(self, envelope: Any, key: str, now: Now) -> tuple["LeaderPlan", Effects]:
        """A child lives."""
        return dataclasses.replace(self, supervision=self.supervision.pong(key, now.boot)), ()

    # -- the lease ------------------------------------------------------------------------------

    def on_wakeup_lease(self, look: LeaseLook, now: Now) -> tuple["LeaderPlan", Effects]:
        """Check the lease, and refresh it every second time; a lost one ends everything here."""
        if self.phase in (Phase.STOPPING, Phase.ENDED):
            return self, ()
        if not look.held:
            return self.end("deposed", "")
        plan = dataclasses.replace(self, refresh_next=not self.refresh_next)
        effects: Effects = (WakeAfter("lease", LEASE_MS),)
        if self.refresh_next:
            arguments = {"epoch": self.settings["epoch"], "now_boot_ms": now.boot}
            effects = (Write("lease", "refresh_or_depose", arguments), *effects)
        if self.phase is Phase.SERVING:
            news, more = plan.news.served(look.away, now)
            plan, effects = dataclasses.replace(plan, news=news), effects + more
        return plan, effects

    def on_epoch_lost(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """A child was refused; the lease itself decides."""
        return self, (WakeAfter("lease", 1),)

    def on_deposed(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Our own refresh was refused."""
        return self.end("deposed", "")

    def end(self, event: str, text: str) -> tuple["LeaderPlan", Effects]:
        plan = dataclasses.replace(self, phase=Phase.ENDED)
        noted = Notify(f"leader.{event.replace('-', '_')}", {"text": text}, "WARNING")
        return plan, (noted, self.report(event, {"text": text}))

    # -- stop -----------------------------------------------------------------------------------

    def on_stop(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """End in order: no new updates, then no more retiring, then nobody connected."""
        return stopping.asked(self, now)

    def on_polling_stopped(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Next step of the stop."""
        return stopping.after(self, stopping.POLLING)

    def on_pruning_stopped(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Next step of the stop."""
        return stopping.after(self, stopping.PRUNING)

    def on_endpoint_closed(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Last step of the stop."""
        return stopping.after(self, stopping.ENDPOINT)

    # -- failures of commands -------------------------------------------------------------------

    def on_unanswered(self, unanswered: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """A step that got no answer: a stop goes on without it, a start fails."""
        if unanswered.reason == "peer-replaced" and unanswered.command_id.startswith("configure/"):
            # It died before it was ready; its replacement is being configured, up to its limit.
            return self, ()
        if isinstance(unanswered.body, Ping):
            # The patrol counts pings; it kills who leaves too many unanswered.
            return self, ()
        return self._step_failed(unanswered.command_id, unanswered.reason, now)

    def on_command_failed(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """A step that failed."""
        return self._step_failed(envelope.in_reply_to or "", envelope.body.text, now)

    def _step_failed(
        self, command_id: str, text: str, now: Now
    ) -> tuple["LeaderPlan", Effects]:
        if command_id in stopping.STEPS:
            return stopping.after(self, command_id)
        if command_id.startswith("describe/"):
            return self._described(command_id, None, now)
        if command_id.startswith(first_contact.PAIRED_CALL):
            return stopping.begin(self, now)
        if command_id.startswith((MENU_CALL, NEWS_CALL)):
            fields = {"call": command_id, "text": text}
            return self, (Notify("leader.call_refused", fields, "WARNING"),)
        if command_id.startswith("configure/"):
            return self.end("start-failed", text)
        if self.phase in (Phase.PAIRING, Phase.SERVING, Phase.STOPPING, Phase.ENDED):
            fields = {"step": command_id, "text": text}
            return self, (Notify("leader.step_failed", fields, "ERROR"),)
        if command_id.startswith(IDENTIFY_CALL):
            return self._unidentified(text, now)
        if command_id.startswith(first_contact.PROVE_CALL) and self.phase is Phase.PROVING:
            return self, (WakeAfter("prove", first_contact.PROVE_AGAIN_MS),)
        if command_id.startswith(into_service.STEPS):
            return self.end("start-failed", text)
        return self, ()

    def on_yield_lease(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """An operator wants another process to lead: the instance ends this reign in order."""
        if self.phase is not Phase.SERVING:
            busy = CommandFailed(reason="internal", text="This process is not serving yet.")
            return self, (Reply(envelope.message_id, busy),)
        yielding = Reply(envelope.message_id, LeaseYielding())
        return self, (yielding, report("yield", {}), Notify("leader.yields"))

    # -- what operators are told ----------------------------------------------------------------

    def on_token_refused(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Telegram answers 401 while we lead: nothing ends, everyone is told."""
        plan = dataclasses.replace(self, token="refused")
        text = envelope.body.description
        return plan, (self.report("token-refused", {"text": text}),)

    def on_token_accepted(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """The token works again."""
        return dataclasses.replace(self, token="ok"), (self.report("token-accepted", {}),)

    def on_poll_conflict(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Somebody else reads this bot, or no longer does."""
        cause = envelope.body.cause
        news, effects = self.news.conflict(cause, now)
        plan = dataclasses.replace(
            self, news=news, poller_conflict="" if cause == "solved" else cause
        )
        return plan, (
            *effects,
            Notify("leader.poll_conflict", {"cause": cause}, "WARNING"),
            self.report("poll-conflict", {"cause": cause}),
        )

    def on_describe_instance(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Ask every child about itself; those that do not answer in time are left out."""
        keys = self.supervision.running()
        gathering, number = self.gathering.ask(envelope.message_id, keys)
        plan = dataclasses.replace(self, gathering=gathering)
        return plan, tuple(
            Send(key, DescribeActor(), f"describe/{number}/{key}", DESCRIBE_DEADLINE_MS, False)
            for key in keys
        )

    def on_actor_described(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """One child told of itself."""
        return self._described(envelope.in_reply_to or "", envelope.body.state, now)

    def _described(
        self, command_id: str, state: Any, now: Now
    ) -> tuple["LeaderPlan", Effects]:
        _, number, key = command_id.split("/", 2)
        gathering, complete = self.gathering.heard(number, key, state)
        plan = dataclasses.replace(self, gathering=gathering)
        if complete is None:
            return plan, ()
        description = {
            "state": self.phase.value,
            "epoch": self.settings.get("epoch"),
            "token": self.token,
            "poller_conflict": self.poller_conflict,
            "actors": [self._self(now), *self.supervision.describe(now.boot)],
            **complete.said,
        }
        return plan, (Reply(complete.caller, InstanceDescribed(description=description)),)

    def _self(self, now: Now) -> dict[str, Any]:
        age = now.boot - self.began_at
        return {"name": "leader", "pid": self.pid, "restarts": 0, "uptime_ms": age, "status": "running"}

    def report(self, name: str, body: Mapping[str, Any]) -> Perform:
        """A word to main."""
        return report(name, body)
