"""The base of every actor: loads what arrives, asks the plan, has performed what the plan wants.

Effects are performed by its own base (`actors.effect_actor`), the only place that does. The plan is replaced
only after all effects of its step were performed.

No handler raises out: Thespian would deliver the message again to the state that the failed try left.
A command whose step raises is answered with `CommandFailed`. Any other event is tried again, because
nobody would repeat it; one that goes on raising, or a step of which some effects were performed and the
next could not be, fails the actor: it exits, and its supervisor starts it anew from its stores.

A subclass gives `first_plan` and `open_stores`. Its plan answers to
`on_<kind>(envelope, now)` or, where the actor defines `read_<kind>(body)` to fetch rows first,
`on_<kind>(envelope, facts, now)`; likewise to `on_wakeup_<reason>([facts,] now)`; to
`on_child_exited(key, now)` and `on_unanswered(unanswered, now)`. Each returns the next plan and its effects.
"""

import functools
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from thespian.actors import (
    ActorExitRequest,
    ChildActorExited,
    PoisonMessage,
    ThespianWatch,
    WakeupMessage,
    WatchMessage,
)

from actors import event_log
from actors.clock import system_now
from actors.correspondence import Unanswered
from actors.effect_actor import CORRESPONDENCE, NEVER, EffectActor, HalfDone
from actors.event_log import log_event
from actors.household import Peer
from actors.orphans import name_process
from actors.plans.effects import Now, Send
from messages import ANSWERS
from messages.actor import (
    ActorDescribed,
    ChildConfigured,
    CommandFailed,
    ConfigureChild,
    DescribeActor,
    PeersIntroduced,
    Ping,
    Pong,
)
from messages.envelope import ANY_INCARNATION, Envelope, load_envelope
from messages.kind import MessageInvalid
from messages.leader import EpochLost
from stores.errors import Deposed, StoreError

RETRY_TICK_MS = 1_000
"""How often unanswered commands are looked at, while there are any, and failed events tried again."""
EVENT_TRIES = 4
"""So often an event is handed to a step that raises, before the actor fails."""

LONGEST_WAIT = 64
"""Messages that wait for the configuration; more are refused."""

_FAILED_EVENTS = "_failed_events"


def snake(kind: str) -> str:
    """`AdmitUpdates` -> `admit_updates`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()


class Guard:
    """Nothing raises out of what is done inside; the actor is told what would have."""

    __slots__ = ("_actor", "_what")

    def __init__(self, actor: "PlanActor", what: str) -> None:
        self._actor, self._what = actor, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, failure: BaseException | None, trace: object) -> bool:
        if not isinstance(failure, Exception):
            return False
        self._actor.raised(self._what, failure)
        return True


class PlanActor(EffectActor):
    """An actor whose decisions are a plan."""

    # The edges that a stage replaces.
    clock: Callable[[], Now] = staticmethod(system_now)
    own_pid: Callable[[], int] = staticmethod(os.getpid)
    signal_process: Callable[[int, int], None] = staticmethod(os.kill)

    def __init__(self) -> None:
        super().__init__()
        self.key = snake(type(self).__name__)
        self.incarnation = 0
        self.settings: Mapping[str, Any] = {}
        self.plan: Any = None
        self.stores: Mapping[str, Any] = {}
        self._early: list[tuple[Envelope, Any]] = []
        self._stepping = False
        self._deferred_events: list[tuple[str, Callable[[], None], int]] = []
        self._failed_events: list[tuple[str, Callable[[], None], int]] = []
        self._failed = False

    # -- what a subclass gives ------------------------------------------------------------------

    def first_plan(self, settings: Mapping[str, Any]) -> Any:
        """The plan that this actor starts with."""
        raise TypeError(f"{type(self).__name__} gives no plan")

    def open_stores(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """The stores that Write effects name; opened here, after the fork."""
        return {}

    def configured(self) -> None:
        """The actor knows its settings and has its stores and its first plan."""

    def take_name(self) -> None:
        """Be found in process lists by what this process does (15 bytes)."""
        name_process(f"sb-{self.key.partition(':')[0].removeprefix('follower_')}")
        event_log.name_process(self.key, rotates=self.key == "leader")

    def closing(self) -> None:
        """The actor is about to exit."""

    def handled(self) -> None:
        """A message is dealt with, and what it led to can be passed on in one go."""

    def watched(self) -> list[int]:
        """The file descriptors whose readiness this actor wants to hear of."""
        return []

    def ready(self, filenos: list[int]) -> None:
        """Some of `watched` are readable."""

    # -- what arrives ---------------------------------------------------------------------------

    def receiveMessage(self, msg: Any, sender: Any) -> ThespianWatch | None:  # noqa: N802
        """Thespian's entry; a watch lasts for one message only, so it is returned every time."""
        filenos: list[int] = []
        with self._guard(f"message {type(msg).__name__}"):
            if isinstance(msg, ActorExitRequest):
                self.closing()
            elif not self._failed:
                self._receive(msg, sender)
        with self._guard("handled"):
            self.handled()
        with self._guard("bundles"):
            for address, bundle in self._bundles.take():
                self.send(address, bundle)
        with self._guard("watch"):
            filenos = self.watched()
        return ThespianWatch(filenos) if filenos else None

    def _receive(self, msg: Any, sender: Any) -> None:
        match msg:
            case dict():
                self._receive_plain(msg, sender)
            case list():
                for plain in msg:
                    with self._guard("bundle"):
                        self._receive_plain(plain, sender)
            case WatchMessage():
                self.ready(msg.ready)
            case WakeupMessage():
                self._woken(*msg.payload)
            case ChildActorExited():
                self.child_ended(msg.childAddress)
            case PoisonMessage():
                log_event("actor.poison", "ERROR", actor=self.key)
            case _:
                log_event("actor.unknown", "WARNING", actor=self.key, type=type(msg).__name__)

    def _receive_plain(self, plain: dict[str, Any], sender: Any) -> None:
        try:
            envelope = load_envelope(plain)
        except MessageInvalid as invalid:
            log_event("actor.invalid", "WARNING", actor=self.key, text=str(invalid))
            self._refuse_invalid(plain, sender, str(invalid))
            return
        if self._comes_early(envelope):
            # Of a predecessor of this actor, sent again as soon as its address was known.
            self._early.append((envelope, sender))
            return
        self._take(envelope, sender)

    def _take(self, envelope: Envelope, sender: Any) -> None:
        if not self._is_meant(envelope):
            # Ports are reused: this was meant for an actor that lived here before.
            log_event("actor.misdelivered", "WARNING", actor=self.key, meant=envelope.key)
            return
        match envelope.body:
            case ConfigureChild() as first:
                carry_out = functools.partial(self._configure, first, envelope)
                self._receive_command(envelope, sender, carry_out)
            case PeersIntroduced(peers=peers):
                self.introduced(
                    {key: (peer["incarnation"], peer["address"]) for key, peer in peers.items()}
                )
            case _ if envelope.in_reply_to is not None:
                self._receive_answer(envelope)
            case _ if envelope.kind in ANSWERS:
                carry_out = functools.partial(self._carry_out, envelope)
                self._receive_command(envelope, sender, carry_out)
            case _:
                self._event(envelope.kind, functools.partial(self.decide, envelope))

    def _comes_early(self, envelope: Envelope) -> bool:
        unborn = self.plan is None and self.incarnation == ANY_INCARNATION
        at_once = isinstance(envelope.body, (ConfigureChild, PeersIntroduced, Ping))
        return unborn and not at_once and len(self._early) < LONGEST_WAIT

    def _is_meant(self, envelope: Envelope) -> bool:
        if envelope.key == "*" or isinstance(envelope.body, ConfigureChild):
            return True
        unborn = ANY_INCARNATION in (envelope.incarnation, self.incarnation)
        return envelope.key == self.key and (unborn or envelope.incarnation == self.incarnation)

    def _refuse_invalid(self, plain: dict[str, Any], sender: Any, text: str) -> None:
        command_id, kind = plain.get("message_id"), plain.get("kind")
        if not isinstance(command_id, str) or not isinstance(kind, str):
            return
        if kind in ANSWERS and plain.get("in_reply_to") is None:
            failed = CommandFailed(reason="invalid", text=text)
            refusal = Envelope(
                body=failed, message_id=self.new_id(), key="*", in_reply_to=command_id
            )
            self.send(sender, refusal.dump())

    def _receive_command(
        self, envelope: Envelope, sender: Any, carry_out: Callable[[], None]
    ) -> None:
        now = self.clock().boot
        if envelope.deadline is not None and envelope.deadline <= now:
            # Whoever asked has been told that it went unanswered: it must not happen after that.
            log_event("actor.expired", "INFO", actor=self.key, kind=envelope.kind)
            return
        heard = self._letters.hear(envelope, sender, now)
        if isinstance(heard, dict):
            self.send(sender, heard)
        elif heard:
            try:
                carry_out()
            except Exception as failure:
                self._reply(envelope.message_id, self._failure_of(failure))
                raise

    def _carry_out(self, envelope: Envelope) -> None:
        match envelope.body:
            case Ping():
                self._reply(envelope.message_id, Pong(pid=self.own_pid()))
            case _ if self.plan is None:
                failed = CommandFailed(reason="not-configured", text="not configured yet")
                self._reply(envelope.message_id, failed)
            case DescribeActor():
                self._reply(envelope.message_id, ActorDescribed(state=self.describe()))
            case _:
                self.decide(envelope)

    def _failure_of(self, failure: BaseException) -> CommandFailed:
        if isinstance(failure, HalfDone) and failure.__cause__ is not None:
            failure = failure.__cause__
        if isinstance(failure, Deposed):
            return CommandFailed(reason="deposed", text=str(failure))
        if isinstance(failure, StoreError):
            return CommandFailed(reason="store", text=str(failure))
        return CommandFailed(reason="internal", text=f"{type(failure).__name__} in {self.key}")

    def _configure(self, first: ConfigureChild, envelope: Envelope) -> None:
        self.key, self.incarnation, self.settings = first.key, first.incarnation, first.settings
        self.take_name()
        self.stores = self.open_stores(first.settings)
        self.plan = self.first_plan(first.settings)
        self.configured()
        done = ChildConfigured(key=self.key, incarnation=self.incarnation, pid=self.own_pid())
        self._reply(envelope.message_id, done)
        early, self._early = self._early, []
        for waiting, sender in early:
            with self._guard(f"early {waiting.kind}"):
                self._take(waiting, sender)

    def _receive_answer(self, envelope: Envelope) -> None:
        said, transmissions = self._letters.settle(envelope.in_reply_to or "", self.clock().boot)
        self._transmit(transmissions)
        if said is not None:
            self._event(envelope.kind, functools.partial(self.answered, envelope))

    def answered(self, envelope: Envelope) -> None:
        """An answer to a command of ours arrived, for the first time."""
        self.decide(envelope)

    def introduced(self, peers: Mapping[str, Peer]) -> None:
        """Learn where the peers live now; own children that know them are told as well."""
        news = self._household.learn(peers)
        transmissions, unanswered = self._letters.introduce(news, self.clock().boot)
        self._transmit(transmissions)
        self._give_up(unanswered)

    def _woken(self, reason: str, generation: int) -> None:
        if self._wake_generation.get(reason) != generation:
            return
        if reason == CORRESPONDENCE:
            self._look_after_letters()
        elif reason == _FAILED_EVENTS:
            events, self._failed_events = self._failed_events, []
            for what, event, tries in events:
                self._event(what, event, tries)
        else:
            self._event(f"wakeup {reason}", functools.partial(self._wake, reason))

    def _wake(self, reason: str) -> None:
        read = getattr(self, f"read_wakeup_{reason}", None)
        self.step(f"on_wakeup_{reason}", *(() if read is None else (read(),)))

    def _look_after_letters(self) -> None:
        transmissions, unanswered = self._letters.due(self.clock().boot)
        self._letters_due = NEVER
        if self._letters.is_waiting:
            self._letters_due = self.clock().boot + RETRY_TICK_MS
            self._wake_after(CORRESPONDENCE, RETRY_TICK_MS)
        self._transmit(transmissions)
        self._give_up(unanswered)

    def _give_up(self, unanswered: list[Unanswered]) -> None:
        for command in unanswered:
            self._event("unanswered", functools.partial(self.step, "on_unanswered", command))

    def child_ended(self, address: Any) -> None:
        for key in self._household.exited(address):
            self._event("child exited", functools.partial(self.step, "on_child_exited", key))

    def _event(self, what: str, event: Callable[[], None], tries: int = 1) -> None:
        """Hand over what nobody would repeat; when the step raises it is tried again later."""
        if self._stepping:
            # Effects can end what the plan waited for; it hears of that when this step is done.
            self._deferred_events.append((what, event, tries))
            return
        with self._guard(what):
            try:
                event()
            except (Deposed, HalfDone):
                raise
            except Exception:
                if tries >= EVENT_TRIES:
                    self.fail(what)
                elif not self._failed:
                    self._failed_events.append((what, event, tries + 1))
                    self._wake_after(_FAILED_EVENTS, RETRY_TICK_MS)
                raise

    # -- decisions ------------------------------------------------------------------------------

    def decide(self, envelope: Envelope) -> None:
        """Ask the plan about an envelope, after reading the rows it needs."""
        name = snake(envelope.kind)
        handler = f"on_{name}"
        if not hasattr(self.plan, handler):
            log_event("actor.unhandled", "WARNING", actor=self.key, kind=envelope.kind)
            failed = CommandFailed(reason="invalid", text=f"{self.key} knows no {envelope.kind}")
            self._reply(envelope.message_id, failed)
            return
        read = getattr(self, f"read_{name}", None)
        if read is None:
            self.step(handler, envelope)
        else:
            self.step(handler, envelope, read(envelope.body))

    def step(self, handler: str, *arguments: Any) -> None:
        """One step of the plan: decide, perform, and only then take the new state."""
        decide = getattr(self.plan, handler, None)
        if decide is None:
            log_event("actor.unhandled", "WARNING", actor=self.key, handler=handler)
            return
        if self._stepping:
            raise RuntimeError(f"{handler} inside another step of {self.key}")
        self._stepping = True
        try:
            plan, effects = decide(*arguments, self.clock())
            self.perform(effects)
            self.plan = plan
        finally:
            self._stepping = False
            deferred, self._deferred_events = self._deferred_events, []
            for event in deferred:
                self._event(*event)

    def describe(self) -> dict[str, Any]:
        """The plan's view of itself, for `status`."""
        describe = getattr(self.plan, "describe", None)
        return describe(self.clock()) if describe else {}

    # -- guard ----------------------------------------------------------------------------------

    def _guard(self, what: str) -> "Guard":
        return Guard(self, what)

    def raised(self, what: str, failure: Exception) -> None:
        """A handler raised: what is doubtful ends the actor, the rest is told and forgotten."""
        if isinstance(failure, Deposed):
            log_event("actor.deposed", "WARNING", actor=self.key, what=what, text=str(failure))
            try:
                self.lost_epoch()
            except Exception:
                # The step that wanted to end in order failed too; ending at once is what is left.
                log_event("actor.raised", "ERROR", exception=True, actor=self.key, what=what)
                self.fail(what)
            return
        log_event("actor.raised", "ERROR", exception=True, actor=self.key, what=what)
        if isinstance(failure, HalfDone):
            self.fail(what)

    def fail(self, what: str) -> None:
        """Exit, so that the supervisor starts this actor anew; nothing more is done until then."""
        if not self._failed:
            self._failed = True
            log_event("actor.failed", "ERROR", actor=self.key, what=what)
            self.send(self.myAddress, ActorExitRequest())

    def lost_epoch(self) -> None:
        """A write was refused because another instance leads: the Leader has to know."""
        self._say(Send("leader", EpochLost(where=self.key)))
