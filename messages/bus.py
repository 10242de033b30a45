"""What processes say to each other: the envelopes of the bus, one JSON object a line.

`parse_line` never raises: what is no envelope comes back as `InvalidEnvelope`, a kind that is not
in force here as `OtherEnvelope`. `dump` validates on the way out and raises MessageInvalid. Framing
is in `actors.bus_line`.
"""

import dataclasses
import json
from typing import Any

from marshmallow import ValidationError

from messages.bus_agents import ResolveAgentTarget, RouteAgentMessage
from messages.bus_envelopes import (
    FORWARDS,
    KINDS,
    SOURCE_UPDATE_FIELD,
    Ack,
    CallApi,
    Describe,
    Disconnect,
    Envelope,
    Forward,
    ForwardCallback,
    ForwardEditedMessage,
    ForwardMessage,
    ForwardReaction,
    Heartbeat,
    Register,
    ReplaceFollowerTarget,
)
from messages.bus_operator import (
    CloseThread,
    ConveyWish,
    DropRegistration,
    NameThread,
    OperatorRequest,
    PassWish,
    PruneNow,
    SettleUpdate,
    StepDown,
)
from messages.bus_parts import (
    DELIVERY_PREFIX,
    LONGEST_AUTH,
    LONGEST_ID,
    LONGEST_TEXT,
    SLOTS,
    AckError,
    Delivery,
    Registration,
    Target,
    delivery_id,
)
from messages.bus_reserved import (
    OfferQueueHandoff,
    RenameThread,
    Reserved,
    ResetThreadName,
    RestoreWorkspace,
    SetThreadDisplayMode,
)
from messages.kind import MessageInvalid, said
from messages.wire import Dropped, Text, Wire, is_number, is_text, wire

__all__ = [
    "DELIVERY_PREFIX",
    "FORWARDS",
    "INVALID_REQUEST_ID",
    "KINDS",
    "MAX_LINE",
    "SLOTS",
    "SOURCE_UPDATE_FIELD",
    "Ack",
    "AckError",
    "CallApi",
    "CloseThread",
    "ConveyWish",
    "Delivery",
    "Describe",
    "Disconnect",
    "DropRegistration",
    "Envelope",
    "Forward",
    "ForwardCallback",
    "ForwardEditedMessage",
    "ForwardMessage",
    "ForwardReaction",
    "Heartbeat",
    "InvalidEnvelope",
    "NameThread",
    "OfferQueueHandoff",
    "OperatorRequest",
    "OtherEnvelope",
    "PassWish",
    "PruneNow",
    "Register",
    "Registration",
    "RenameThread",
    "ReplaceFollowerTarget",
    "Reserved",
    "ResetThreadName",
    "ResolveAgentTarget",
    "RestoreWorkspace",
    "RouteAgentMessage",
    "SetThreadDisplayMode",
    "SettleUpdate",
    "StepDown",
    "Target",
    "delivery_id",
    "dump",
    "forward",
    "load",
    "parse_line",
]

MAX_LINE = 1024 * 1024
"""Bytes of one line, its newline included."""

INVALID_REQUEST_ID = "invalid"
"""The request id of an ack to a line that was no envelope."""


def forward(
    kind: str,
    *,
    request_id: str,
    auth: str | None,
    instance_id: str,
    generation: str,
    binding_key: str,
    update_id: int,
    carrier: dict[str, Any],
    now: int,
) -> Forward:
    """The forward of one update, with delivery identity and the private field of the carrier."""
    declared: Any = FORWARDS[kind]
    return declared(
        request_id=request_id,
        auth=auth,
        recipient_instance_id=instance_id,
        recipient_registration_generation=generation,
        delivery=Delivery(
            delivery_id=delivery_id(kind, binding_key, update_id),
            source_update_id=update_id,
            recipient_binding_key=binding_key,
        ),
        sent_at_ms=now,
        **{declared.CARRIER: {**carrier, SOURCE_UPDATE_FIELD: update_id}},
    )


@dataclasses.dataclass(frozen=True, slots=True)
class InvalidEnvelope:
    """What a line was that is no envelope: why, for the log, and how long."""

    reason: str
    byte_length: int


@wire
class OtherEnvelope(Wire):
    """A well-formed request of a kind that is not in force here."""

    kind: str = said(Text(LONGEST_ID), "what it called itself")
    request_id: str = said(Text(LONGEST_ID), "repeated by the ack")
    auth: str | None = said(Dropped(Text(LONGEST_AUTH, 0)), "secret of the lease", None)

    @property
    def KIND(self) -> str:  # noqa: N802 - as every envelope has it
        return self.kind

    @property
    def sender(self) -> str:
        """Whom the request ledger keeps this under."""
        return "operator"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def parse_line(line: bytes) -> Envelope | OtherEnvelope | InvalidEnvelope:
    """The envelope of one line, with or without its newline."""
    try:
        plain = _DECODER.decode(line.decode())
    except (ValueError, RecursionError) as invalid:
        return InvalidEnvelope(f"no JSON: {type(invalid).__name__}", len(line))
    if type(plain) is not dict:
        return InvalidEnvelope("no object", len(line))
    if plain.get("kind") == Heartbeat.KIND:
        heartbeat = fast_heartbeat(plain)
        if heartbeat is not None:
            return heartbeat
    return load(plain, len(line))


def load(plain: dict[str, Any], byte_length: int = 0) -> Envelope | OtherEnvelope | InvalidEnvelope:
    """The envelope of a JSON object, by its schema."""
    kind = plain.get("kind")
    declared: Any = KINDS.get(kind) if type(kind) is str else None
    try:
        return (declared or OtherEnvelope).load(plain)
    except (ValidationError, RecursionError) as invalid:
        return InvalidEnvelope(f"{kind!s:.64}: {invalid!s:.512}", byte_length)


def fast_heartbeat(plain: dict[str, Any]) -> Heartbeat | None:
    """What `load` would give, for the most frequent kind; None leaves the case to `load`."""
    request_id = plain.get("requestId")
    auth = plain.get("auth")
    instance_id = plain.get("instanceId")
    generation = plain.get("registrationGeneration")
    sent_at_ms = plain.get("sentAtMs")
    if (
        is_text(request_id, LONGEST_ID)
        and is_text(auth, LONGEST_AUTH, 0)
        and is_text(instance_id, LONGEST_ID)
        and is_text(generation, LONGEST_ID, 0)
        and is_number(sent_at_ms)
    ):
        return Heartbeat(
            request_id=request_id,
            auth=auth,
            instance_id=instance_id,
            registration_generation=generation,
            sent_at_ms=sent_at_ms,
        )
    return None


def plainly_readable(said_envelope: Envelope) -> bool:
    """Whether an envelope needs no reading back: the most frequent kind, an ack without error or identity."""
    return (
        type(said_envelope) is Ack
        and said_envelope.protocol is None
        and said_envelope.error is None
        and type(said_envelope.ok) is bool
        and is_text(said_envelope.request_id, LONGEST_ID)
        and (said_envelope.message is None or is_text(said_envelope.message, LONGEST_TEXT, 0))
    )


def dump(said_envelope: Envelope) -> bytes:
    """One line with its newline; raises MessageInvalid for what would not be read back."""
    plain = {"kind": said_envelope.KIND, **said_envelope.plain()}
    if not plainly_readable(said_envelope):
        loaded = load(plain)
        if isinstance(loaded, InvalidEnvelope):
            raise MessageInvalid(loaded.reason)
        if loaded != said_envelope:
            raise MessageInvalid(f"{said_envelope.KIND} would not arrive as it is said")
    try:
        line = _ENCODER.encode(plain).encode() + b"\n"
    except (ValueError, TypeError, RecursionError) as invalid:
        raise MessageInvalid(f"{said_envelope.KIND}: {invalid}") from None
    if len(line) > MAX_LINE:
        raise MessageInvalid(f"{said_envelope.KIND} is longer than a line may be")
    return line
