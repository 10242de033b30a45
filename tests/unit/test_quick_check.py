"""A fast yes is never given to what the schema refuses or loads as something else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marshmallow import fields, validate

import messages.envelope  # noqa: F401
from messages.kind import CATALOGUE
from messages.quick_check import quick_check

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 70) | st.floats() | st.text(max_size=5)
    | st.sampled_from(["yes", "final", "typing", "1", b"final", 1.0]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3) | st.integers(0, 2), inner, max_size=3),
    max_leaves=5,
)

DECLARED = {
    f"{kind}.{name}": (field, check)
    for (kind, _), cls in sorted(CATALOGUE.items())
    for name, field in cls.SCHEMA.fields.items()
    if (check := quick_check(field)) is not None
}


def same(one, other):
    """Equal in value and in type; 1, 1.0 and true are not the same."""
    return one is other or (type(one) is type(other) and one == other)


@settings(max_examples=400)
@given(value=ANYTHING)
def test_what_passes_is_loaded_as_it_is(value):
    # Every value against every field: values are dear, fields are cheap.
    for name, (field, check) in DECLARED.items():
        if check(value):
            assert same(field.deserialize(value), value), name


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (fields.String(validate=validate.Length(1, 2)), "ab"),
        (fields.String(validate=validate.OneOf(["a"])), "a"),
        (fields.Integer(strict=True), 3),
        (fields.Integer(strict=True, allow_none=True), None),
        (fields.Boolean(), False),
        (fields.Raw(), [1]),
        (fields.Dict(keys=fields.String()), {"a": [1]}),
        (fields.List(fields.Dict(keys=fields.String())), [{}, {"a": 1}]),
    ],
)
def test_the_usual_right_values_pass(field, value):
    assert quick_check(field)(value)


@pytest.mark.parametrize(
    "field",
    [
        fields.Email(),
        fields.Integer(),
        fields.String(validate=validate.Regexp("a")),
        fields.Dict(keys=fields.Integer()),
        fields.Dict(keys=fields.String(), values=fields.Integer()),
        fields.List(fields.Email()),
    ],
)
def test_a_field_that_may_do_more_is_left_to_its_schema(field):
    assert quick_check(field) is None
