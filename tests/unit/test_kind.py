"""Kinds: each one travels as plain data, loads again as it was, and refuses what does not fit."""

import dataclasses
import json
import pickle
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from marshmallow import fields, validate

from messages import bus
from messages.actor import (
    CommandFailed,
    ConfigureChild,
    DescribeActor,
    PeersIntroduced,
    Ping,
    Pong,
)
from messages.envelope import BODIES
from messages.kind import CATALOGUE, MessageInvalid, dump_body, load_body, message, said

MESSAGES = Path(__file__).resolve().parents[2] / "messages"
KINDS = sorted(CATALOGUE.items())


def body_strategy(cls):
    """Bodies of a class, field by field from its schema."""
    return st.builds(
        cls,
        **{name: value_strategy(field) for name, field in cls.SCHEMA.declared_fields.items()},
    )


def value_strategy(field):
    values = plain_strategy(field)
    return st.one_of(st.none(), values) if field.allow_none else values


def plain_strategy(field):
    for rule in field.validators:
        if isinstance(rule, validate.OneOf):
            return st.sampled_from(list(rule.choices))
        if isinstance(rule, validate.Regexp):
            return st.from_regex(rule.regex, fullmatch=True).filter(lambda text: "\n" not in text)
    if isinstance(field, fields.Boolean):
        return st.booleans()
    if isinstance(field, fields.Integer):
        least = [rule.min for rule in field.validators if isinstance(rule, validate.Range)]
        return st.integers(max([-(2**53), *(least or [])]), 2**53)
    if isinstance(field, fields.Float):
        return st.floats(allow_nan=False, allow_infinity=False)
    if isinstance(field, fields.String):
        longest = [rule.max for rule in field.validators if isinstance(rule, validate.Length)]
        least = [rule.min or 1 for rule in field.validators if isinstance(rule, validate.Length)]
        return st.text(string.printable + "äß😀", min_size=max([1, *least]), max_size=min([20, *filter(None, longest)]))
    if isinstance(field, fields.List):
        return st.lists(plain_strategy(field.inner), max_size=3)
    if isinstance(field, fields.Dict):
        values = st.integers(0, 9) | st.text(max_size=8)
        return st.dictionaries(st.text(min_size=1, max_size=8), values, max_size=3)
    if isinstance(field, fields.Raw):
        return st.none() | st.integers(0, 9) | st.text(max_size=8)
    raise TypeError(f"no values for {field}")


@pytest.mark.parametrize(("kind", "cls"), KINDS, ids=[kind for (kind, _), _ in KINDS])
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_kind_travels_through_json_as_it_is(kind, cls, data):
    body = data.draw(body_strategy(cls))
    travelled = json.loads(json.dumps(dump_body(body)))
    assert load_body(*kind, travelled) == body


@pytest.mark.parametrize(("kind", "cls"), KINDS, ids=[kind for (kind, _), _ in KINDS])
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_kind_refuses_missing_extra_and_wrongly_typed_fields(kind, cls, data):
    plain = dump_body(data.draw(body_strategy(cls)))
    with pytest.raises(MessageInvalid, match=kind[0]):
        load_body(*kind, {**plain, "of_another_time": 1})
    for field in dataclasses.fields(cls):
        without = {name: value for name, value in plain.items() if name != field.name}
        declared = cls.SCHEMA.declared_fields[field.name]
        if declared.required:
            with pytest.raises(MessageInvalid, match=field.name):
                load_body(*kind, without)
        else:
            assert getattr(load_body(*kind, without), field.name) == field.default
        if isinstance(declared, fields.Raw) or type(declared) is fields.Field:
            continue
        with pytest.raises(MessageInvalid, match=field.name):
            load_body(*kind, {**plain, field.name: object()})


@pytest.mark.parametrize("body", [None, [], "text", 7])
def test_a_body_that_is_no_object_is_refused(body):
    with pytest.raises(MessageInvalid):
        load_body("Pong", 1, body)


@pytest.mark.parametrize(("kind", "version"), [("Nonsense", 1), ("Pong", 2), ("", 0)])
def test_an_unknown_kind_or_version_is_refused(kind, version):
    with pytest.raises(MessageInvalid, match="unknown kind"):
        load_body(kind, version, {})


@pytest.mark.parametrize("pid", ["1", 1.5, None, [1]])
def test_an_integer_that_only_looks_like_one_is_refused(pid):
    with pytest.raises(MessageInvalid, match="pid"):
        load_body("Pong", 1, {"pid": pid})


@pytest.mark.parametrize("word", ["yes", "off", "true", 2, None])
def test_a_boolean_is_true_or_false(word):
    body = {"instance_id": "1:1", "generation": "g", "proven_dead": word}
    with pytest.raises(MessageInvalid, match="proven_dead"):
        load_body("RetireFollower", 1, body)


def test_a_body_is_checked_on_the_way_out_too():
    with pytest.raises(MessageInvalid, match="pid"):
        dump_body(Pong(pid="four"))
    with pytest.raises(MessageInvalid, match="reason"):
        dump_body(CommandFailed(reason="because", text=""))


def test_a_body_is_a_frozen_value():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Pong(pid=1).pid = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del Pong(pid=1).pid
    assert Pong(pid=1) == Pong(pid=1) != Pong(pid=2)
    assert len({Pong(pid=1), Pong(pid=1), Pong(pid=2)}) == 2
    # What only looks the same is another word.
    assert Ping() != DescribeActor()
    assert repr(Pong(pid=1)) == "Pong(pid=1)"


def test_a_body_is_filled_by_the_names_of_its_fields():
    said = CommandFailed(reason="internal", text="no")
    assert dataclasses.replace(said, text="yes") == CommandFailed(reason="internal", text="yes")
    assert pickle.loads(pickle.dumps(said)) == said
    dump_body(said)
    assert said == CommandFailed(reason="internal", text="no"), "having been seen is no part of it"
    with pytest.raises(TypeError, match="missing or unknown: pid"):
        Pong()
    with pytest.raises(TypeError, match="missing or unknown: more"):
        Pong(pid=1, more=2)


def test_whoever_loads_envelopes_knows_every_kind_between_actors():
    declaring = {path.stem for path in MESSAGES.glob("*.py") if "\n@message(" in path.read_text()}
    assert declaring - {"launcher"} == {module.__name__.removeprefix("messages.") for module in BODIES}


def test_all_bodies_share_their_methods():
    """Compiled for each class anew, as `dataclasses` does, they would be a fifth of every start."""
    for cls in (*CATALOGUE.values(), *bus.KINDS.values(), bus.Target, bus.Registration):
        for name in ("__init__", "__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__"):
            assert getattr(cls, name) is getattr(Pong, name), f"{cls.__name__}.{name}"


def test_a_kind_is_declared_once_a_version():
    with pytest.raises(TypeError, match="declared twice"):

        @message("Pong")
        class Again:
            """A second one."""


def test_a_default_makes_a_field_optional():
    @message("TestedDefault", version=7)
    class TestedDefault:
        """Only here."""

        wanted: int = said(fields.Integer(strict=True), "must be there")
        spare: str | None = said(fields.String(), "may be missing", None)

    try:
        assert load_body("TestedDefault", 7, {"wanted": 1}) == TestedDefault(wanted=1)
        assert load_body("TestedDefault", 7, {"wanted": 1, "spare": None}).spare is None
    finally:
        del CATALOGUE["TestedDefault", 7]


@pytest.mark.parametrize(("kind", "cls"), KINDS, ids=[kind for (kind, _), _ in KINDS])
def test_each_kind_and_field_says_what_it_means(kind, cls):
    assert cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}(")
    for name, field in cls.SCHEMA.declared_fields.items():
        assert field.metadata.get("description"), name


def test_addresses_of_thespian_travel_in_the_one_message_that_carries_them():
    # Everything else is JSON; a body of this kind never leaves the tree.
    assert PeersIntroduced(peers={"inbox": {"incarnation": 1, "address": object()}})
    assert dump_body(ConfigureChild(key="inbox", incarnation=1, settings={"epoch": 1}))
