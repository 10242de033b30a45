"""What an operator asks of the leader, and what the leader passes on to one of its followers.

Ours alone: another program on this bus neither sends nor understands these. The secret of the lease is the
operator's proof, as it is a follower's.
"""

from messages.bus_envelopes import (
    Envelope,
    auth_field,
    envelope,
    generation_field,
    recipient_field,
    request_id_field,
    sent_at_field,
)
from messages.bus_parts import LONGEST_ID, LONGEST_THREAD_NAME
from messages.kind import said
from messages.wire import Name, OneOf, Text, Whole

RETRY, DROP = "retry", "drop"
CLOSE, RELOAD = "close", "reload"
WISHES = (CLOSE, RELOAD, RETRY, DROP)


class OperatorRequest(Envelope):
    """Base of what operators ask for, besides a description."""


@envelope("operator.stepDown")
class StepDown(OperatorRequest):
    """Give up the lease in order, so that another process takes it."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "the leader that is meant")


@envelope("operator.closeThread")
class CloseThread(OperatorRequest):
    """Delete this thread; a process that works there ends."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    binding_key: str = said(Text(LONGEST_ID), "whose thread")


@envelope("operator.renameThread")
class NameThread(OperatorRequest):
    """Give this thread another name, for good."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    binding_key: str = said(Text(LONGEST_ID), "whose thread")
    thread_name: str = said(Name(LONGEST_THREAD_NAME), "the new name")


@envelope("operator.dropRegistration")
class DropRegistration(OperatorRequest):
    """End this registration; the thread stays, and a process that lives registers anew."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "whose registration")


@envelope("operator.prune")
class PruneNow(OperatorRequest):
    """Look at every process now, and retire those that are proven dead."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()


@envelope("operator.settleUpdate")
class SettleUpdate(OperatorRequest):
    """Try an update again that was given up before it reached its process, or drop it."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    update_id: int = said(Whole(minimum=0), "Telegram's update id")
    choice: str = said(OneOf((RETRY, DROP)), "which")


@envelope("operator.passWish")
class PassWish(OperatorRequest):
    """Have one process do something about itself."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "which process")
    wish: str = said(OneOf(WISHES), "what")
    delivery_id: str | None = said(Text(LONGEST_ID), "for retry and drop: what it is about", None)


@envelope("leader.conveyWish")
class ConveyWish(Envelope):
    """An operator's wish, to the process that it is about."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    recipient_instance_id: str = recipient_field()
    recipient_registration_generation: str | None = generation_field()
    wish: str = said(OneOf(WISHES), "what")
    delivery_id: str | None = said(Text(LONGEST_ID), "for retry and drop: what it is about", None)
    sent_at_ms: float = sent_at_field()

    @property
    def sender(self) -> str:
        return self.recipient_instance_id
