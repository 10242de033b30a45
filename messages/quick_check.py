"""A fast yes: most messages are what their schema says, and that can be seen without the schema.

`quick_check` gives the test of one marshmallow field, None for a field that it does not know. A value that
passes would be loaded by the field as it is; of any other value nothing is said, and the schema decides.
"""

from collections.abc import Callable
from typing import Any

from marshmallow import fields, validate

Check = Callable[[Any], bool]


def quick_check(field: fields.Field) -> Check | None:
    """The test of this field."""
    check = _of_type(field)
    if check is None:
        return None
    for validator in field.validators:
        validated = _of_validator(validator)
        if validated is None:
            return None
        check = _both(check, validated)
    return _or_none(check) if field.allow_none else check


def _of_type(field: fields.Field) -> Check | None:
    # Exactly these classes: one that inherits may do more.
    if type(field) is fields.Raw:
        return _is_said
    if type(field) is fields.String:
        return _is_text
    if type(field) is fields.Integer and field.strict:
        return _is_whole
    if type(field) is fields.Boolean:
        return _is_truth
    if type(field) is fields.Dict and field.value_field is None:
        keys = field.key_field
        return _is_mapping if type(keys) is fields.String and not keys.validators else None
    if type(field) is fields.List:
        inner = quick_check(field.inner)
        return None if inner is None else _list_of(inner)
    return None


def _of_validator(validator: Any) -> Check | None:
    if type(validator) is validate.Length:
        least, most = validator.min, validator.max
        if validator.equal is None and least is not None and most is not None:
            return lambda value: least <= len(value) <= most
    if type(validator) is validate.OneOf:
        choices = tuple(validator.choices)
        return lambda value: value in choices
    return None


def _both(first: Check, second: Check) -> Check:
    return lambda value: first(value) and second(value)


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(inner: Check) -> Check:
    return lambda value: type(value) is list and all(map(inner, value))


def _is_said(value: Any) -> bool:
    return value is not None


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_truth(value: Any) -> bool:
    return type(value) is bool


def _is_mapping(value: Any) -> bool:
    return type(value) is dict and all(type(key) is str for key in value)
