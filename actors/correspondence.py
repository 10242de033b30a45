"""What one actor has said to its peers and not heard back about.

Thespian loses messages in flight to a killed actor without a word, and more than twenty unanswered
transmits block all sends of an actor. So commands are kept here until they are answered, at most
`WINDOW` at a time are under way to one peer, and they are sent again, with the same id, to the newest
incarnation. Being told twice is safe: the receiving side keeps its answers here too.

This is bookkeeping without a clock, a socket or a log: times come in, transmissions go out.
"""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from messages import ANSWERS
from messages.envelope import Envelope
from messages.kind import dump_body

WINDOW = 8
"""Commands under way to one peer."""
RESEND_MS = 5_000
"""An unanswered command is sent again after this time."""
REMEMBERED_ANSWERS = 2_048
"""Answers kept for commands that come again, besides those whose deadline has passed."""
FEW_CALLERS = 64
"""With so many callers those that do not wait any more are forgotten."""
URGENT = frozenset({"Ping", "CallTelegram"})
"""Kinds that do not wait for the window: an actor with eight slow commands is alive, and calls wait in the
gateway, by priority; waiting here a streamed edit would hold up another thread's answer."""


@dataclasses.dataclass(slots=True)
class Said:
    """One envelope of ours that is not done with."""

    envelope: Envelope
    resend: bool
    deadline: int
    sent_at: int | None = None

    @property
    def is_command(self) -> bool:
        """Whether an answer is expected."""
        return self.envelope.kind in ANSWERS

    @property
    def counts(self) -> bool:
        """Whether it takes a place in the window."""
        return self.is_command and self.envelope.kind not in URGENT


@dataclasses.dataclass(slots=True)
class Peer:
    """Where a peer lives, and what waits for it."""

    incarnation: int = 0
    address: Any = None
    under_way: dict[str, Said] = dataclasses.field(default_factory=dict)
    counted: int = 0
    waiting: collections.deque[Said] = dataclasses.field(default_factory=collections.deque)

    @property
    def is_full(self) -> bool:
        """Whether the window is used up."""
        return self.counted >= WINDOW

    def begin(self, said: Said) -> None:
        """It is under way from now on."""
        if said.envelope.message_id not in self.under_way:
            self.counted += said.counts
        self.under_way[said.envelope.message_id] = said

    def end(self, command_id: str) -> Said | None:
        """It is not under way any more; None when it was not."""
        said = self.under_way.pop(command_id, None)
        if said is not None:
            self.counted -= said.counts
        return said


@dataclasses.dataclass(frozen=True, slots=True)
class Caller:
    """Who waits for the answer to a command of this kind, until when."""

    address: Any
    kind: str
    deadline: int | None

    def waits(self, now: int) -> bool:
        """Whether the answer is still wanted."""
        return self.deadline is None or self.deadline > now


@dataclasses.dataclass(frozen=True, slots=True)
class Transmission:
    """One plain envelope to hand to Thespian."""

    address: Any
    plain: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Unanswered:
    """A command that will get no answer; `reason` is `deadline` or `peer-replaced`."""

    command_id: str
    body: Any
    reason: str


class Correspondence:
    """The letters of one actor, outgoing and incoming."""

    def __init__(self) -> None:
        self._peers: dict[str, Peer] = {}
        self._callers: dict[str, Caller] = {}
        self._forget_callers_at = FEW_CALLERS
        self._answers: collections.OrderedDict[str, tuple[Caller, dict[str, Any]]] = (
            collections.OrderedDict()
        )

    # -- outgoing -------------------------------------------------------------------------------

    def say(
        self, to: str, envelope: Envelope, *, deadline: int, resend: bool, now: int
    ) -> list[Transmission]:
        """Take an envelope for a peer; it waits when the peer is unknown or its window is full.

        An event that waits is forgotten at its deadline, like one that is lost on the way.
        """
        peer = self._peers.setdefault(to, Peer())
        if peer.address is None:
            peer.waiting = collections.deque(
                said for said in peer.waiting if said.is_command or said.deadline > now
            )
        peer.waiting.append(Said(envelope=envelope, resend=resend, deadline=deadline))
        return self._flush(peer, now)

    def introduce(
        self, peers: Mapping[str, tuple[int, Any]], now: int
    ) -> tuple[list[Transmission], list[Unanswered]]:
        """Learn addresses; what an earlier incarnation left unanswered is sent again or given up."""
        transmissions: list[Transmission] = []
        unanswered: list[Unanswered] = []
        for key, (incarnation, address) in peers.items():
            peer = self._peers.setdefault(key, Peer())
            replaced = peer.address is not None and incarnation > peer.incarnation
            if peer.address is not None and incarnation < peer.incarnation:
                continue
            peer.incarnation, peer.address = incarnation, address
            if replaced:
                lost = [said for said in peer.under_way.values() if not said.resend]
                again = [said for said in peer.under_way.values() if said.resend]
                peer.under_way.clear()
                peer.counted = 0
                peer.waiting.extendleft(reversed(again))
                unanswered += [_unanswered(said, "peer-replaced") for said in lost]
            transmissions += self._flush(peer, now)
        return transmissions, unanswered

    def settle(self, command_id: str, now: int) -> tuple[Said | None, list[Transmission]]:
        """An answer to this command came; returns the command and what may travel now."""
        for peer in self._peers.values():
            said = peer.end(command_id)
            if said is not None:
                return said, self._flush(peer, now)
        return None, []

    def due(self, now: int) -> tuple[list[Transmission], list[Unanswered]]:
        """What must be sent again by now, and which commands are past their deadline."""
        transmissions: list[Transmission] = []
        unanswered: list[Unanswered] = []
        for peer in self._peers.values():
            for said in _expired(peer.waiting, now):
                peer.waiting = collections.deque(left for left in peer.waiting if left is not said)
                unanswered.append(_unanswered(said, "deadline"))
            for said in _expired(peer.under_way.values(), now):
                peer.end(said.envelope.message_id)
                unanswered.append(_unanswered(said, "deadline"))
            transmissions += [
                self._transmit(peer, said, now)
                for said in peer.under_way.values()
                if said.resend and said.sent_at is not None and said.sent_at + RESEND_MS <= now
            ]
            transmissions += self._flush(peer, now)
        return transmissions, unanswered

    @property
    def is_waiting(self) -> bool:
        """Whether any command is unanswered."""
        return any(
            said.is_command
            for peer in self._peers.values()
            for said in itertools.chain(peer.under_way.values(), peer.waiting)
        )

    def _flush(self, peer: Peer, now: int) -> list[Transmission]:
        if peer.address is None:
            return []
        out: list[Transmission] = []
        kept: collections.deque[Said] = collections.deque()
        while peer.waiting:
            said = peer.waiting.popleft()
            if said.counts and peer.is_full:
                kept.append(said)
                continue
            if not said.is_command and said.deadline <= now:
                continue
            if said.is_command:
                peer.begin(said)
            out.append(self._transmit(peer, said, now))
        peer.waiting = kept
        return out

    @staticmethod
    def _transmit(peer: Peer, said: Said, now: int) -> Transmission:
        said.sent_at = now
        return Transmission(peer.address, said.envelope.dump(peer.incarnation))

    # -- incoming -------------------------------------------------------------------------------

    def hear(self, command: Envelope, sender: Any, now: int) -> dict[str, Any] | bool:
        """Take an incoming command: True if it is new, False while it is worked on, else its answer."""
        given = self._answers.get(command.message_id)
        if given is not None:
            return given[1]
        new = command.message_id not in self._callers
        if new and len(self._callers) >= self._forget_callers_at:
            self._callers = {
                command_id: caller
                for command_id, caller in self._callers.items()
                if caller.waits(now)
            }
            # Looking at all of them pays only when there are twice as many again.
            self._forget_callers_at = max(FEW_CALLERS, 2 * len(self._callers))
        # A caller that was replaced and asks again under the same id is answered where it lives now.
        self._callers[command.message_id] = Caller(sender, command.kind, command.deadline)
        return new

    def check_answer(self, command_id: str, body: Any) -> None:
        """Raise for a body that cannot answer this command; an unknown command takes any."""
        dump_body(body)
        caller = self._callers.get(command_id)
        if caller is not None and body.KIND not in ANSWERS[caller.kind]:
            raise ValueError(f"{body.KIND} is no answer to {caller.kind}")

    def answer(
        self, command_id: str, body: Any, message_id: str, now: int
    ) -> Transmission | None:
        """Answer a command once; None when it is unknown, answered, or not waited for any more."""
        caller = self._callers.get(command_id)
        if caller is None or not caller.waits(now):
            return None
        self.check_answer(command_id, body)
        plain = Envelope(
            body=body, message_id=message_id, key="*", in_reply_to=command_id
        ).dump()
        del self._callers[command_id]
        self._answers[command_id] = caller, plain
        self._forget_answers(now)
        return Transmission(address=caller.address, plain=plain)

    def _forget_answers(self, now: int) -> None:
        while self._answers:
            caller, _ = next(iter(self._answers.values()))
            if len(self._answers) <= REMEMBERED_ANSWERS and caller.waits(now):
                return
            self._answers.popitem(last=False)


def _expired(said: Iterable[Said], now: int) -> list[Said]:
    return [one for one in said if one.is_command and one.deadline <= now]


def _unanswered(said: Said, reason: str) -> Unanswered:
    return Unanswered(command_id=said.envelope.message_id, body=said.envelope.body, reason=reason)
