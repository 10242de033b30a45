"""What the Leader decides: start order, stop order, and what each death implies.

    Leader                    dies: the launcher ends what is left, a fresh tree follows
    ├─ telegram_gateway       replaced; sends under way become commit-unknown
    ├─ target_provisioner     replaced; its write-ahead rows tell it what was under way
    ├─ follower_registry      replaced; followers see the end of their stream and register again
    ├─ prune_supervisor       replaced; observations begin anew
    ├─ inbox                  replaced; everything it admitted is on disk
    └─ poller                 replaced; it goes on from the stored cursor

Start: children ready → the bot identified (first time only) → pending clean-ups replayed → the registry
listens for the own follower → own thread → endpoint open → pruning and polling. A step that fails ends
the start, and the tree with it. Stop: polling → pruning → endpoint → lease released.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

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
from actors.plans.supervision import PATROL_MS, Escalate, Restart, SupervisionPlan
from messages.actor import ConfigureChild, DescribeActor, Ping
from messages.follower_registry import CloseEndpoint, ListenForOwn, OpenEndpoint
from messages.leader import InstanceDescribed
from messages.poller import StartPolling, StopPolling
from messages.prune_supervisor import StartPruning, StopPruning
from messages.target_provisioner import ReplayCleanups
from messages.telegram_gateway import CallTelegram

LEASE_MS = 1_000
"""The lease is checked at this interval and refreshed at every second look."""
STEP_DEADLINE_MS = 15_000
STOP_STEP_DEADLINE_MS = 700
DESCRIBE_DEADLINE_MS = 800
MENU_AFTER_MS = 2_000
"""The menu of commands can wait until everybody is served."""
OWN_THREAD_MS = 3_000
"""How long the own thread may take before everybody else is served without it."""


class Phase(enum.Enum):
    """How far the instance is in leading."""

    BLANK = "blank"
    CHILDREN = "starting"
    BOT = "identifying"
    CLEANUPS = "replaying"
    LISTENING = "listening"
    OWN_THREAD = "own-thread"
    OPENING = "opening"
    SERVING = "serving"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclasses.dataclass(frozen=True, slots=True)
class Beginning:
    """What is read at the start: whether this home has led the bot before, and our own pid."""

    led_before: bool
    pid: int


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
            Send(key, first, f"configure/{key}/{incarnation}", STEP_DEADLINE_MS, resend=False),
        )

    def on_child_configured(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """A child is ready: tell everyone where everyone lives, and go on."""
        said = envelope.body
        supervision = self.supervision.started(said.key, said.incarnation, said.pid, now.boot)
        plan = dataclasses.replace(self, supervision=supervision)
        everyone = tuple(plan.supervision.children)
        introduced: Effects = (Introduce(to=plan.supervision.running(), keys=everyone),)
        if plan.phase is not Phase.CHILDREN:
            return plan, introduced + plan._resume(said.key)
        if plan.supervision.running() != everyone:
            return plan, ()
        if plan.led_before:
            plan, more = plan._replay()
        else:
            plan = dataclasses.replace(plan, phase=Phase.BOT)
            more = ()
        # Identifying the bot never delays a takeover: only the very first start waits for it.
        call = CallTelegram(method="getMe", params={}, priority="control")
        identify = Send("telegram_gateway", call, "identify", STEP_DEADLINE_MS)
        return plan, (*introduced, identify, *more)

    def on_telegram_answered(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """The bot told who it is."""
        if (envelope.in_reply_to or "").startswith(MENU_CALL):
            return self, ()
        bot = envelope.body.result if isinstance(envelope.body.result, dict) else {}
        username = str(bot.get("username", ""))
        topics = bool(bot.get("has_topics_enabled"))
        facts = {"username": username, "topics": topics}
        known = Write("bus_settings", "record_bot", {**facts, "epoch": self.settings["epoch"]})
        effects: Effects = (known, self._report("bot", facts))
        if self.phase is not Phase.BOT:
            return self, effects
        plan, more = self._replay()
        return plan, effects + more

    def on_telegram_refused(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """The bot did not tell: a refused token ends a first start, a silent network does not."""
        said = envelope.body
        if (envelope.in_reply_to or "").startswith(MENU_CALL):
            fields = {"outcome": said.outcome, "text": said.description}
            return self, (Notify("leader.menu_refused", fields, "WARNING"),)
        if said.outcome == "unauthorized" and self.phase is Phase.BOT:
            return self._end("token-refused", said.description)
        if self.phase is not Phase.BOT:
            return self, ()
        noted = Notify("leader.unidentified", {"outcome": said.outcome}, "WARNING")
        plan, effects = self._replay()
        return plan, (noted, *effects)

    def _replay(self) -> tuple["LeaderPlan", Effects]:
        plan = dataclasses.replace(self, phase=Phase.CLEANUPS)
        return plan, (
            Send("target_provisioner", ReplayCleanups(), "start/cleanups", STEP_DEADLINE_MS),
        )

    def on_cleanups_replayed(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Old intents are settled: the endpoint may exist now, for the own follower."""
        if self.phase is not Phase.CLEANUPS:
            return self, ()
        plan = dataclasses.replace(self, phase=Phase.LISTENING)
        return plan, (plan._listen(),)

    def _listen(self) -> Send:
        incarnation = self.supervision.incarnation("follower_registry")
        return Send(
            "follower_registry", ListenForOwn(), f"listen/{incarnation}", STEP_DEADLINE_MS
        )

    def on_registry_listening(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Tell the own follower where to register; after a replacement, open again at once."""
        plan = dataclasses.replace(self, endpoint=envelope.body.endpoint)
        told = self._report("endpoint", {"path": envelope.body.endpoint})
        if self.phase is Phase.LISTENING:
            patience = WakeAfter("own_thread", OWN_THREAD_MS)
            return dataclasses.replace(plan, phase=Phase.OWN_THREAD), (told, patience)
        if self.phase is Phase.SERVING:
            return plan, (told, plan._open())
        return plan, (told,)

    def on_own_follower_registered(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """The leading instance has its thread: every other follower may come."""
        if self.phase is not Phase.OWN_THREAD:
            return self, ()
        plan = dataclasses.replace(self, phase=Phase.OPENING)
        return plan, (plan._open(),)

    def on_wakeup_own_thread(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Serve without the own thread, which comes when it can.

        What keeps it away is nobody else's trouble, and Telegram's word of a thread that it may have
        made comes by polling.
        """
        if self.phase is not Phase.OWN_THREAD:
            return self, ()
        plan = dataclasses.replace(self, phase=Phase.OPENING)
        return plan, (Notify("leader.own_thread_late", level="WARNING"), plan._open())

    def _open(self) -> Send:
        incarnation = self.supervision.incarnation("follower_registry")
        return Send("follower_registry", OpenEndpoint(), f"open/{incarnation}", STEP_DEADLINE_MS)

    def on_endpoint_opened(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Name the endpoint in the lease, and serve."""
        where = {"epoch": self.settings["epoch"], "path": self.endpoint}
        published = Write("lease", "publish_endpoint", where)
        if self.phase is Phase.SERVING:
            return self, (published,)
        if self.phase is not Phase.OPENING:
            return self, ()
        plan = dataclasses.replace(self, phase=Phase.SERVING)
        led = {"epoch": self.settings["epoch"], "now": now.wall}
        return plan, (
            published,
            Write("bus_settings", "record_led", led),
            Send("poller", StartPolling(), plan._life("poll", "poller"), STEP_DEADLINE_MS),
            Send("prune_supervisor", StartPruning(), plan._life("prune", "prune_supervisor")),
            self._report("serving", {}),
            Notify("leader.serving", {"epoch": self.settings["epoch"]}),
            WakeAfter("menu", MENU_AFTER_MS),
        )

    def on_wakeup_menu(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Set the menus once in each reign, for everybody who follows."""
        if self.phase is not Phase.SERVING:
            return self, ()
        return self, set_menus(self.settings["chat_id"], self.settings["owner_id"])

    def _life(self, purpose: str, key: str) -> str:
        return f"{purpose}/{self.supervision.incarnation(key)}"

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
                return plan._end("start-failed", reason)
        return plan, ()

    def _resume(self, key: str) -> Effects:
        """What a replaced child is to do, by how far the start is."""
        if key == "follower_registry" and self.endpoint:
            return (self._listen(),)
        if self.phase is not Phase.SERVING:
            return ()
        if key == "poller":
            return (Send("poller", StartPolling(), self._life("poll", key), STEP_DEADLINE_MS),)
        if key == "prune_supervisor":
            return (Send(key, StartPruning(), self._life("prune", key)),)
        return ()

    def on_wakeup_patrol(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Look after the children."""
        supervision, effects = self.supervision.patrol(now.boot)
        plan = dataclasses.replace(self, supervision=supervision)
        return plan, (*effects, WakeAfter("patrol", PATROL_MS))

    def on_pong(self, envelope: Any, key: str, now: Now) -> tuple["LeaderPlan", Effects]:
        """A child lives."""
        return dataclasses.replace(self, supervision=self.supervision.pong(key, now.boot)), ()

    # -- the lease ------------------------------------------------------------------------------

    def on_wakeup_lease(self, held: bool, now: Now) -> tuple["LeaderPlan", Effects]:
        """Check the lease, and refresh it every second time; a lost one ends everything here."""
        if self.phase in (Phase.STOPPING, Phase.ENDED):
            return self, ()
        if not held:
            return self._end("deposed", "")
        plan = dataclasses.replace(self, refresh_next=not self.refresh_next)
        again = WakeAfter("lease", LEASE_MS)
        if not self.refresh_next:
            return plan, (again,)
        arguments = {"epoch": self.settings["epoch"], "now_boot_ms": now.boot}
        return plan, (Write("lease", "refresh_or_depose", arguments), again)

    def on_epoch_lost(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """A child was refused; the lease itself decides."""
        return self, (WakeAfter("lease", 1),)

    def on_deposed(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """Our own refresh was refused."""
        return self._end("deposed", "")

    def _end(self, event: str, text: str) -> tuple["LeaderPlan", Effects]:
        plan = dataclasses.replace(self, phase=Phase.ENDED)
        noted = Notify(f"leader.{event.replace('-', '_')}", {"text": text}, "WARNING")
        return plan, (noted, self._report(event, {"text": text}))

    # -- stop -----------------------------------------------------------------------------------

    def on_stop(self, now: Now) -> tuple["LeaderPlan", Effects]:
        """End in order: no new updates, then no more retiring, then nobody connected."""
        if self.phase in (Phase.STOPPING, Phase.ENDED):
            return self, ()
        plan = dataclasses.replace(self, phase=Phase.STOPPING)
        if not self.supervision.is_running("poller"):
            return plan._stop_after("stop/polling")
        return plan, (Send("poller", StopPolling(), "stop/polling", STOP_STEP_DEADLINE_MS),)

    def on_polling_stopped(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Next step of the stop."""
        return self._stop_after("stop/polling")

    def on_pruning_stopped(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Next step of the stop."""
        return self._stop_after("stop/pruning")

    def on_endpoint_closed(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Last step of the stop."""
        return self._stop_after("stop/endpoint")

    def _stop_after(self, step: str) -> tuple["LeaderPlan", Effects]:
        if self.phase is not Phase.STOPPING:
            return self, ()
        following: Mapping[str, tuple[str, Any, str]] = {
            "stop/polling": ("prune_supervisor", StopPruning(), "stop/pruning"),
            "stop/pruning": ("follower_registry", CloseEndpoint(), "stop/endpoint"),
        }
        if step in following:
            peer, body, command_id = following[step]
            return self, (Send(peer, body, command_id, STOP_STEP_DEADLINE_MS),)
        plan = dataclasses.replace(self, phase=Phase.ENDED)
        released = Write("lease", "release", {"epoch": self.settings["epoch"]})
        return plan, (released, self._report("stopped", {}), Notify("leader.stopped"))

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
        if command_id.startswith("stop/"):
            return self._stop_after(command_id)
        if command_id.startswith("describe/"):
            return self._described(command_id, None, now)
        if command_id.startswith(MENU_CALL):
            return self, (Notify("leader.menu_refused", {"text": text}, "WARNING"),)
        if command_id.startswith("configure/"):
            return self._end("start-failed", text)
        if self.phase in (Phase.SERVING, Phase.STOPPING, Phase.ENDED):
            fields = {"step": command_id, "text": text}
            return self, (Notify("leader.step_failed", fields, "ERROR"),)
        if command_id == "identify":
            return self._replay() if self.phase is Phase.BOT else (self, ())
        if command_id.startswith(("start/", "listen/", "open/")):
            return self._end("start-failed", text)
        return self, ()

    # -- what operators are told ----------------------------------------------------------------

    def on_token_refused(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Telegram answers 401 while we lead: nothing ends, everyone is told."""
        plan = dataclasses.replace(self, token="refused")
        text = envelope.body.description
        return plan, (self._report("token-refused", {"text": text}),)

    def on_token_accepted(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """The token works again."""
        return dataclasses.replace(self, token="ok"), ()

    def on_poll_conflict(self, envelope: Any, now: Now) -> tuple["LeaderPlan", Effects]:
        """Somebody else reads this bot, or no longer does."""
        cause = envelope.body.cause
        plan = dataclasses.replace(self, poller_conflict="" if cause == "solved" else cause)
        return plan, (
            Notify("leader.poll_conflict", {"cause": cause}, "WARNING"),
            self._report("poll-conflict", {"cause": cause}),
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

    def _report(self, name: str, body: Mapping[str, Any]) -> Perform:
        return Perform("report", name, {"name": name, "body": dict(body)})
