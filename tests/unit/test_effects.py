"""Effects: nothing is visible before it is durable, and stops come last."""

import dataclasses
import itertools
import typing

import pytest

from actors.plans.effects import (
    RANK,
    Effect,
    Introduce,
    KillChild,
    Notify,
    Perform,
    Reply,
    Send,
    StartChild,
    StopChild,
    WakeAfter,
    Write,
    in_order,
)
from messages.actor import Ping

ALL = (
    KillChild("a"),
    StopChild("b"),
    WakeAfter("look", 1),
    Notify("noted"),
    Perform("call", "c1", {}),
    Reply("q1", Ping()),
    Send("inbox", Ping()),
    Introduce(("a",), ("b",)),
    StartChild("a", 1),
    Write("shelf", "put", {}),
)


def test_every_effect_has_a_rank_and_is_a_frozen_value():
    kinds = set(typing.get_args(Effect))
    assert kinds == set(RANK) == {type(effect) for effect in ALL}
    for effect in ALL:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(effect, dataclasses.fields(effect)[0].name, None)


@pytest.mark.parametrize(("earlier", "later"), list(itertools.combinations(ALL, 2)))
def test_the_order_does_not_depend_on_the_plan(earlier, later):
    first, second = in_order((earlier, later))
    assert RANK[type(first)] <= RANK[type(second)]


def test_writes_come_first_and_stops_last():
    ordered = [type(effect) for effect in in_order(ALL)]
    assert ordered[:2] == [Write, StartChild]
    assert ordered[-3:] == [WakeAfter, KillChild, StopChild]


def test_equal_ranks_keep_the_order_of_the_plan():
    said = tuple(Send("inbox", Ping(), message_id=str(number)) for number in range(9))
    noted = tuple(Notify(str(number)) for number in range(9))
    mixed = tuple(itertools.chain.from_iterable(zip(said, noted)))
    assert tuple(in_order(mixed)) == mixed
    assert in_order((WakeAfter("a", 1), *mixed, Write("shelf", "put", {})))[1:-1] == list(mixed)
