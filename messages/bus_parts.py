"""What the envelopes of the bus are made of: target, registration, delivery, error.

The bounds of every text on the bus are here.
"""

import functools
import hashlib
import json
import string
from typing import Any

from marshmallow import ValidationError, fields

from messages.bus_protocol import ProtocolIdentity
from messages.bus_texts import ERROR_CODES
from messages.kind import said
from messages.wire import (
    Dropped,
    Name,
    Number,
    OneOf,
    Part,
    Text,
    Whole,
    Wire,
    is_text,
    is_whole,
    wire,
)

DELIVERY_PREFIX = "telegram-follower-v1-"

SLOTS = frozenset(string.ascii_uppercase)

LONGEST_ID = 256
LONGEST_THREAD_NAME = 128
LONGEST_AUTH = 1024
LONGEST_PATH = 4096
LONGEST_TEXT = 4096
LONGEST_METHOD = 128
LONGEST_PROMPT = 65_536


@wire
class Target(Wire):
    """Where a process speaks: a chat, and a thread of it or (absent) the plain chat."""

    chat_id: int = said(Whole(), "the chat")
    thread_id: int | None = said(Whole(minimum=1), "message_thread_id", None)

    @property
    def key(self) -> str:
        """`<chat>:<thread>`, `<chat>:private` without one."""
        return f"{self.chat_id}:{'private' if self.thread_id is None else self.thread_id}"


class TargetField(Part):
    """Present but malformed (null included) spoils the envelope."""

    def __init__(self, thread_needed: bool = False) -> None:
        super().__init__(Target)
        self.thread_needed = thread_needed

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Target:
        target = super()._deserialize(value, attr, data, **kwargs)
        if self.thread_needed and target.thread_id is None:
            raise ValidationError("a thread is needed")
        return target

    def deserialize(self, value: Any, attr: Any = None, data: Any = None, **kwargs: Any) -> Any:
        if value is None:
            raise ValidationError("no target")
        return super().deserialize(value, attr, data, **kwargs)


@wire
class Registration(Wire):
    """A process asks for its thread."""

    instance_id: str = said(Text(LONGEST_ID), "<pid>:<createdAtMs> by convention")
    connected_at_ms: float = said(Number(), "the follower's clock; the leader puts its own")
    previous_instance_id: str | None = said(Text(LONGEST_ID), "earlier id of the same run", None)
    profile_key: str | None = said(Text(LONGEST_ID), "binding key; absent: none is durable", None)
    thread_name: str | None = said(Name(LONGEST_THREAD_NAME), "the name it carries", None)
    slot: str | None = said(Dropped(OneOf(SLOTS)), "the slot it carries", None)
    cwd: str | None = said(Text(LONGEST_PATH), "its directory, for people", None)
    session_id: str | None = said(Text(LONGEST_ID), "reserved for workspaces", None)
    pid: int | None = said(Whole(minimum=1), "for the proof of death", None)
    target: Target | None = said(TargetField(), "the target it had", None)
    bus_socket_path: str | None = said(Text(LONGEST_PATH), "where it listens; duplex: absent", None)
    registration_generation: str | None = said(
        Text(LONGEST_ID, 0), "fences everything after; absent or empty: refused", None
    )
    session_generation: int | None = said(Whole(minimum=1), "rises with each session", None)
    process_birth_id: str | None = said(Text(LONGEST_ID), "birth of the pid", None)
    protocol: ProtocolIdentity | None = said(
        Dropped(Part(ProtocolIdentity)), "what it speaks", None
    )


class _DeliveryId(fields.Field):
    """The prefix and 64 hexadecimal digits."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if type(value) is str and value.startswith(DELIVERY_PREFIX):
            digits = value[len(DELIVERY_PREFIX):]
            if len(digits) == 64 and not digits.strip("0123456789abcdef"):
                return value
        raise ValidationError("no delivery id")


@wire
class Delivery(Wire):
    """Which update is forwarded to which binding; the same in every attempt."""

    delivery_id: str = said(_DeliveryId(), "see `delivery_id`")
    source_update_id: int = said(Whole(minimum=0), "Telegram's update id")
    recipient_binding_key: str = said(Text(LONGEST_ID), "binding key of the recipient")

    def receipt(self) -> dict[str, Any]:
        """The result of the ack once the update is journalled."""
        return {"deliveryId": self.delivery_id, "sourceUpdateId": self.source_update_id}


@functools.lru_cache(maxsize=1024)
def delivery_id(kind: str, binding_key: str, update_id: int) -> str:
    """Stable over attempts, processes and generations; ValueError for what can be no delivery."""
    if not is_text(binding_key, LONGEST_ID) or not is_whole(update_id, 0):
        raise ValueError("a delivery needs a binding key and an update id")
    identity = {
        "version": 1,
        "kind": kind,
        "recipientBindingKey": binding_key,
        "sourceUpdateId": update_id,
    }
    compact = json.dumps(identity, separators=(",", ":"), ensure_ascii=False)
    return DELIVERY_PREFIX + hashlib.sha256(compact.encode()).hexdigest()


@wire
class AckError(Wire):
    """Why, for programs."""

    code: str = said(OneOf(ERROR_CODES), "one of the known codes")
    method: str | None = said(Text(LONGEST_METHOD), "Bot API method", None)
    chat_id: int | None = said(Whole(), "of a stale target", None)
    thread_id: int | None = said(Whole(), "of a stale target", None)
