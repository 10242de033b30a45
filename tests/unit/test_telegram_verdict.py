"""What each answer of the gateway means for a thread, as a table."""

import pytest

from actors.plans.telegram_verdict import Meaning, verdict
from messages.actor import FAILURES, CommandFailed
from messages.telegram_gateway import OUTCOMES, TelegramAnswered, TelegramRefused


@pytest.mark.parametrize(
    "description, code, meaning",
    [
        ("Bad Request: message thread not found", 400, Meaning.DELETED),
        ("Bad Request: TOPIC_ID_INVALID", 400, Meaning.DELETED),
        ("Bad Request: TOPIC_DELETED", 400, Meaning.DELETED),
        ("Bad Request: TOPIC_DELETED", None, Meaning.DELETED),
        ("Bad Request: TOPIC_DELETED", 502, Meaning.REFUSED),
        ("Bad Request: TOPIC_CLOSED", 400, Meaning.CLOSED),
        ("Bad Request: forum topic closed", 400, Meaning.CLOSED),
        ("Bad Request: message thread closed", 400, Meaning.CLOSED),
        ("Bad Request: TOPIC_NOT_MODIFIED", 400, Meaning.UNCHANGED),
        ("Bad Request: the chat is not a forum", 400, Meaning.TOPICS_OFF),
        ("Bad Request: chat not found", 400, Meaning.REFUSED),
        ("Too Many Requests: retry after 7", 429, Meaning.REFUSED),
    ],
)
def test_the_words_of_a_rejection(description, code, meaning):
    refused = TelegramRefused(outcome="rejected", description=description, error_code=code)
    assert verdict(refused).meaning is meaning


@pytest.mark.parametrize(
    "outcome, meaning",
    {
        "rejected": Meaning.DELETED,
        "commit-unknown": Meaning.UNKNOWN,
        "unavailable": Meaning.REFUSED,
        "fenced": Meaning.FENCED,
        "shed": Meaning.REFUSED,
        "unauthorized": Meaning.REFUSED,
    }.items(),
)
def test_only_a_rejection_can_prove_that_a_thread_is_gone(outcome, meaning):
    assert outcome in OUTCOMES
    refused = TelegramRefused(outcome=outcome, description="thread not found")
    assert verdict(refused).meaning is meaning


@pytest.mark.parametrize("reason", FAILURES)
def test_a_gateway_that_failed_in_the_middle_leaves_it_open(reason):
    certain = {
        "invalid": Meaning.REFUSED, "not-configured": Meaning.REFUSED, "deposed": Meaning.FENCED
    }
    failed = CommandFailed(reason=reason, text="")
    assert verdict(failed).meaning is certain.get(reason, Meaning.UNKNOWN)


@pytest.mark.parametrize(
    "result, thread_id",
    [
        ({"message_thread_id": 7}, 7),
        ({"message_thread_id": "7"}, None),
        ({"message_thread_id": True}, None),
        ({}, None),
        (True, None),
        (None, None),
    ],
)
def test_the_thread_that_a_result_names(result, thread_id):
    assert verdict(TelegramAnswered(result=result)).thread_id == thread_id
