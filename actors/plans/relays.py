"""What is handed to followers and awaits their answer, and what an answer means (leader.md 7.3).

Only the exact receipt completes an update. Everything else leaves it with whoever gave it.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from actors.plans.bus_request import Asked, Waiting
from messages.bus import Ack, Target
from messages.bus_texts import M
from messages.wire import is_whole

RELAY_DEADLINE_MS = 30_000
REPLACE_DEADLINE_MS = 5_000

ACCEPTED, RETRYABLE, TERMINAL = "accepted", "retryable", "terminal-rejected"


class Giver(enum.Enum):
    """Who gave it, and so hears of its end."""

    INBOX = "inbox"  # an update of Telegram
    PEER = "peer"  # a forward that came over the bus
    AGENT = "agent"  # a message of another follower
    REGISTRY = "registry"  # the new thread of a follower


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """One envelope under way to a follower."""

    relay_id: str
    giver: Giver
    kind: str
    instance_id: str
    generation: str
    connection: int | None
    deadline: int
    command_id: str = ""
    """Of the inbox."""

    asked: Asked | None = None
    """By a peer, or by an agent."""

    delivery_id: str = ""
    update_id: int = -1
    waiting: Waiting | None = None
    """The call whose failure led to a new thread."""

    target: Target | None = None
    """The new thread."""


@dataclasses.dataclass(frozen=True, slots=True)
class TransportFailed:
    """The follower could not be reached, or its connection was lost."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Settlement:
    """What became of an update."""

    status: str
    failure_class: str = ""
    text: str = ""


def unsendable(follower: Any, update_id: Any) -> Settlement | None:
    """Why nothing can be sent at all; None when it can."""
    if not is_whole(update_id, 0):
        return Settlement(TERMINAL, "source-update-identity-missing", "no update id")
    if not follower.binding_key:
        return Settlement(TERMINAL, "recipient-binding-missing", "no binding key")
    if not follower.generation:
        return Settlement(RETRYABLE, "recipient-generation-missing", "no generation")
    return None


def settle(relay: Relay, answer: Any) -> Settlement:
    """What an answer to a forwarded update means: an Ack, TransportFailed, or None for none."""
    if isinstance(answer, TransportFailed):
        return Settlement(RETRYABLE, "transport-failed", answer.text)
    if not isinstance(answer, Ack):
        return Settlement(RETRYABLE, "acknowledgement-missing", "no answer")
    if answer.request_id != relay.relay_id:
        return Settlement(TERMINAL, "acknowledgement-mismatched", "answer to another request")
    if not answer.ok:
        return Settlement(RETRYABLE, "acknowledgement-rejected", answer.message or "refused")
    receipt = answer.result if isinstance(answer.result, Mapping) else {}
    if "deliveryId" not in receipt or "sourceUpdateId" not in receipt:
        return Settlement(TERMINAL, "durable-receipt-missing", "no receipt")
    if (receipt["deliveryId"], receipt["sourceUpdateId"]) != (relay.delivery_id, relay.update_id):
        return Settlement(TERMINAL, "durable-receipt-mismatched", "receipt of another delivery")
    return Settlement(ACCEPTED)


def answer_of(relay: Relay, answer: Any) -> tuple[bool, Any]:
    """(done, result) or (not done, text) of an answer whose content is its sender's affair."""
    if isinstance(answer, TransportFailed):
        return False, answer.text or M.FORWARD_FAILED
    if not isinstance(answer, Ack) or answer.request_id != relay.relay_id:
        return False, M.FORWARD_REJECTED
    return answer.ok, answer.result if answer.ok else answer.message or M.FORWARD_REJECTED
