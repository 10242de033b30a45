"""Envelopes that travel together: in order, in bounds, and nothing else with them."""

import pytest

from actors.bundles import MOST, MOST_BYTES, Bundles
from actors.correspondence import Transmission
from actors.transport import MessageTooLarge


def said(number, kind="CallTelegram", more=""):
    return {"kind": kind, "message_id": str(number), "body": {"text": more}}


def test_a_kind_that_does_not_come_in_crowds_goes_at_once():
    bundles = Bundles()
    assert not bundles.put(Transmission("here", said(1, "Ping")))
    assert list(bundles.take()) == []


def test_each_peer_gets_one_list_in_order_and_only_once():
    bundles = Bundles()
    for number in range(3):
        assert bundles.put(Transmission("here", said(number)))
    bundles.put(Transmission("there", said(3)))
    assert list(bundles.take()) == [("here", [said(0), said(1), said(2)]), ("there", said(3))]
    assert list(bundles.take()) == []


def test_many_become_several_lists():
    bundles = Bundles()
    for number in range(MOST + 2):
        bundles.put(Transmission("here", said(number)))
    (_, first), (_, second) = bundles.take()
    assert [*first, *second] == [said(number) for number in range(MOST + 2)]
    assert len(first) == MOST


def test_large_ones_do_not_share():
    bundles = Bundles()
    large = said(1, more="x" * (MOST_BYTES - 1_000))
    bundles.put(Transmission("here", large))
    bundles.put(Transmission("here", said(2, more="y" * 2_000)))
    assert [message for _, message in bundles.take()] == [large, said(2, more="y" * 2_000)]


def test_one_that_no_frame_can_hold_is_refused_when_it_is_said():
    with pytest.raises(MessageTooLarge):
        Bundles().put(Transmission("here", said(1, more="x" * (17 * 1024 * 1024))))
