"""What the control side refuses, and that it says why."""

import json

import pytest

from actors.sandbox import control_requests as requests


@pytest.mark.parametrize(
    ("schema", "body", "sentence"),
    [
        (requests.WriteRequest(), b"", "The body must be a JSON object."),
        (requests.WriteRequest(), b"[1]", "The body must be a JSON object."),
        (requests.WriteRequest(), b'{"text": "\\ud83d"}', "The body must be a JSON object."),
        (requests.WriteRequest(), {}, "text: Missing data for required field."),
        (requests.WriteRequest(), {"text": 1}, "text: Not a valid string."),
        (requests.WriteRequest(), {"text": "x", "thread_id": "1"},
         "thread_id: Not a valid integer."),
        (requests.WriteRequest(), {"text": "x", "more": 1}, "more: Unknown field."),
        (requests.PressRequest(), {"message_id": 1, "data": ""}, "data: "),
        (requests.ReactRequest(), {"message_id": 1, "emoji": 5}, "emoji: Not an emoji"),
        (requests.ThreadRequest(), {"op": "explode"}, "op: Must be one of"),
        (requests.ThreadRequest(), {"op": "create"}, "name: create needs it."),
        (requests.ThreadRequest(), {"op": "delete"}, "thread_id: delete needs it."),
        (requests.FaultRequest(), {"method": "*"}, "One of error_code"),
        (requests.FaultRequest(), {"method": "*", "drop": "soon"}, "drop: Must be one of"),
        (requests.FaultRequest(), {"method": "*", "delay_ms": 10**9}, "delay_ms: "),
        (requests.FaultRequest(), {"method": "*", "drop": "after", "error_code": 500},
         'drop: "after" does the call'),
    ],
)
def test_a_bad_request_is_explained(schema, body, sentence):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(requests.BadRequest) as problem:
        requests.loaded(schema, raw)
    assert str(problem.value).startswith(sentence)


@pytest.mark.parametrize(
    ("emoji", "meant"), [("👍", ["👍"]), (["👍", "🔥"], ["👍", "🔥"]), (None, None)]
)
def test_reactions_come_in_three_shapes(emoji, meant):
    body = json.dumps({"message_id": 1, "emoji": emoji}).encode()
    assert requests.loaded(requests.ReactRequest(), body)["emoji"] == meant


def test_the_owner_writes_unless_somebody_else_is_named():
    assert requests.loaded(requests.WriteRequest(), b'{"text": "x"}') == {
        "text": "x",
        "thread_id": None,
        "reply_to_id": None,
        "from_id": 1001,
        "group_id": None,
    }
