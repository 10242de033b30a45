"""Envelopes: what travels around every body, and that nothing half-understood gets in."""

import json

import pytest

from messages.actor import Ping, Pong
from messages.envelope import ANY_INCARNATION, Envelope, load_envelope
from messages.kind import MessageInvalid

PONG = Envelope(
    body=Pong(pid=7), message_id="p1", key="inbox", incarnation=3, in_reply_to="q1", deadline=900
)


def test_an_envelope_travels_through_json_as_it_is():
    assert load_envelope(json.loads(json.dumps(PONG.dump()))) == PONG
    assert PONG.kind == "Pong"


def test_a_plain_envelope_has_the_fields_everyone_knows():
    assert Envelope(body=Ping(), message_id="p1", key="inbox").dump() == {
        "kind": "Ping",
        "version": 1,
        "message_id": "p1",
        "in_reply_to": None,
        "to": {"key": "inbox", "incarnation": ANY_INCARNATION},
        "deadline": None,
        "body": {},
    }


@pytest.mark.parametrize("name", PONG.dump())
def test_no_field_may_be_missing(name):
    plain = PONG.dump()
    del plain[name]
    with pytest.raises(MessageInvalid, match=name):
        load_envelope(plain)


@pytest.mark.parametrize("name", PONG.dump())
def test_no_field_may_be_of_another_type(name):
    with pytest.raises(MessageInvalid):
        load_envelope({**PONG.dump(), name: object()})


@pytest.mark.parametrize(
    "change",
    [
        {"surprise": 1},
        {"to": {"key": "inbox", "incarnation": 1, "address": "x"}},
        {"to": {"key": "", "incarnation": 1}},
        {"to": {"key": "x" * 301, "incarnation": 1}},
        {"to": {"key": "inbox", "incarnation": "1"}},
        {"to": None},
        {"message_id": ""},
        {"message_id": "x" * 601},
        {"deadline": 1.5},
        {"version": "1"},
        {"version": 2},
        {"kind": "Nonsense"},
        {"kind": ["Pong"]},
        {"body": None},
        {"body": {"pid": 7, "more": 1}},
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(change):
    with pytest.raises(MessageInvalid):
        load_envelope({**PONG.dump(), **change})


@pytest.mark.parametrize("plain", [None, 7, "text", [], {}, {1: 2}])
def test_what_is_no_envelope_is_refused(plain):
    with pytest.raises(MessageInvalid):
        load_envelope(plain)


def test_an_envelope_does_not_go_out_with_a_body_that_does_not_fit():
    with pytest.raises(MessageInvalid, match="pid"):
        Envelope(body=Pong(pid=None), message_id="p1", key="inbox").dump()
