"""What the bus says when it refuses: one constant a key, and the error codes of the contract."""

from typing import Final

# -- error codes of a bus.ack ----------------------------------------------------------------------

COMMIT_UNKNOWN: Final = "commit-unknown"
REQUEST_ID_COLLISION: Final = "request-id-collision"
LEDGER_OVERLOADED: Final = "ledger-overloaded"
INCOMPATIBLE_PROTOCOL: Final = "incompatible-protocol"
STALE_TARGET: Final = "stale-target"
WORKSPACE_BINDING_UNAVAILABLE: Final = "workspace-binding-unavailable"

ERROR_CODES: Final = frozenset(
    {
        COMMIT_UNKNOWN,
        REQUEST_ID_COLLISION,
        LEDGER_OVERLOADED,
        INCOMPATIBLE_PROTOCOL,
        STALE_TARGET,
        WORKSPACE_BINDING_UNAVAILABLE,
    }
)


class M:
    """The texts of negative acks, by the keys of the contract."""

    INVALID_ENVELOPE: Final = "This line is no valid envelope."
    LINE_TOO_LONG: Final = "This line is longer than a megabyte and was not read."
    REQUEST_ID_COLLISION: Final = "This request id was used for another request."
    LEDGER_OVERLOADED: Final = "Too many requests are unanswered. Try again later."
    RESPONSE_AS_REQUEST: Final = "An answer is no request."
    UNAUTHORIZED: Final = "The secret is wrong."
    HANDLER_FAILED: Final = "The request failed inside the leader."
    NOT_HANDLED: Final = "This kind of request is not handled here."

    INCOMPATIBLE: Final = "The protocols do not fit: {reason}."
    GENERATION_REQUIRED: Final = "A registration needs a generation."
    LEADER_REQUIRED: Final = "This process does not lead."
    LEADER_LOST: Final = "This process no longer leads. Register with its successor."
    TARGET_FAILED: Final = "No thread could be had."
    SLOT_AUTHORITY: Final = "No slot is free."
    NOT_OPEN_YET: Final = "The endpoint is not open yet."

    UNKNOWN_FOLLOWER: Final = "No such follower is registered."
    STALE_GENERATION: Final = "This registration was replaced by a newer one."
    STALE_OR_UNKNOWN: Final = "This thread is not the one of a live registration."
    NOT_RECIPIENT: Final = "This is for another process."
    NOT_BINDING: Final = "This is for another binding."

    API_NOT_ALLOWED: Final = "This call is not allowed from here."
    API_UNAVAILABLE: Final = "Telegram cannot be reached from here."
    API_FAILED: Final = "The call to Telegram failed."

    AGENT_TARGET_UNAVAILABLE: Final = "No other live process has this thread, or several have."
    RENAME_UNAVAILABLE: Final = "Threads cannot be renamed from here."
    RESET_UNAVAILABLE: Final = "Names of threads cannot be reset from here."
    DISPLAY_AUTHORITY: Final = "How threads are shown cannot be changed from here."
    HANDOFF_CAPABILITY: Final = "Work cannot be handed over between these processes."

    FORWARD_REJECTED: Final = "The follower did not take it."
    FORWARD_FAILED: Final = "The follower could not be reached."
    DELIVERY_MISMATCH: Final = "The delivery does not fit its content."
    ADMISSION_FAILED: Final = "It could not be journalled."
