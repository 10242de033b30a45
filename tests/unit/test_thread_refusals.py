"""Why there is no thread is said so that somebody can do something about it."""

import pytest

from actors.plans.telegram_verdict import Meaning, Verdict
from actors.plans.thread_refusals import sentence
from messages import texts

OWNER, GROUP = 1001, -1_000_000_000_100


@pytest.mark.parametrize(
    ("description", "chat_id", "told"),
    [
        ("Bad Request: not enough rights to create a topic", GROUP, texts.RIGHTS_MISSING),
        ("Chat_admin_required", GROUP, texts.RIGHTS_MISSING),
        ("Chat not found", GROUP, texts.NOT_IN_GROUP),
        ("Forbidden: bot was kicked from the supergroup chat", GROUP, texts.NOT_IN_GROUP),
        ("Chat not found", OWNER, texts.NOT_STARTED),
        ("Forbidden: bot was blocked by the user", OWNER, texts.NOT_STARTED),
        ("Bot_forum_create_forbidden", OWNER, "Bot_forum_create_forbidden"),
    ],
)
def test_a_refusal(description: str, chat_id: int, told: str) -> None:
    """In Telegram's spelling and in that of the library; what is unknown stays as it is."""
    assert sentence(Verdict(Meaning.REFUSED, description), chat_id) == told


def test_topics_that_are_off() -> None:
    """In private it is the bot's switch, in a group the group's."""
    off = Verdict(Meaning.TOPICS_OFF, "the chat is not a forum")
    assert sentence(off, OWNER) == texts.TOPICS_OFF_PRIVATE
    assert sentence(off, GROUP) == texts.TOPICS_OFF_GROUP
