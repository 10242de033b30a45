"""The envelope around every message between actors: who says what to which incarnation, until when."""

import dataclasses
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from messages import (
    actor,
    follower_mutation,
    follower_registry,
    inbox,
    leader,
    poller,
    prune_supervisor,
    target_provisioner,
    telegram_gateway,
)
from messages.kind import MessageInvalid, dump_body, load_body

BODIES = (
    actor,
    follower_mutation,
    follower_registry,
    inbox,
    leader,
    poller,
    prune_supervisor,
    target_provisioner,
    telegram_gateway,
)
"""What an envelope may carry: whoever can load one has every kind in the catalogue."""


class ReceiverSchema(Schema):
    """The actor meant: its key in the tree and which of its incarnations."""

    class Meta:
        unknown = RAISE

    key = fields.String(required=True, validate=validate.Length(1, 300))
    incarnation = fields.Integer(required=True, strict=True)


class EnvelopeSchema(Schema):
    """The plain form of an envelope."""

    class Meta:
        unknown = RAISE

    kind = fields.String(required=True)
    version = fields.Integer(required=True, strict=True)
    message_id = fields.String(required=True, validate=validate.Length(1, 600))
    in_reply_to = fields.String(required=True, allow_none=True)
    to = fields.Nested(ReceiverSchema, required=True)
    deadline = fields.Integer(required=True, strict=True, allow_none=True)
    body = fields.Dict(keys=fields.String(), required=True)


_ENVELOPE = EnvelopeSchema()
_NAMES = frozenset(EnvelopeSchema().fields)
_RECEIVER_NAMES = frozenset(ReceiverSchema().fields)

ANY_INCARNATION = 0
"""The incarnation of a receiver that has not been configured yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Envelope:
    """A loaded envelope: `body` is a dataclass of the catalogue, `deadline` boot-clock milliseconds."""

    body: Any
    message_id: str
    key: str
    incarnation: int = ANY_INCARNATION
    in_reply_to: str | None = None
    deadline: int | None = None

    @property
    def kind(self) -> str:
        """The kind of the body."""
        return self.body.KIND

    def dump(self, incarnation: int | None = None) -> dict[str, Any]:
        """The plain dict that travels, to this incarnation if one is given; raises MessageInvalid."""
        return {
            "kind": self.body.KIND,
            "version": self.body.VERSION,
            "message_id": self.message_id,
            "in_reply_to": self.in_reply_to,
            "to": {
                "key": self.key,
                "incarnation": self.incarnation if incarnation is None else incarnation,
            },
            "deadline": self.deadline,
            "body": dump_body(self.body),
        }


def _is_plainly_right(plain: Any) -> bool:
    """Whether the schema would load exactly this; False leaves the case to the schema."""
    if type(plain) is not dict or plain.keys() != _NAMES:
        return False
    to = plain["to"]
    return (
        type(plain["kind"]) is str
        and type(plain["version"]) is int
        and type(plain["message_id"]) is str
        and 1 <= len(plain["message_id"]) <= 600
        and (plain["in_reply_to"] is None or type(plain["in_reply_to"]) is str)
        and type(to) is dict
        and to.keys() == _RECEIVER_NAMES
        and type(to["key"]) is str
        and 1 <= len(to["key"]) <= 300
        and type(to["incarnation"]) is int
        and (plain["deadline"] is None or type(plain["deadline"]) is int)
        and type(plain["body"]) is dict
        and all(type(name) is str for name in plain["body"])
    )


def load_envelope(plain: Any) -> Envelope:
    """Load what arrived; raises MessageInvalid naming what does not fit."""
    try:
        loaded = plain if _is_plainly_right(plain) else _ENVELOPE.load(plain)
    except ValidationError as invalid:
        raise MessageInvalid(f"envelope: {invalid.normalized_messages()}") from None
    return Envelope(
        body=load_body(loaded["kind"], loaded["version"], loaded["body"]),
        message_id=loaded["message_id"],
        key=loaded["to"]["key"],
        incarnation=loaded["to"]["incarnation"],
        in_reply_to=loaded["in_reply_to"],
        deadline=loaded["deadline"],
    )
