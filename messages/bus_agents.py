"""What one process asks of another's thread: who has it, and a message to whoever works there."""

from typing import Any

from marshmallow import ValidationError

from messages.bus_envelopes import (
    Envelope,
    auth_field,
    envelope,
    generation_field,
    request_id_field,
    sent_at_field,
)
from messages.bus_parts import LONGEST_ID, LONGEST_PROMPT, LONGEST_THREAD_NAME, Target, TargetField
from messages.kind import said
from messages.wire import Name, Part, Text, Whole, Wire, wire


@wire
class Selector(Wire):
    """A thread by its id or by its name: exactly one of both, and which chat if it matters."""

    thread_id: int | None = said(Whole(minimum=1), "message_thread_id", None)
    thread_name: str | None = said(Name(LONGEST_THREAD_NAME), "its name, in any case", None)
    chat_id: int | None = said(Whole(), "the chat; absent: the one of this bot", None)

    @classmethod
    def load(cls, plain: Any) -> "Selector":
        selector = super().load(plain)
        if (selector.thread_id is None) == (selector.thread_name is None):
            raise ValidationError("a thread is chosen by its id or by its name")
        if selector.thread_name is None:
            return selector
        return cls(thread_name=selector.thread_name.strip(), chat_id=selector.chat_id)


class _Words(Text):
    """A text that says something."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        words = super()._deserialize(value, attr, data, **kwargs)
        if not words.strip():
            raise ValidationError("a blank text")
        return words


@wire
class AgentMessage(Wire):
    """A message that its sender has put into another's thread."""

    target: Target = said(TargetField(thread_needed=True), "the thread")
    message_id: int = said(Whole(minimum=1), "the message there")
    text: str = said(_Words(LONGEST_PROMPT), "what it says")


@envelope("follower.resolveAgentTarget")
class ResolveAgentTarget(Envelope):
    """Which thread is this?"""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "who")
    registration_generation: str | None = generation_field()
    selector: Selector = said(Part(Selector), "which thread is meant")
    sent_at_ms: float = sent_at_field()


@envelope("follower.routeAgentMessage")
class RouteAgentMessage(Envelope):
    """Hand this message to whoever works in that thread."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "who")
    registration_generation: str | None = generation_field()
    message: AgentMessage = said(Part(AgentMessage), "what to hand over")
    sent_at_ms: float = sent_at_field()
