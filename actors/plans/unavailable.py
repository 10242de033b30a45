"""What the contract has and this program does not do yet: each kind gets the contract's own refusal.

A refusal changes nothing, so nobody's liveness is refreshed by it.
"""

from typing import Any

from actors.plans.bus_request import BusRequest
from actors.plans.effects import Effects
from messages.bus import (
    AckError,
    OfferQueueHandoff,
    RenameThread,
    ResetThreadName,
    RestoreWorkspace,
)
from messages.bus_protocol import OURS, Incompatible, agreed, compatibility
from messages.bus_texts import INCOMPATIBLE_PROTOCOL, M


def refuse(plan: Any, request: BusRequest) -> Effects:
    """The ack of a kind that is not available here."""
    envelope: Any = request.envelope
    match envelope:
        case RestoreWorkspace():
            return _refuse_restore(plan, request)
        case OfferQueueHandoff():
            return plan.refused(request.asked, _handoff(plan, envelope))
        case RenameThread():
            holds = _holds(plan, envelope)
            text = M.RENAME_UNAVAILABLE if holds else M.STALE_GENERATION
            return plan.refused(request.asked, text)
        case ResetThreadName():
            holds = _holds(plan, envelope)
            text = M.RESET_UNAVAILABLE if holds else M.STALE_OR_UNKNOWN
            return plan.refused(request.asked, text)
    return plan.refused(request.asked, M.DISPLAY_AUTHORITY)


def _refuse_restore(plan: Any, request: BusRequest) -> Effects:
    protocol = request.envelope.registration.protocol
    # We never advertise that workspaces connect by themselves, so no peer can have it in common with us.
    reason = compatibility(OURS, protocol) or Incompatible.MISSING_CAPABILITY
    return plan.refused(
        request.asked,
        M.INCOMPATIBLE.format(reason=reason.value),
        AckError(code=INCOMPATIBLE_PROTOCOL),
        protocol=agreed(OURS, protocol),
    )


def _handoff(plan: Any, envelope: OfferQueueHandoff) -> str:
    donor = plan.roster.get(envelope.instance_id)
    if donor is None:
        return M.UNKNOWN_FOLLOWER
    if donor.generation != envelope.registration_generation:
        return M.STALE_GENERATION
    return M.HANDOFF_CAPABILITY


def _holds(plan: Any, envelope: RenameThread | ResetThreadName) -> bool:
    """Whether the sender is exactly this registration and its live thread is the one it names."""
    follower = plan.roster.get(envelope.instance_id)
    return (
        follower is not None
        and follower.generation == envelope.registration_generation
        and follower.target == envelope.target
    )
