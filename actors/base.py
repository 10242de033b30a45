"""The base of every actor: loads what arrives, asks the plan, performs what the plan wants.

It is the only place with effects, and performs them in one order (`actors.plans.effects.RANK`). No
handler raises out: Thespian would deliver the message again to the state that the failed try left. The
plan is replaced only after all effects of its step were performed.

A subclass gives `first_plan` and `open_stores`. Its plan answers to
`on_<kind>(envelope, now)` or, where the actor defines `read_<kind>(body)` to fetch rows first,
`on_<kind>(envelope, facts, now)`; to `on_wakeup_<reason>(now)`, `on_child_exited(key, now)` and
`on_unanswered(unanswered, now)`. Each returns the next plan and its effects.
"""

import contextlib
import datetime
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from thespian.actors import (
    Actor,
    ActorExitRequest,
    ChildActorExited,
    PoisonMessage,
    ThespianWatch,
    WakeupMessage,
    WatchMessage,
)

from actors.clock import system_now
from actors.correspondence import Correspondence, Transmission, Unanswered
from actors.event_log import log_event
from actors.plans.effects import (
    Effects,
    Introduce,
    KillChild,
    Notify,
    Now,
    Perform,
    Reply,
    Send,
    StartChild,
    StopChild,
    WakeAfter,
    Write,
    in_order,
)
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
from messages.envelope import Envelope, load_envelope
from messages.kind import MessageInvalid
from stores.errors import Deposed, StoreError

RETRY_TICK_MS = 1_000
"""How often unanswered commands are looked at, while there are any."""

_CORRESPONDENCE = "_correspondence"


def snake(kind: str) -> str:
    """`AdmitUpdates` -> `admit_updates`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()


class PlanActor(Actor):
    """An actor whose decisions are a plan."""

    clock: Callable[[], Now] = staticmethod(system_now)

    def __init__(self) -> None:
        super().__init__()
        self.key = snake(type(self).__name__)
        self.incarnation = 0
        self.settings: Mapping[str, Any] = {}
        self.plan: Any = None
        self.stores: Mapping[str, Any] = {}
        self._letters = Correspondence()
        self._children: dict[str, tuple[int, Any]] = {}
        self._child_pids: dict[str, int] = {}
        self._directory: dict[str, tuple[int, Any]] = {}
        self._acquainted: dict[str, tuple[str, ...]] = {}
        self._wake_generation: dict[str, int] = {}
        self._ids = 0
        self._retrying = False

    # -- what a subclass gives ------------------------------------------------------------------

    def first_plan(self, settings: Mapping[str, Any]) -> Any:
        """The plan that this actor starts with."""
        raise TypeError(f"{type(self).__name__} gives no plan")

    def open_stores(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """The stores that Write effects name; opened here, after the fork."""
        return {}

    def child_class(self, key: str) -> str:
        """The dotted name of the class of a child."""
        raise TypeError(f"{type(self).__name__} has no children")

    def configured(self) -> None:
        """The actor knows its settings and has its stores and its first plan."""

    def closing(self) -> None:
        """The actor is about to exit."""

    def watched(self) -> list[int]:
        """The file descriptors whose readiness this actor wants to hear of."""
        return []

    def ready(self, filenos: list[int]) -> None:
        """Some of `watched` are readable."""

    # -- what arrives ---------------------------------------------------------------------------

    def receiveMessage(self, msg: Any, sender: Any) -> ThespianWatch | None:  # noqa: N802
        """Thespian's entry; a watch lasts for one message only, so it is returned every time."""
        with self._guard(f"message {type(msg).__name__}"):
            match msg:
                case dict():
                    self._receive_plain(msg, sender)
                case WatchMessage():
                    self.ready(msg.ready)
                case WakeupMessage():
                    self._woken(*msg.payload)
                case ChildActorExited():
                    self._child_exited(msg.childAddress)
                case ActorExitRequest():
                    self.closing()
                case PoisonMessage():
                    log_event("actor.poison", "ERROR", actor=self.key)
                case _:
                    log_event("actor.unknown", "WARNING", actor=self.key, type=type(msg).__name__)
        filenos = self.watched()
        return ThespianWatch(filenos) if filenos else None

    def _receive_plain(self, plain: dict[str, Any], sender: Any) -> None:
        try:
            envelope = load_envelope(plain)
        except MessageInvalid as invalid:
            log_event("actor.invalid", "WARNING", actor=self.key, text=str(invalid))
            self._refuse_invalid(plain, sender, str(invalid))
            return
        if envelope.key not in (self.key, "*") and not isinstance(envelope.body, ConfigureChild):
            # Ports are reused: this was meant for an actor that lived here before.
            log_event("actor.misdelivered", "WARNING", actor=self.key, meant=envelope.key)
            return
        match envelope.body:
            case ConfigureChild() as first:
                self._configure(first, envelope, sender)
            case PeersIntroduced(peers=peers):
                self.introduced(
                    {key: (peer["incarnation"], peer["address"]) for key, peer in peers.items()}
                )
            case Ping():
                self._hear_and(envelope, sender, lambda: Pong(pid=os.getpid()))
            case _ if envelope.in_reply_to is not None:
                self._receive_answer(envelope)
            case _ if self.plan is None:
                self._hear_and(
                    envelope,
                    sender,
                    lambda: CommandFailed(reason="not-configured", text="not configured yet"),
                )
            case DescribeActor():
                self._hear_and(envelope, sender, lambda: ActorDescribed(state=self.describe()))
            case _ if envelope.kind in ANSWERS:
                self._receive_command(envelope, sender)
            case _:
                self.decide(envelope)

    def _refuse_invalid(self, plain: dict[str, Any], sender: Any, text: str) -> None:
        command_id, kind = plain.get("message_id"), plain.get("kind")
        if isinstance(command_id, str) and kind in ANSWERS and plain.get("in_reply_to") is None:
            failed = CommandFailed(reason="invalid", text=text)
            refusal = Envelope(
                body=failed, message_id=self.new_id(), key="*", in_reply_to=command_id
            )
            self.send(sender, refusal.dump())

    def _hear_and(self, envelope: Envelope, sender: Any, body: Callable[[], Any]) -> None:
        if envelope.kind not in ANSWERS:
            return
        if self._letters.hear(envelope, sender) is True:
            self._reply(envelope.message_id, body())

    def _receive_command(self, envelope: Envelope, sender: Any) -> None:
        heard = self._letters.hear(envelope, sender)
        if isinstance(heard, dict):
            self.send(sender, heard)
            return
        if heard is False:
            return
        try:
            self.decide(envelope)
        except Deposed as deposed:
            self._reply(envelope.message_id, CommandFailed(reason="deposed", text=str(deposed)))
            raise
        except StoreError as failure:
            self._reply(envelope.message_id, CommandFailed(reason="store", text=str(failure)))
            raise
        except Exception as failure:
            text = f"{type(failure).__name__} in {self.key}"
            self._reply(envelope.message_id, CommandFailed(reason="internal", text=text))
            raise

    def _receive_answer(self, envelope: Envelope) -> None:
        said, transmissions = self._letters.settle(envelope.in_reply_to or "", self.clock().boot)
        self._transmit(transmissions)
        if said is not None:
            self.answered(envelope)

    def answered(self, envelope: Envelope) -> None:
        """An answer to a command of ours arrived, for the first time."""
        self.decide(envelope)

    def _configure(self, first: ConfigureChild, envelope: Envelope, sender: Any) -> None:
        if self._letters.hear(envelope, sender) is not True:
            return
        self.key, self.incarnation, self.settings = first.key, first.incarnation, first.settings
        try:
            self.stores = self.open_stores(first.settings)
            self.plan = self.first_plan(first.settings)
            self.configured()
        except StoreError as failure:
            self._reply(envelope.message_id, CommandFailed(reason="store", text=str(failure)))
            raise
        done = ChildConfigured(key=self.key, incarnation=self.incarnation, pid=os.getpid())
        self._reply(envelope.message_id, done)

    def introduced(self, peers: Mapping[str, tuple[int, Any]]) -> None:
        """Learn where the peers live now; own children that know them are told as well."""
        self._directory.update(peers)
        for child, known in self._acquainted.items():
            if child in self._children and child not in peers:
                self._introduce((child,), tuple(key for key in known if key in peers))
        transmissions, unanswered = self._letters.introduce(peers, self.clock().boot)
        self._transmit(transmissions)
        self._give_up(unanswered)

    def _woken(self, reason: str, generation: int) -> None:
        if self._wake_generation.get(reason) != generation:
            return
        if reason != _CORRESPONDENCE:
            self.step(f"on_wakeup_{snake(reason)}")
            return
        transmissions, unanswered = self._letters.due(self.clock().boot)
        self._transmit(transmissions)
        self._give_up(unanswered)
        if self._letters.is_waiting:
            self._wake_after(_CORRESPONDENCE, RETRY_TICK_MS)
        else:
            self._retrying = False

    def _give_up(self, unanswered: list[Unanswered]) -> None:
        for command in unanswered:
            self.step("on_unanswered", command)

    def _child_exited(self, address: Any) -> None:
        for key, (_, known) in list(self._children.items()):
            if known == address:
                del self._children[key]
                self._child_pids.pop(key, None)
                self.step("on_child_exited", key)

    # -- decisions ------------------------------------------------------------------------------

    def decide(self, envelope: Envelope) -> None:
        """Ask the plan about an envelope, after reading the rows it needs."""
        name = snake(envelope.kind)
        handler = f"on_{name}"
        if not hasattr(self.plan, handler):
            log_event("actor.unhandled", "WARNING", actor=self.key, kind=envelope.kind)
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
        plan, effects = decide(*arguments, self.clock())
        self.perform(effects)
        self.plan = plan

    def describe(self) -> dict[str, Any]:
        """The plan's view of itself, for `status`."""
        describe = getattr(self.plan, "describe", None)
        return describe(self.clock()) if describe else {}

    # -- effects --------------------------------------------------------------------------------

    def perform(self, effects: Effects) -> None:
        """Perform effects in their order; the Writes in one transaction a database."""
        ordered = in_order(effects)
        writes = [effect for effect in ordered if isinstance(effect, Write)]
        if writes:
            with contextlib.ExitStack() as transactions:
                for store in dict.fromkeys(write.store for write in writes):
                    transactions.enter_context(self.stores[store].transaction())
                for write in writes:
                    getattr(self.stores[write.store], write.method)(**write.arguments)
        for effect in ordered[len(writes):]:
            self._perform_one(effect)

    def _perform_one(self, effect: Any) -> None:
        match effect:
            case Send():
                self._say(effect)
            case Reply(command_id=command_id, body=body):
                self._reply(command_id, body)
            case Notify(action=action, level=level, fields=fields):
                log_event(action, level, actor=self.key, **fields)
            case WakeAfter(reason=reason, delay_ms=delay_ms):
                self._wake_after(reason, delay_ms)
            case Perform():
                self.perform_beside(effect)
            case StartChild(key=key, incarnation=incarnation):
                self._start_child(key, incarnation)
            case Introduce(to=to, keys=keys):
                for child in to:
                    self._acquainted[child] = keys
                self._introduce(to, keys)
            case StopChild(key=key):
                if key in self._children:
                    self.send(self._children[key][1], ActorExitRequest())
            case KillChild(key=key):
                self._kill_child(key)

    def perform_beside(self, effect: Perform) -> None:
        """Start slow work beside the mailbox; only actors with a loop thread can."""
        raise TypeError(f"{self.key} has no loop thread for {effect.operation}")

    def forking(self) -> contextlib.AbstractContextManager[Any]:
        """Held while this process forks."""
        return contextlib.nullcontext()

    def new_id(self) -> str:
        """An id that no other actor and no other incarnation makes."""
        self._ids += 1
        return f"{self.key}#{self.incarnation}.{os.getpid()}:{self._ids}"

    def _say(self, effect: Send) -> None:
        now = self.clock().boot
        deadline = now + effect.deadline_ms
        envelope = Envelope(
            body=effect.body,
            message_id=effect.message_id or self.new_id(),
            key=effect.to,
            deadline=deadline,
        )
        self._transmit(
            self._letters.say(
                effect.to, envelope, deadline=deadline, resend=effect.resend, now=now
            )
        )
        if envelope.kind in ANSWERS and not self._retrying:
            self._retrying = True
            self._wake_after(_CORRESPONDENCE, RETRY_TICK_MS)

    def _reply(self, command_id: str, body: Any) -> None:
        transmission = self._letters.answer(command_id, body, self.new_id())
        if transmission is not None:
            self._transmit([transmission])

    def _transmit(self, transmissions: list[Transmission]) -> None:
        for transmission in transmissions:
            self.send(transmission.address, transmission.plain)

    def _wake_after(self, reason: str, delay_ms: int) -> None:
        generation = self._wake_generation.get(reason, 0) + 1
        self._wake_generation[reason] = generation
        # Wakeups cannot be cancelled, so each carries the generation that it belongs to.
        self.wakeupAfter(datetime.timedelta(milliseconds=delay_ms), (reason, generation))

    # -- children -------------------------------------------------------------------------------

    def _start_child(self, key: str, incarnation: int) -> None:
        with self.forking():
            address = self.createActor(self.child_class(key))
        self._children[key] = (incarnation, address)
        pid = _newest_child_pid(self)
        if pid is not None:
            self._child_pids[key] = pid
        self.introduced({key: (incarnation, address)})

    def _introduce(self, to: tuple[str, ...], keys: tuple[str, ...]) -> None:
        known = {key: self._directory[key] for key in keys if key in self._directory}
        known[self.key] = (self.incarnation, self.myAddress)
        peers = {
            key: {"incarnation": incarnation, "address": address}
            for key, (incarnation, address) in known.items()
        }
        for child in to:
            if child in self._children:
                incarnation, address = self._children[child]
                told = Envelope(PeersIntroduced(peers=peers), self.new_id(), child, incarnation)
                self.send(address, told.dump())

    def _kill_child(self, key: str) -> None:
        pid = self._child_pids.get(key)
        if pid is not None and key in self._children:
            # Our own child that we have not heard the end of: the pid cannot have been reused.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def child_pid(self, key: str) -> int | None:
        """The process id of a child, None when there is no such child."""
        return self._child_pids.get(key)

    # -- guard ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _guard(self, what: str) -> Iterator[None]:
        try:
            yield
        except Deposed as deposed:
            log_event("actor.deposed", "WARNING", actor=self.key, what=what, text=str(deposed))
            self.lost_epoch()
        except Exception:
            log_event("actor.raised", "ERROR", exception=True, actor=self.key, what=what)

    def lost_epoch(self) -> None:
        """A write was refused because another instance leads."""


def _newest_child_pid(actor: Actor) -> int | None:
    """The pid of the child that `actor` forked last; None on a stage, where nothing forks."""
    processes = getattr(actor._myRef, "_child_procs", None)  # Thespian tells it nowhere else
    return processes[-1].childProc.pid if processes else None
