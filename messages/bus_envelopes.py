"""The kinds of envelope in force on the bus, each with its fields. Rules are in `messages.bus`."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from messages.bus_parts import (
    LONGEST_AUTH,
    LONGEST_ID,
    LONGEST_METHOD,
    LONGEST_TEXT,
    AckError,
    Delivery,
    Registration,
    Target,
    TargetField,
)
from messages.bus_protocol import ProtocolIdentity
from messages.kind import said
from messages.wire import (
    Anything,
    Dropped,
    Items,
    Mapping,
    Number,
    OneOf,
    Part,
    Text,
    Truth,
    Wire,
    wire,
)

SOURCE_UPDATE_FIELD = "pi_telegram_source_update_id"
"""The private field of a forwarded carrier that repeats the update id of its delivery."""

KINDS: dict[str, type["Envelope"]] = {}
"""Every kind in force."""

E = TypeVar("E", bound=type)


class Envelope(Wire):
    """Base of the kinds in force."""

    KIND: ClassVar[str]
    request_id: str

    @property
    def sender(self) -> str:
        """Whom the request ledger keeps this under."""
        return getattr(self, "instance_id", None) or "operator"


def envelope(kind: str) -> Callable[[E], E]:
    """Declare the class of a kind."""

    def declare(cls: E) -> E:
        declared: Any = wire(cls)
        declared.KIND = kind
        KINDS[kind] = declared
        return declared

    return declare


def request_id_field() -> Any:
    """Every envelope has it."""
    return said(Text(LONGEST_ID), "repeated by the ack")


def auth_field() -> Any:
    """Every request has it; what is no text counts as absent."""
    return said(Dropped(Text(LONGEST_AUTH, 0)), "secret of the lease", None)


def generation_field() -> Any:
    """Of the sender's registration."""
    return said(Text(LONGEST_ID, 0), "of the registration; absent counts as stale", None)


def sent_at_field() -> Any:
    """For the log."""
    return said(Number(), "sender's wall clock, ms")


@envelope("follower.register")
class Register(Envelope):
    """Give me my thread."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    registration: Registration = said(Part(Registration), "who asks")

    @property
    def sender(self) -> str:
        return self.registration.instance_id


@envelope("follower.heartbeat")
class Heartbeat(Envelope):
    """I am here."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "who")
    registration_generation: str | None = generation_field()
    sent_at_ms: float = sent_at_field()


@envelope("follower.disconnect")
class Disconnect(Envelope):
    """Give my thread back."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "who")
    registration_generation: str | None = generation_field()
    sent_at_ms: float = sent_at_field()


@envelope("follower.callApi")
class CallApi(Envelope):
    """Make this call to Telegram for me."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "who")
    registration_generation: str | None = generation_field()
    method: str = said(Text(LONGEST_METHOD), "call, callMultipart or downloadFile")
    args: list = said(Items(), 'for call: ["sendMessage", {body}]')
    sent_at_ms: float = sent_at_field()


class Forward(Envelope):
    """Base of the four forwards."""

    CARRIER: ClassVar[str]
    recipient_instance_id: str
    recipient_registration_generation: str
    delivery: Delivery

    @property
    def sender(self) -> str:
        return self.recipient_instance_id

    @property
    def carrier(self) -> dict[str, Any]:
        """The forwarded object as it came from Telegram, with `SOURCE_UPDATE_FIELD`."""
        return getattr(self, self.CARRIER)


def recipient_field() -> Any:
    """Of what the leader sends."""
    return said(Text(LONGEST_ID), "for this process only")


def recipient_generation_field() -> Any:
    """Of what the leader sends."""
    return said(Text(LONGEST_ID), "for exactly this registration")


def delivery_field() -> Any:
    """Of the four forwards."""
    return said(Part(Delivery), "which update")


@envelope("leader.forwardMessage")
class ForwardMessage(Forward):
    """A new message."""

    CARRIER = "message"
    request_id: str = request_id_field()
    auth: str | None = auth_field()
    recipient_instance_id: str = recipient_field()
    recipient_registration_generation: str = recipient_generation_field()
    delivery: Delivery = delivery_field()
    message: dict = said(Mapping(), "Telegram's Message")
    forward_comment_batch_position: str | None = said(
        OneOf(("comment", "forward")), "place in a forward with comment", None
    )
    sent_at_ms: float = sent_at_field()


@envelope("leader.forwardEditedMessage")
class ForwardEditedMessage(Forward):
    """A message was edited."""

    CARRIER = "message"
    request_id: str = request_id_field()
    auth: str | None = auth_field()
    recipient_instance_id: str = recipient_field()
    recipient_registration_generation: str = recipient_generation_field()
    delivery: Delivery = delivery_field()
    message: dict = said(Mapping(), "Telegram's Message")
    sent_at_ms: float = sent_at_field()


@envelope("leader.forwardCallback")
class ForwardCallback(Forward):
    """A button was pressed."""

    CARRIER = "query"
    request_id: str = request_id_field()
    auth: str | None = auth_field()
    recipient_instance_id: str = recipient_field()
    recipient_registration_generation: str = recipient_generation_field()
    delivery: Delivery = delivery_field()
    query: dict = said(Mapping(), "Telegram's CallbackQuery")
    sent_at_ms: float = sent_at_field()


@envelope("leader.forwardReaction")
class ForwardReaction(Forward):
    """A reaction changed."""

    CARRIER = "reaction_update"
    request_id: str = request_id_field()
    auth: str | None = auth_field()
    recipient_instance_id: str = recipient_field()
    recipient_registration_generation: str = recipient_generation_field()
    delivery: Delivery = delivery_field()
    reaction_update: dict = said(Mapping(), "Telegram's MessageReactionUpdated")
    sent_at_ms: float = sent_at_field()


@envelope("leader.replaceFollowerTarget")
class ReplaceFollowerTarget(Envelope):
    """Your thread was deleted; this one took its place."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    recipient_instance_id: str = recipient_field()
    recipient_registration_generation: str | None = generation_field()
    target: Target = said(TargetField(thread_needed=True), "the new thread")
    old_target: Target | None = said(TargetField(), "the lost thread", None)
    reason: str = said(OneOf(("thread-restore",)), "why")
    sent_at_ms: float = sent_at_field()

    @property
    def sender(self) -> str:
        return self.recipient_instance_id


@envelope("operator.describe")
class Describe(Envelope):
    """What goes on? Ours: asked by `status`."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()


@envelope("bus.ack")
class Ack(Envelope):
    """The answer to a request."""

    request_id: str = request_id_field()
    ok: bool = said(Truth(), "done?")
    message: str | None = said(Text(LONGEST_TEXT, 0), "a sentence for people", None)
    result: Any = said(Anything(), "what came of it", None)
    protocol: ProtocolIdentity | None = said(
        Dropped(Part(ProtocolIdentity)), "with every answer to a register", None
    )
    error: AckError | None = said(Dropped(Part(AckError)), "an unknown code counts as absent", None)

    @property
    def sender(self) -> str:
        return "ack"


FORWARDS: dict[str, type[Forward]] = {
    cls.KIND: cls
    for cls in (ForwardMessage, ForwardEditedMessage, ForwardCallback, ForwardReaction)
}
