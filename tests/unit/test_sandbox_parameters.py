"""Parameters are text first, and read as Telegram reads them."""

import pytest

from actors.sandbox.errors import BotApiError, bad_request
from actors.sandbox.parameters import Parameters


@pytest.mark.parametrize(
    ("value", "integer"),
    [("5", 5), (5, 5), ("-5", -5), ("5x", 5), ("x", 0), ("", 9), (None, 9), ("9" * 40, 2**63 - 1)],
)
def test_integers_are_read_by_their_leading_digits(value, integer):
    assert Parameters.of({"n": value}).integer("n", 9) == integer


@pytest.mark.parametrize(
    ("value", "flag"), [(True, True), ("True", True), ("1", True), ("no", False), (None, False)]
)
def test_flags(value, flag):
    assert Parameters.of({"f": value}).flag("f") is flag


@pytest.mark.parametrize(
    ("value", "thread_id"),
    [(None, None), ("", None), ("0", None), ("-3", None), ("abc", None), ("7", 7)],
)
def test_a_thread_id_that_means_none(value, thread_id):
    assert Parameters.of({"message_thread_id": value}).thread_id() == thread_id


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (None, "Bad Request: chat_id is empty"),
        (" ", "Bad Request: chat_id is empty"),
        ("@somebody", "Bad Request: chat not found"),
        ("12x", "Bad Request: chat not found"),
    ],
)
def test_a_bad_chat_id(value, description):
    with pytest.raises(BotApiError) as refusal:
        Parameters.of({"chat_id": value}).chat_id()
    assert refusal.value.description == description


def test_structures_come_as_json_or_as_themselves():
    for value in ('{"a": [1]}', {"a": [1]}):
        assert Parameters.of({"s": value}).json("s", bad_request("no")) == {"a": [1]}
    with pytest.raises(BotApiError, match="no JSON here"):
        Parameters.of({"s": "{"}).json("s", bad_request("no JSON here"))


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(BotApiError, match="UTF-8"):
        Parameters.of(Parameters.of_json(b'{"text": "\\ud83d"}'))


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b"[" * 100_000])
def test_a_body_that_is_no_object(body):
    with pytest.raises(BotApiError):
        Parameters.of_json(body)
