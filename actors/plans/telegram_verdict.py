"""What an answer of the gateway means for a thread: done, refused, gone, or nobody knows.

Telegram has no way to ask whether a thread exists; it is learnt from the words of an error, so the words
are gathered here. Only an error of Telegram itself proves anything: a timeout never does.
"""

import dataclasses
import enum
from typing import Any

from messages.actor import CommandFailed
from messages.telegram_gateway import TelegramAnswered, TelegramRefused

_DELETED = (
    "topic_id_invalid",
    "message thread not found",
    "thread not found",
    "topic not found",
    "topic deleted",
    "topic_deleted",
)
_CLOSED = (
    "topic closed",
    "topic_closed",
    "thread closed",
)
_NO_TOPICS = ("the chat is not a forum",)
_UNCHANGED = ("topic_not_modified",)


class Meaning(enum.Enum):
    """The kinds of outcome that lead to different decisions."""

    DONE = "done"
    UNCHANGED = "unchanged"  # refused because it is so already: the thread exists
    DELETED = "deleted"  # the thread does not exist
    CLOSED = "closed"  # the thread exists and does not take messages
    TOPICS_OFF = "topics-off"  # this chat has no threads at all
    REFUSED = "refused"  # it certainly did not happen
    FENCED = "fenced"  # it did not happen because this instance no longer leads
    UNKNOWN = "unknown"  # it may have happened


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """The meaning of one answer, Telegram's words for it and its result if there was one."""

    meaning: Meaning
    text: str = ""
    result: Any = None

    @property
    def thread_id(self) -> int | None:
        """The thread that the result names, None when it names none."""
        found = self.result.get("message_thread_id") if isinstance(self.result, dict) else None
        return found if isinstance(found, int) and not isinstance(found, bool) else None


NEVER_ANSWERED = Verdict(Meaning.UNKNOWN, "The call was not answered.")
"""For a call whose gateway was replaced, or that is past its deadline."""


def verdict(answer: TelegramAnswered | TelegramRefused | CommandFailed) -> Verdict:
    """What this answer to a CallTelegram means."""
    match answer:
        case TelegramAnswered(result=result):
            return Verdict(Meaning.DONE, "", result)
        case TelegramRefused(outcome="rejected"):
            return Verdict(_rejection(answer), answer.description)
        case TelegramRefused(outcome="commit-unknown"):
            return Verdict(Meaning.UNKNOWN, answer.description)
        case TelegramRefused(outcome="fenced"):
            return Verdict(Meaning.FENCED, answer.description)
        case TelegramRefused():
            return Verdict(Meaning.REFUSED, answer.description)
        case CommandFailed(reason="invalid" | "not-configured"):
            return Verdict(Meaning.REFUSED, answer.text)
        case CommandFailed(reason="deposed"):
            return Verdict(Meaning.FENCED, answer.text)
    # The gateway failed somewhere in the middle of the call.
    return Verdict(Meaning.UNKNOWN, answer.text)


def _rejection(refused: TelegramRefused) -> Meaning:
    text = refused.description.lower()
    # The same words with another status are some proxy's, not Telegram's.
    if refused.error_code in (None, 400):
        for words, meaning in (
            (_DELETED, Meaning.DELETED),
            (_CLOSED, Meaning.CLOSED),
            (_NO_TOPICS, Meaning.TOPICS_OFF),
            (_UNCHANGED, Meaning.UNCHANGED),
        ):
            if any(word in text for word in words):
                return meaning
    return Meaning.REFUSED
