"""How a kind of message is declared: one frozen dataclass and its marshmallow schema, together.

A field is declared with `said(<marshmallow field>, <what it means>)`; the decorator
`message(kind, version)` builds the schema from these and enters the class in the catalogue. A body is
validated when it is loaded and when it is dumped: marshmallow's own `dump` does not validate.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, dataclass_transform

from marshmallow import RAISE, Schema, ValidationError, fields

from messages.frozen import frozen
from messages.quick_check import quick_check

T = TypeVar("T")

_SEEN = "_seen"
"""Marks a body that was validated."""

CATALOGUE: dict[tuple[str, int], type] = {}
"""Every declared class by (kind, version)."""


class MessageInvalid(ValueError):
    """A message does not fit the schema of its kind."""


class SchemaOnDemand:
    """The class attribute SCHEMA: built when it is first asked for, then kept in its place.

    What is plainly right never needs one, so most processes build few of the hundred; all of them would
    cost some hundredths of the start of every process, and memory for its life.
    """

    def __init__(self, name: str, declared: dict[str, fields.Field], unknown: str) -> None:
        self._name, self._declared, self._unknown = name, declared, unknown

    def __get__(self, instance: object, owner: Any) -> Schema:
        schema: Any = Schema.from_dict(self._declared, name=self._name)
        owner.SCHEMA = schema(unknown=self._unknown)
        return owner.SCHEMA


def said(field: fields.Field, meaning: str, default: Any = dataclasses.MISSING) -> Any:
    """Declare one field: its schema, its meaning with unit, and what absence means (the default)."""
    field.metadata = {**field.metadata, "description": meaning}
    if isinstance(field, fields.Boolean):
        # marshmallow takes "yes", "off" and many more for a boolean; between actors that is a mistake.
        field.truthy, field.falsy = {True}, {False}
    if default is not dataclasses.MISSING:
        field.required = False
        field.load_default = default
        field.allow_none = field.allow_none or default is None
    else:
        field.required = True
    return dataclasses.field(default=default, metadata={"field": field})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(said,))
def message(kind: str, version: int = 1) -> Callable[[type[T]], type[T]]:
    """Make a class of annotated `said` fields the body of messages of this kind and version."""

    def declare(cls: type[T]) -> type[T]:
        # No slots: the class object must stay the one that the decorator received.
        body: Any = frozen(cls)
        declared = {field.name: field.metadata["field"] for field in dataclasses.fields(body)}
        body.KIND = kind
        body.VERSION = version
        body.SCHEMA = SchemaOnDemand(f"{kind}V{version}Schema", declared, unknown=RAISE)
        body.CHECKS = {name: quick_check(field) for name, field in declared.items()}
        body.REQUIRED = frozenset(name for name, field in declared.items() if field.required)
        if (kind, version) in CATALOGUE:
            raise TypeError(f"{kind} version {version} is declared twice")
        CATALOGUE[kind, version] = body
        return body

    return declare


def _is_plainly_right(cls: Any, body: Any) -> bool:
    """Whether the schema would load exactly this; False leaves the case to the schema."""
    if type(body) is not dict or not cls.REQUIRED <= body.keys():
        return False
    checks = cls.CHECKS
    for name, value in body.items():
        check = checks.get(name)
        if check is None or not check(value):
            return False
    return True


def load_body(kind: str, version: int, body: Any) -> Any:
    """Load a plain body into the dataclass of its kind.

    Raises MessageInvalid for an unknown kind or version, and for a body that does not fit.
    """
    cls: Any = CATALOGUE.get((kind, version))
    if cls is None:
        raise MessageInvalid(f"unknown kind {kind!r} version {version!r}")
    try:
        return cls(**(body if _is_plainly_right(cls, body) else cls.SCHEMA.load(body)))
    except ValidationError as invalid:
        raise MessageInvalid(f"{kind}: {invalid.normalized_messages()}") from None


def dump_body(body: Any) -> dict[str, Any]:
    """Turn a body into plain data that would load again; raises MessageInvalid if it would not."""
    plain = {name: getattr(body, name) for name in body.CHECKS}
    # Seen once by whoever decided to say it and once by whoever says it: the same frozen body.
    if _SEEN in body.__dict__ or _is_plainly_right(type(body), plain):
        object.__setattr__(body, _SEEN, True)
        return plain
    invalid: Mapping[str, Any] = body.SCHEMA.validate(plain)
    if invalid:
        raise MessageInvalid(f"{body.KIND}: {dict(invalid)}")
    return plain
