"""A scripted stand-in for an actor: records what it is told and answers as the test says."""

import collections
import dataclasses
import itertools
from collections.abc import Iterable
from typing import Any

from messages.actor import ChildConfigured, CommandFailed, PeersIntroduced, Pong
from messages.envelope import ANY_INCARNATION, Envelope, load_envelope


UNBORN = "?"
"""The key of a child that was not configured yet; what it is told waits, as with a real one."""


@dataclasses.dataclass(frozen=True)
class Reply:
    """Answer with this body, or with what a function makes of the envelope."""

    body: Any


@dataclasses.dataclass(frozen=True)
class Fail:
    """Answer with CommandFailed."""

    reason: str = "internal"
    text: str = "scripted"


@dataclasses.dataclass(frozen=True)
class Silent:
    """Hear it and say nothing."""


Step = Reply | Fail | Silent
Script = Step | Iterable[Step]


class Peer:
    """One player; every kind has its own script, the last step of which is played again and again."""

    def __init__(self, stage: Any, key: str, script: dict[str, Script]) -> None:
        self._stage = stage
        self._script: dict[str, collections.deque[Step]] = {}
        self._numbers = itertools.count(1)
        self._senders: dict[str, Any] = {}
        self.key = key
        self.incarnation = 1
        self.address: Any = None
        self.pid = 0
        self._early: list[tuple[Any, Any]] = []
        self.told: list[Envelope] = []
        self.answers: dict[str, Envelope] = {}
        self.answer_count: collections.Counter[str] = collections.Counter()
        self.parent: Any = None
        self.exits: list[Any] = []
        for kind, steps in script.items():
            self.script(kind, steps)

    def script(self, kind: str, steps: Script) -> None:
        """From now on answer this kind so."""
        played = [steps] if isinstance(steps, (Reply, Fail, Silent)) else list(steps)
        self._script[kind] = collections.deque(played)

    # -- speaking -------------------------------------------------------------------------------

    def tell(
        self,
        part: Any,
        body: Any,
        *,
        message_id: str | None = None,
        deadline_ms: int | None = 60_000,
        incarnation: int = ANY_INCARNATION,
        key: str | None = None,
    ) -> str:
        """Say something to an actor; returns the id of the message."""
        envelope = Envelope(
            body=body,
            message_id=message_id or f"{self.key}!{next(self._numbers)}",
            key=key if key is not None else part.key,
            incarnation=incarnation,
            deadline=None if deadline_ms is None else self._stage.clock.boot + deadline_ms,
        )
        self._stage.send(self.address, part.address, envelope.dump())
        return envelope.message_id

    def tell_plain(self, part: Any, plain: Any) -> None:
        """Say something that need not be a message at all."""
        self._stage.send(self.address, part.address, plain)

    def answer(self, command_id: str, body: Any) -> None:
        """Answer a command that was told earlier."""
        said = Envelope(
            body=body,
            message_id=f"{self.key}!{next(self._numbers)}",
            key="*",
            in_reply_to=command_id,
        )
        self._stage.send(self.address, self._senders[command_id], said.dump())

    # -- hearing --------------------------------------------------------------------------------

    def bodies(self, kind: str) -> list[Any]:
        """The bodies of this kind that it was told, in order."""
        return [envelope.body for envelope in self.told if envelope.kind == kind]

    def kinds(self) -> list[str]:
        """What it was told, in order, as kinds."""
        return [envelope.kind for envelope in self.told]

    def receive(self, message: Any, sender: Any) -> None:
        """The stage delivers."""
        if not isinstance(message, dict):
            if type(message).__name__ == "ChildActorExited":
                self.exits.append(message.childAddress)
            return
        envelope = load_envelope(message)
        if self.key == UNBORN and envelope.kind not in ("ConfigureChild", "PeersIntroduced", "Ping"):
            self._early.append((message, sender))
            return
        if envelope.in_reply_to is not None:
            self.answers[envelope.in_reply_to] = envelope
            self.answer_count[envelope.in_reply_to] += 1
            return
        self.told.append(envelope)
        self._senders[envelope.message_id] = sender
        if isinstance(envelope.body, PeersIntroduced):
            return
        if envelope.kind == "ConfigureChild":
            self.key, self.incarnation = envelope.body.key, envelope.body.incarnation
        step = self._next_step(envelope)
        if isinstance(step, Reply):
            body = step.body(envelope) if _is_function(step.body) else step.body
            self.answer(envelope.message_id, body)
        elif isinstance(step, Fail):
            self.answer(envelope.message_id, CommandFailed(reason=step.reason, text=step.text))
        early, self._early = self._early, []
        for waiting in early:
            self.receive(*waiting)

    def _next_step(self, envelope: Envelope) -> Step:
        steps = self._script.get(envelope.kind)
        if steps:
            return steps.popleft() if len(steps) > 1 else steps[0]
        if envelope.kind == "Ping":
            return Reply(Pong(pid=self.pid))
        if envelope.kind == "ConfigureChild":
            body = ChildConfigured(key=self.key, incarnation=self.incarnation, pid=self.pid)
            return Reply(body)
        return Silent()


def _is_function(body: Any) -> bool:
    return callable(body) and not hasattr(body, "KIND")
