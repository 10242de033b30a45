"""How a line on the bus is declared: one frozen dataclass and its marshmallow schema, together.

Where `messages.kind` declares what our own actors say and refuses unknown fields, these classes are
shared with peers we did not write: camelCase on the wire, unknown fields ignored, texts bounded.
"""

import dataclasses
import math
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from marshmallow import EXCLUDE, Schema, ValidationError, fields

from messages.frozen import frozen
from messages.kind import SchemaOnDemand

T = TypeVar("T", bound=type)

SAFE_INTEGER = 2**53 - 1
"""The highest whole number that every JSON reader keeps exactly."""


class Wire:
    """Base of the declared classes; `@wire` gives the schema."""

    SCHEMA: ClassVar[Schema]
    FIELDS: ClassVar[tuple[tuple[str, str, fields.Field], ...]]
    """The name of each field here and on the wire, and what it may hold."""

    if TYPE_CHECKING:

        def __init__(self, **said: Any) -> None:
            """Made by the decorator: the declared fields, by keyword."""

    @classmethod
    def load(cls, plain: Any) -> Any:
        """The value of plain data; raises marshmallow's ValidationError."""
        return cls(**(cls._plainly_right(plain) or cls.SCHEMA.load(plain)))

    @classmethod
    def _plainly_right(cls, plain: Any) -> dict[str, Any] | None:
        """What the schema would load; None leaves the case to the schema."""
        if type(plain) is not dict:
            return None
        said: dict[str, Any] = {}
        for name, wire_name, field in cls.FIELDS:
            if wire_name not in plain:
                if field.required:
                    return None
                continue
            value = plain[wire_name]
            if not isinstance(field, Plain) or not field.passes(value):
                return None
            said[name] = value
        return said

    def plain(self) -> dict[str, Any]:
        """Plain data with the names of the wire; what is None is left out."""
        said: dict[str, Any] = {}
        for name, wire_name, _ in self.FIELDS:
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, Wire):
                value = value.plain()
            elif isinstance(value, tuple):
                value = list(value)
            said[wire_name] = value
        return said


def camel(name: str) -> str:
    """`sent_at_ms` -> `sentAtMs`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def wire(cls: T) -> T:
    """Make a class of annotated `messages.kind.said` fields a frozen dataclass with a schema."""
    declared_class: Any = frozen(cls)
    declared: dict[str, fields.Field] = {}
    for field in dataclasses.fields(declared_class):
        schema_field = field.metadata["field"]
        schema_field.data_key = camel(field.name)
        declared[field.name] = schema_field
    declared_class.SCHEMA = SchemaOnDemand(f"{declared_class.__name__}WireSchema", declared, unknown=EXCLUDE)
    declared_class.FIELDS = tuple((name, camel(name), field) for name, field in declared.items())
    return declared_class


def is_number(value: Any) -> bool:
    """A finite number within the safe range; a truth value is none."""
    if type(value) is float:
        return math.isfinite(value) and abs(value) <= SAFE_INTEGER
    return type(value) is int and abs(value) <= SAFE_INTEGER


def is_whole(value: Any, minimum: int = -SAFE_INTEGER) -> bool:
    """A safe integer of at least `minimum`; a truth value or a fraction is none."""
    return type(value) is int and minimum <= value <= SAFE_INTEGER


def is_text(value: Any, longest: int, shortest: int = 1) -> bool:
    """A text of bounded length that can be stored: no NUL and no half of a surrogate pair."""
    if type(value) is not str or not shortest <= len(value) <= longest:
        return False
    if value.isascii():
        return "\0" not in value
    return not any("\ud800" <= character <= "\udfff" or character == "\0" for character in value)


def is_name(value: Any, longest: int) -> bool:
    """A text for people: in one line, not blank, nothing that steers a terminal."""
    return (
        is_text(value, longest)
        and not value.isspace()
        and not any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in value)
    )


class Plain(fields.Field):
    """A field whose right values are loaded as they are; of others its `passes` says nothing."""

    def passes(self, value: Any) -> bool:
        """Whether this value is surely right."""
        return False


class Text(Plain):
    """A stored text of `shortest` to `longest` characters."""

    def __init__(self, longest: int, shortest: int = 1) -> None:
        super().__init__()
        self.longest, self.shortest = longest, shortest

    def passes(self, value: Any) -> bool:
        return is_text(value, self.longest, self.shortest)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not self.passes(value):
            raise ValidationError(f"no text of {self.shortest} to {self.longest} characters")
        return value


class Name(Plain):
    """A text for people of 1 to `longest` characters."""

    def __init__(self, longest: int) -> None:
        super().__init__()
        self.longest = longest

    def passes(self, value: Any) -> bool:
        return is_name(value, self.longest)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not self.passes(value):
            raise ValidationError(f"no name of 1 to {self.longest} characters")
        return value


class OneOf(Plain):
    """Exactly one of these texts."""

    def __init__(self, allowed: Iterable[str]) -> None:
        super().__init__()
        self.allowed = frozenset(allowed)

    def passes(self, value: Any) -> bool:
        return type(value) is str and value in self.allowed

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not self.passes(value):
            raise ValidationError("none of the allowed values")
        return value


class Whole(Plain):
    """A safe integer."""

    def __init__(self, minimum: int = -SAFE_INTEGER) -> None:
        super().__init__()
        self.minimum = minimum

    def passes(self, value: Any) -> bool:
        return is_whole(value, self.minimum)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int:
        if not self.passes(value):
            raise ValidationError("no whole number in range")
        return value


class Number(Plain):
    """A finite number, kept as it came."""

    def passes(self, value: Any) -> bool:
        return is_number(value)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> float:
        if not self.passes(value):
            raise ValidationError("no number")
        return value


class Truth(Plain):
    """true or false, nothing that resembles them."""

    def passes(self, value: Any) -> bool:
        return type(value) is bool

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        if not self.passes(value):
            raise ValidationError("neither true nor false")
        return value


class Anything(Plain):
    """Any JSON value, kept as it came."""

    def passes(self, value: Any) -> bool:
        return value is not None


class Mapping(Plain):
    """A JSON object, kept as it came."""

    def passes(self, value: Any) -> bool:
        return type(value) is dict

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> dict:
        if not self.passes(value):
            raise ValidationError("no object")
        return value


class Items(Plain):
    """A JSON list, kept as it came."""

    def passes(self, value: Any) -> bool:
        return type(value) is list

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> list:
        if not self.passes(value):
            raise ValidationError("no list")
        return value


class Part(fields.Field):
    """Another declared class."""

    def __init__(self, part: Any) -> None:
        super().__init__()
        self.part = part

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return self.part.load(value)


class Dropped(Plain):
    """A field whose malformed value counts as absent instead of spoiling its envelope."""

    def __init__(self, inner: fields.Field) -> None:
        super().__init__()
        self.inner = inner

    def passes(self, value: Any) -> bool:
        return isinstance(self.inner, Plain) and self.inner.passes(value)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            return self.inner.deserialize(value)
        except ValidationError:
            return None
