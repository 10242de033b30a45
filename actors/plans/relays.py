"""Updates handed to followers, and what a follower's answer means (leader.md 7.3).

Only the exact receipt completes an update. Everything else leaves it with the inbox.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

RELAY_DEADLINE_MS = 30_000


@dataclasses.dataclass(frozen=True, slots=True)
class Relay:
    """One update under way to a follower."""

    command_id: str
    instance_id: str
    connection: int | None
    delivery_id: str
    update_id: int
    deadline: int


def settle(relay: Relay, ack: Any) -> tuple[str, str]:
    """(failure class, text) of an answer; the class is empty when it was accepted."""
    if ack is None:
        return "acknowledgement-missing", "no answer"
    if not ack.ok:
        return "acknowledgement-rejected", ack.message or "refused"
    receipt = ack.result if isinstance(ack.result, Mapping) else {}
    if "deliveryId" not in receipt or "sourceUpdateId" not in receipt:
        return "durable-receipt-missing", "no receipt"
    if (receipt["deliveryId"], receipt["sourceUpdateId"]) != (relay.delivery_id, relay.update_id):
        return "durable-receipt-mismatched", "receipt of another delivery"
    return "", ""
