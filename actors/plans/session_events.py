"""What the session tells its plan: frozen values."""

import dataclasses
import enum

from actors.plans.delivery import Item


@dataclasses.dataclass(frozen=True, slots=True)
class Traits:
    """What the plan must know of a mode."""

    repeats: bool = False
    """A run that was cut off is simply run again: it has no effect but its answer."""

    stoppable: bool = True
    announces_queue: bool = True
    """A prompt that has to wait is told so."""

    shows_everything: bool = False
    """Attachments without text and later edits are shown as well, by a word."""


@dataclasses.dataclass(frozen=True, slots=True)
class Restored:
    """A delivery that an earlier process left, with the state of its row."""

    item: Item
    state: str


class RunOutcome(enum.StrEnum):
    """How the mode came back."""

    ANSWERED = "answered"
    NOT_STARTED = "not-started"
    """It failed before anything was executed, so it may be tried again."""

    BROKE = "broke"
    """It failed in the middle: something may have been executed."""

    INTERRUPTED = "interrupted"
    """It was ended because this process ends."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunEnded:
    """The end of a run."""

    delivery_id: str
    outcome: RunOutcome
    parts: tuple[str, ...] = ()
    draft: int | None = None
    """The message that showed the run while it went on."""

    doubtful: str | None = None
    """The text of such a message that may have been sent or not."""

    reason: str = ""


class Delivery(enum.StrEnum):
    """How the sending of an answer ended."""

    SENT = "sent"
    UNKNOWN = "unknown"
    """The part after the ones reported as sent may be in the thread or not."""

    REFUSED = "refused"
    DRAFT_LOST = "draft-lost"
    """The message to become the first part cannot be edited; nothing was sent instead yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Delivered:
    """The end of the sending of an answer."""

    delivery_id: str
    outcome: Delivery
    reason: str = ""
