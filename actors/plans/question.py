"""The questions that a delivery may leave in its thread, and what their buttons mean: pure.

The data of a button is `s:<verb>:<last eight of the delivery id>`, so that a button still works
after a restart, when nobody remembers having sent it.
"""

import dataclasses
import enum
from collections.abc import Mapping

from actors.plans.delivery import Item
from actors.plans.output import clip
from messages import texts

PREFIX = "s"
STOP = "stop"
CLOSE, KEEP = "close", "keep"
"""What may be answered to the question whether the thread is to be deleted."""
_EXCERPT_UNITS = 40


class Question(enum.StrEnum):
    """Why a delivery waits for its owner; the value is the state of its row."""

    CUT_OFF = "cut_off"
    """The process ended while it ran: nobody knows how far it got."""

    UNCLEAR = "unclear"
    """A part of its answer may be in the thread or not."""

    DEAD = "dead"
    """It failed eight times."""


class Choice(enum.StrEnum):
    """What a button asks for; the value is the verb in its data."""

    RUN_AGAIN = "again"
    TRY_AGAIN = "try"
    SEND_AGAIN = "send"
    ARRIVED = "ok"
    DROP = "drop"


@dataclasses.dataclass(frozen=True, slots=True)
class Wording:
    """A question, its buttons, and what the question becomes when a button was pressed."""

    text: str
    choices: Mapping[Choice, tuple[str, str]]


WORDINGS: Mapping[Question, Wording] = {
    Question.CUT_OFF: Wording(
        texts.CUT_OFF,
        {
            Choice.RUN_AGAIN: (texts.BUTTON_RUN_AGAIN, texts.RUNNING_AGAIN),
            Choice.DROP: (texts.BUTTON_DROP, texts.CUT_OFF_DROPPED),
        },
    ),
    Question.UNCLEAR: Wording(
        texts.ANSWER_UNCLEAR,
        {
            Choice.SEND_AGAIN: (texts.BUTTON_SEND_AGAIN, texts.ANSWER_SENT_AGAIN),
            Choice.ARRIVED: (texts.BUTTON_IT_ARRIVED, texts.ANSWER_ARRIVED),
        },
    ),
    Question.DEAD: Wording(
        texts.NOT_DELIVERED,
        {
            Choice.TRY_AGAIN: (texts.BUTTON_TRY_AGAIN, texts.TRYING_AGAIN),
            Choice.DROP: (texts.BUTTON_DROP, texts.NOT_DELIVERED_DROPPED),
        },
    ),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """A delivery that waits for an answer to a question."""

    item: Item
    question: Question


Buttons = tuple[tuple[str, str], ...]
"""Label and data of each button."""


def text_of(held: Held, tries: int) -> str:
    """The question as it is shown."""
    excerpt = clip(held.item.text, _EXCERPT_UNITS)
    return WORDINGS[held.question].text.format(tries=tries, excerpt=excerpt)


def buttons_of(held: Held) -> Buttons:
    """The buttons under the question."""
    choices = WORDINGS[held.question].choices
    return tuple(
        (label, f"{PREFIX}:{choice}:{held.item.token}") for choice, (label, _) in choices.items()
    )


def stop_button(item: Item) -> Buttons:
    """The button that ends a run."""
    return ((texts.BUTTON_STOP, f"{PREFIX}:{STOP}:{item.token}"),)


def close_buttons(item: Item) -> Buttons:
    """The buttons under the question whether the thread is to be deleted."""
    return (
        (texts.BUTTON_CLOSE, f"{PREFIX}:{CLOSE}:{item.token}"),
        (texts.BUTTON_KEEP, f"{PREFIX}:{KEEP}:{item.token}"),
    )


def pressed(data: str) -> tuple[str, str] | None:
    """The verb and the token of a button of ours, None for a button of somebody else."""
    match data.split(":"):
        case [prefix, verb, token] if prefix == PREFIX:
            return verb, token
    return None
