"""Kinds that the contract has and this program does not carry out yet: read in full, so that a malformed one
is told apart, and refused with the contract's own words. Their plan is `actors.plans.unavailable`.
"""

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
from messages.bus_parts import LONGEST_ID, LONGEST_THREAD_NAME, Registration, Target, TargetField
from messages.kind import said
from messages.wire import Mapping, Name, OneOf, Part, Text, Whole

DISPLAY_MODES = ("letters", "names", "directory-snake", "directory-title")

MOST_RECEIPTS = 256
LONGEST_TOKEN = 256
SHORTEST_TOKEN = 32


class Reserved(Envelope):
    """Base of the kinds that are refused."""


class _Payload(Mapping):
    """Work of the queue: an object with 1 to 256 receipts."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> dict:
        payload = super()._deserialize(value, attr, data, **kwargs)
        receipts = payload.get("receipts")
        if type(receipts) is not list or not 1 <= len(receipts) <= MOST_RECEIPTS:
            raise ValidationError(f"no list of 1 to {MOST_RECEIPTS} receipts")
        return payload


@envelope("follower.restoreWorkspace")
class RestoreWorkspace(Reserved):
    """Give me the thread of my workspace, if there is one."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    registration: Registration = said(Part(Registration), "who asks")

    @property
    def sender(self) -> str:
        return self.registration.instance_id


@envelope("follower.offerQueueHandoff")
class OfferQueueHandoff(Reserved):
    """Another process shall take over this work of mine."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "the donor")
    registration_generation: str = said(Text(LONGEST_ID), "of the donor's registration")
    recipient_instance_id: str = said(Text(LONGEST_ID), "who shall take it")
    recipient_registration_generation: str = said(Text(LONGEST_ID), "of exactly this registration")
    donor_process_id: int = said(Whole(minimum=1), "pid of the donor")
    donor_process_birth_id: str = said(Text(LONGEST_ID), "birth of that pid")
    donor_session_generation: int = said(Whole(minimum=1), "session that gives the work away")
    donor_acquisition_id: str = said(Text(LONGEST_ID), "how the donor came to it")
    donor_acquired_at_ms: int = said(Whole(minimum=0), "when")
    handoff_token: str = said(Text(LONGEST_TOKEN, SHORTEST_TOKEN), "names this handoff")
    payload: dict = said(_Payload(), "the work and its receipts")
    sent_at_ms: float = sent_at_field()


@envelope("follower.setThreadDisplayMode")
class SetThreadDisplayMode(Reserved):
    """Show all threads in another way."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "who")
    registration_generation: str | None = generation_field()
    mode: str = said(OneOf(DISPLAY_MODES), "in which")


@envelope("follower.renameThread")
class RenameThread(Reserved):
    """Give my thread this name."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "who")
    registration_generation: str | None = generation_field()
    target: Target = said(TargetField(thread_needed=True), "the thread")
    thread_name: str = said(Name(LONGEST_THREAD_NAME), "the name")
    sent_at_ms: float = sent_at_field()


@envelope("follower.resetThreadName")
class ResetThreadName(Reserved):
    """Give my thread the name back that it had by itself."""

    request_id: str = request_id_field()
    auth: str | None = auth_field()
    instance_id: str = said(Text(LONGEST_ID), "who")
    registration_generation: str | None = generation_field()
    target: Target = said(TargetField(thread_needed=True), "the thread")
    sent_at_ms: float = sent_at_field()
