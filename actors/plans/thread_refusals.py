"""Why a process gets no thread, in words that say what to do about it; what nobody foresaw as Telegram says it."""

from actors.plans.telegram_verdict import Meaning, Verdict
from actors.plans.thread_step import is_group
from messages.texts import (
    NOT_IN_GROUP,
    NOT_STARTED,
    RIGHTS_MISSING,
    TOPICS_OFF_GROUP,
    TOPICS_OFF_PRIVATE,
)

_NO_RIGHTS = ("not enough rights", "chat_admin_required", "need administrator rights")
_NOT_THERE = (
    "chat not found",
    "bot was kicked",
    "bot is not a member",
    "group chat was deleted",
    "bot was blocked",
    "bot can't initiate conversation",
)


def sentence(said: Verdict, chat_id: int) -> str:
    """What the terminal of the process without a thread is told."""
    text, in_group = said.text.lower(), is_group(chat_id)
    if said.meaning is Meaning.TOPICS_OFF:
        return TOPICS_OFF_GROUP if in_group else TOPICS_OFF_PRIVATE
    if in_group and any(words in text for words in _NO_RIGHTS):
        return RIGHTS_MISSING
    if any(words in text for words in _NOT_THERE):
        return NOT_IN_GROUP if in_group else NOT_STARTED
    return said.text
