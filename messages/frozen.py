"""What every declared class can do, written once instead of for each of them.

`dataclasses` would compile six methods for each class: a millisecond a class, a hundred classes, in every
process that starts. These do the same from the names of the fields.
"""

import dataclasses
from typing import Any


def frozen(cls: Any) -> Any:
    """Make a class of annotated fields a frozen dataclass that is filled by keyword."""
    made: Any = dataclasses.dataclass(kw_only=True, init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(made)
    made.NAMES = dict.fromkeys(field.name for field in fields).keys()
    made.DEFAULTS = {
        field.name: field.default for field in fields if field.default is not dataclasses.MISSING
    }
    for method in (_init, _repr, _eq, _hash, _setattr, _delattr):
        setattr(made, f"_{method.__name__}__", method)
    return made


def _init(self: Any, **values: Any) -> None:
    filled = {**self.DEFAULTS, **values}
    if filled.keys() != self.NAMES:
        odd = sorted(filled.keys() ^ self.NAMES)
        raise TypeError(f"{type(self).__qualname__}: missing or unknown: {', '.join(odd)}")
    self.__dict__.update(filled)


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.NAMES)
    return f"{type(self).__qualname__}({values})"


def _eq(self: Any, other: Any) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _setattr(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.NAMES])
