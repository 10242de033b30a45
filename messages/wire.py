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

T = TypeVar("T", bound=type)

SAFE_INTEGER = 2**53 - 1
"""The highest whole number that every JSON reader keeps exactly."""


class Wire:
    """Base of the declared classes; `@wire` gives the schema."""

    SCHEMA: ClassVar[Schema]
    WIRE_NAMES: ClassVar[tuple[tuple[str, str], ...]]

    if TYPE_CHECKING:

        def __init__(self, **said: Any) -> None:
            """Made by the decorator: the declared fields, by keyword."""

    @classmethod
    def load(cls, plain: Any) -> Any:
        """The value of plain data; raises marshmallow's ValidationError."""
        return cls(**cls.SCHEMA.load(plain))

    def plain(self) -> dict[str, Any]:
        """Plain data with the names of the wire; what is None is left out."""
        said: dict[str, Any] = {}
        for name, wire_name in self.WIRE_NAMES:
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
    declared_class: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    declared: dict[str, fields.Field] = {}
    for field in dataclasses.fields(declared_class):
        schema_field = field.metadata["field"]
        schema_field.data_key = camel(field.name)
        declared[field.name] = schema_field
    schema: Any = Schema.from_dict(declared, name=f"{declared_class.__name__}WireSchema")
    declared_class.SCHEMA = schema(unknown=EXCLUDE)
    declared_class.WIRE_NAMES = tuple((name, camel(name)) for name in declared)
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


class Text(fields.Field):
    """A stored text of `shortest` to `longest` characters."""

    def __init__(self, longest: int, shortest: int = 1) -> None:
        super().__init__()
        self.longest, self.shortest = longest, shortest

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not is_text(value, self.longest, self.shortest):
            raise ValidationError(f"no text of {self.shortest} to {self.longest} characters")
        return value


class Name(fields.Field):
    """A text for people of 1 to `longest` characters."""

    def __init__(self, longest: int) -> None:
        super().__init__()
        self.longest = longest

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not is_name(value, self.longest):
            raise ValidationError(f"no name of 1 to {self.longest} characters")
        return value


class OneOf(fields.Field):
    """Exactly one of these texts."""

    def __init__(self, allowed: Iterable[str]) -> None:
        super().__init__()
        self.allowed = frozenset(allowed)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if type(value) is not str or value not in self.allowed:
            raise ValidationError("none of the allowed values")
        return value


class Whole(fields.Field):
    """A safe integer."""

    def __init__(self, minimum: int = -SAFE_INTEGER) -> None:
        super().__init__()
        self.minimum = minimum

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int:
        if not is_whole(value, self.minimum):
            raise ValidationError("no whole number in range")
        return value


class Number(fields.Field):
    """A finite number, kept as it came."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> float:
        if not is_number(value):
            raise ValidationError("no number")
        return value


class Truth(fields.Field):
    """true or false, nothing that resembles them."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        if type(value) is not bool:
            raise ValidationError("neither true nor false")
        return value


class Anything(fields.Field):
    """Any JSON value, kept as it came."""


class Mapping(fields.Field):
    """A JSON object, kept as it came."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> dict:
        if type(value) is not dict:
            raise ValidationError("no object")
        return value


class Items(fields.Field):
    """A JSON list, kept as it came."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> list:
        if type(value) is not list:
            raise ValidationError("no list")
        return value


class Part(fields.Field):
    """Another declared class."""

    def __init__(self, part: Any) -> None:
        super().__init__()
        self.part = part

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return self.part.load(value)


class Dropped(fields.Field):
    """A field whose malformed value counts as absent instead of spoiling its envelope."""

    def __init__(self, inner: fields.Field) -> None:
        super().__init__()
        self.inner = inner

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            return self.inner.deserialize(value)
        except ValidationError:
            return None
