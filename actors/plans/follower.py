"""What a follower decides: who it says it is, what answers mean, what it takes from a leader.

It keeps its last known target, slot and name through the loss of a leader, so that the next one
hears of them. Bus envelopes in, bus envelopes and verdicts out.
"""

import dataclasses
import enum
import hmac
from typing import Any

from messages.bus import (
    SOURCE_UPDATE_FIELD,
    Ack,
    ConveyWish,
    Disconnect,
    Forward,
    Heartbeat,
    Register,
    Registration,
    ReplaceFollowerTarget,
    Target,
    delivery_id,
)
from messages.bus_protocol import OURS, compatibility
from messages.bus_texts import COMMIT_UNKNOWN, STALE_TARGET, M
from messages.wire import is_whole

REGISTER_WITHIN_MS = 30_000
LEAVE_WITHIN_MS = 60_000
CALL_WITHIN_MS = 30_000
HEARTBEAT_EVERY_MS = 1_000
HEARTBEAT_WITHIN_MS = 10_000
"""A leader whose process lives may be slow; a dead or stale one is noticed by the lease."""

LONGEST_BACKOFF_MS = 30_000

JOURNAL_KINDS = {
    "leader.forwardMessage": "message",
    "leader.forwardEditedMessage": "edited_message",
    "leader.forwardCallback": "callback_query",
    "leader.forwardReaction": "message_reaction",
}
"""What each forward is in the journal."""

LOST_REGISTRATION = frozenset({M.UNKNOWN_FOLLOWER, M.STALE_GENERATION, M.UNAUTHORIZED})
NOT_SENT = frozenset({M.API_UNAVAILABLE, M.LEADER_LOST, M.LEDGER_OVERLOADED, *LOST_REGISTRATION})
"""Refusals after which the same call may be made again: it did not reach Telegram."""


def backoff_ms(tries: int) -> int:
    """How long to wait after so many refusals in a row: 1, 2, 4 … 30 s."""
    return min(LONGEST_BACKOFF_MS, 1_000 << min(tries, 10))


@dataclasses.dataclass(frozen=True, slots=True)
class Registered:
    """The leader gave a thread."""


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """The leader did not; `text` is its own."""

    text: str


class CallEnd(enum.Enum):
    """How a call to Telegram through the leader ended."""

    DONE = "done"
    NOT_SENT = "not-sent"  # it may be made again
    UNKNOWN = "unknown"  # it may have happened
    REFUSED = "refused"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FollowerPlan:
    """This process as a follower."""

    instance_id: str
    binding_key: str
    thread_name: str
    cwd: str
    pid: int
    birth: str
    is_registered: bool = False
    generation: str = ""
    target: Target | None = None
    slot: str | None = None
    roster: tuple[str, ...] = ()

    def register(self, generation: str, auth: str, now_wall: int) -> Register:
        """Ask for a thread; the generation is the request's id and fences what comes after."""
        registration = Registration(
            instance_id=self.instance_id,
            connected_at_ms=now_wall,
            profile_key=self.binding_key,
            thread_name=self.thread_name,
            slot=self.slot,
            cwd=self.cwd,
            pid=self.pid,
            process_birth_id=self.birth,
            session_generation=1,
            target=self.target,
            registration_generation=generation,
            protocol=OURS,
        )
        return Register(request_id=generation, auth=auth, registration=registration)

    def on_register_answered(
        self, ack: Ack, generation: str
    ) -> tuple["FollowerPlan", Registered | Refused]:
        """The leader answered a registration."""
        if not ack.ok and ack.message:
            return self.on_lost(), Refused(ack.message)
        reason = compatibility(OURS, ack.protocol)
        if reason is not None:
            return self.on_lost(), Refused(M.INCOMPATIBLE.format(reason=reason.value))
        if not ack.ok:
            return self.on_lost(), Refused(M.TARGET_FAILED)
        result = ack.result if isinstance(ack.result, dict) else {}
        target = _target_of(result)
        if target is None:
            return self.on_lost(), Refused(M.TARGET_FAILED)
        slot, name = result.get("slot"), result.get("threadName")
        return (
            dataclasses.replace(
                self,
                is_registered=True,
                generation=generation,
                target=target,
                slot=slot if _is_slot(slot) else None,
                thread_name=name if isinstance(name, str) and name else self.thread_name,
            ),
            Registered(),
        )

    def on_lost(self) -> "FollowerPlan":
        """No leader any more; what was known is carried on."""
        return dataclasses.replace(self, is_registered=False, generation="")

    # -- heartbeat ------------------------------------------------------------------------------

    def heartbeat(self, request_id: str, auth: str, now_wall: int) -> Heartbeat:
        """Say that this process is there."""
        return Heartbeat(
            request_id=request_id,
            auth=auth,
            instance_id=self.instance_id,
            registration_generation=self.generation,
            sent_at_ms=now_wall,
        )

    def disconnect(self, request_id: str, auth: str, now_wall: int) -> Disconnect:
        """Give the thread up."""
        return Disconnect(
            request_id=request_id,
            auth=auth,
            instance_id=self.instance_id,
            registration_generation=self.generation,
            sent_at_ms=now_wall,
        )

    def on_heartbeat_answered(self, ack: Ack) -> tuple["FollowerPlan", bool]:
        """Whether the registration still stands; with it comes who may lead next."""
        if not ack.ok:
            return self, False
        result = ack.result if isinstance(ack.result, dict) else {}
        slots = result.get("eligibleElectionSlots")
        if not isinstance(slots, list):
            return self, True
        roster = tuple(sorted({slot for slot in slots if _is_slot(slot)}))
        return (self if roster == self.roster else dataclasses.replace(self, roster=roster)), True

    # -- what the leader sends ------------------------------------------------------------------

    def refusal(self, envelope: Any, secret: str) -> str | None:
        """Why this envelope is not for us, in the order of the contract; None when it is."""
        if not secret or not hmac.compare_digest((envelope.auth or "").encode(), secret.encode()):
            return M.UNAUTHORIZED
        if not isinstance(envelope, (Forward, ReplaceFollowerTarget, ConveyWish)):
            return M.NOT_HANDLED
        if envelope.recipient_instance_id != self.instance_id:
            return M.NOT_RECIPIENT
        if not self.generation or envelope.recipient_registration_generation != self.generation:
            return M.STALE_GENERATION
        if not isinstance(envelope, Forward):
            return None
        delivery = envelope.delivery
        if delivery.recipient_binding_key != self.binding_key:
            return M.NOT_BINDING
        expected = delivery_id(envelope.KIND, self.binding_key, delivery.source_update_id)
        carried = envelope.carrier.get(SOURCE_UPDATE_FIELD)
        if delivery.delivery_id != expected or carried != delivery.source_update_id:
            return M.DELIVERY_MISMATCH
        return None

    def on_target_replaced(self, envelope: ReplaceFollowerTarget) -> "FollowerPlan":
        """The thread was deleted; this one took its place. The registration stands."""
        return dataclasses.replace(self, target=envelope.target)

    # -- calls ----------------------------------------------------------------------------------

    def call_end(self, ack: Ack, retry_safe: bool, used: Target | None) -> CallEnd:
        """What the answer to a call means; `used` is the target it was made with."""
        if ack.ok:
            return CallEnd.DONE
        code = ack.error.code if ack.error is not None else None
        if code == COMMIT_UNKNOWN or ack.message == M.HANDLER_FAILED:
            return CallEnd.NOT_SENT if retry_safe else CallEnd.UNKNOWN
        if code == STALE_TARGET and used != self.target:
            # The leader has told of the new thread before it refused the call to the old one.
            return CallEnd.NOT_SENT
        return CallEnd.NOT_SENT if ack.message in NOT_SENT else CallEnd.REFUSED


def journal_carrier(envelope: Forward) -> dict[str, Any]:
    """What goes into the journal: the update's object as Telegram sent it."""
    return {key: value for key, value in envelope.carrier.items() if key != SOURCE_UPDATE_FIELD}


def _is_slot(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1 and "A" <= value <= "Z"


def _target_of(result: dict[str, Any]) -> Target | None:
    nested = result.get("target")
    plain = nested if isinstance(nested, dict) else result
    chat_id, thread_id = plain.get("chatId"), plain.get("threadId")
    if not is_whole(chat_id) or not (thread_id is None or is_whole(thread_id, 1)):
        return None
    return Target(chat_id=chat_id, thread_id=thread_id)
