"""How the effects of a step are performed: writes first, in one order (`actors.plans.effects.RANK`).

The part of the base of every actor that acts. Nothing is visible before it is durable; a step of which some
effects were performed and the next could not be leaves the actor in doubt, and that is raised as HalfDone.
"""

import contextlib
import datetime
from collections.abc import Callable, Mapping
from typing import Any

from thespian.actors import Actor

from actors.bundles import Bundles
from actors.correspondence import RESEND_MS, Correspondence, Transmission
from actors.event_log import log_event
from actors.faults import fault
from actors.household import Household, Peer
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
from messages.envelope import Envelope
from messages.kind import dump_body

NEVER = 2**63
"""A boot-clock time that does not come."""

CORRESPONDENCE = "_correspondence"
"""The wakeup that looks after commands without an answer."""


class HalfDone(Exception):
    """Some effects of a step were performed, the next one could not be: the state is doubtful."""


class EffectActor(Actor):
    """An actor that performs effects; what it decides is no matter of this class."""

    key: str
    incarnation: int
    stores: Mapping[str, Any]
    clock: Callable[[], Now]
    own_pid: Callable[[], int]

    def __init__(self) -> None:
        super().__init__()
        self._letters = Correspondence()
        self._household = Household(self)
        self._wake_generation: dict[str, int] = {}
        self._ids = 0
        self._bundles = Bundles()
        self._letters_due = NEVER

    # -- what a subclass gives ------------------------------------------------------------------

    def child_class(self, key: str) -> str:
        """The dotted name of the class of a child."""
        raise TypeError(f"{type(self).__name__} has no children")

    def introduced(self, peers: Mapping[str, Peer]) -> None:
        """Learn where the peers live now."""
        raise NotImplementedError

    def child_ended(self, address: Any) -> None:
        """A child is gone."""
        raise NotImplementedError

    # -- effects --------------------------------------------------------------------------------

    def perform(self, effects: Effects) -> None:
        """Perform effects in their order; the Writes in one transaction a database."""
        for effect in effects:
            self._check(effect)
        ordered = in_order(effects)
        writes = [effect for effect in ordered if isinstance(effect, Write)]
        if writes:
            self._write(writes)
            self.written(writes)
        for number, effect in enumerate(ordered[len(writes):], start=len(writes)):
            try:
                self._perform_one(effect)
            except Exception as failure:
                if number:
                    raise HalfDone(type(effect).__name__) from failure
                raise

    def written(self, writes: list[Write]) -> None:
        """These are durable, and nothing else of their step is done: the place of fault points."""

    def _check(self, effect: Any) -> None:
        """Refuse what could not be said before anything of the step is done."""
        match effect:
            case Send(body=body):
                dump_body(body)
            case Reply(command_id=command_id, body=body):
                self._letters.check_answer(command_id, body)

    def _write(self, writes: list[Write]) -> None:
        with contextlib.ExitStack() as transactions:
            # Stores of one database share its transaction, which a database joins to the outer one.
            for store in dict.fromkeys(write.store for write in writes):
                transactions.enter_context(self.stores[store].database.transaction())
            for write in writes:
                getattr(self.stores[write.store], write.method)(**write.arguments)
            fault(f"{self.key}.before-commit")

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
                peer = self._household.start(key, incarnation, self.child_class(key))
                self.introduced({key: peer})
            case Introduce(to=to, keys=keys):
                self._household.introduce(to, keys)
            case StopChild(key=key):
                self._household.stop(key)
            case KillChild(key=key):
                unheard = self._household.kill(key)
                if unheard is not None:
                    self.child_ended(unheard)

    def perform_beside(self, effect: Perform) -> None:
        """Start slow work beside the mailbox; only actors with a loop thread can."""
        raise TypeError(f"{self.key} has no loop thread for {effect.operation}")

    def forking(self) -> contextlib.AbstractContextManager[Any]:
        """Held while this process forks."""
        return contextlib.nullcontext()

    def new_id(self) -> str:
        """An id that no other actor and no other incarnation makes."""
        self._ids += 1
        return f"{self.key}#{self.incarnation}.{self.own_pid()}:{self._ids}"

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
        soonest = min(effect.deadline_ms, RESEND_MS)
        if envelope.kind in ANSWERS and now + soonest < self._letters_due:
            # Not earlier than anything can be due: most commands are answered long before.
            self._letters_due = now + soonest
            self._wake_after(CORRESPONDENCE, soonest)

    def _reply(self, command_id: str, body: Any) -> None:
        transmission = self._letters.answer(command_id, body, self.new_id(), self.clock().boot)
        if transmission is not None:
            self._transmit([transmission])

    def _transmit(self, transmissions: list[Transmission]) -> None:
        for transmission in transmissions:
            if not self._bundles.put(transmission):
                self.send(transmission.address, transmission.plain)

    def _wake_after(self, reason: str, delay_ms: int) -> None:
        generation = self._wake_generation.get(reason, 0) + 1
        self._wake_generation[reason] = generation
        # Wakeups cannot be cancelled, so each carries the generation that it belongs to.
        self.wakeupAfter(datetime.timedelta(milliseconds=delay_ms), (reason, generation))

    def key_of_child_pid(self, pid: int) -> str | None:
        """The key of the child with this process id."""
        return self._household.key_of_pid(pid)
