"""Where the golden messages are, and a first one for a kind that has none."""

import json
from pathlib import Path
from typing import Any

from marshmallow import fields, validate

from messages import bus, envelope, launcher
from messages.kind import CATALOGUE
from tests.support.bus_samples import sample

HERE = Path(__file__).parent

assert launcher.LeadTree and envelope.BODIES, "kinds are declared by importing them"
BUS, TREE = HERE / "bus", HERE / "tree"


def bus_file(kind: str) -> Path:
    """The golden line of a kind of the bus; the version is the protocol's, so there is one."""
    return BUS / f"{kind}.json"


def tree_file(kind: str, version: int) -> Path:
    """The golden body of a kind between actors."""
    return TREE / f"{kind}.v{version}.json"


def write_missing() -> list[Path]:
    """Write a golden message for every kind that has none; what is there stays as it is."""
    wanted: dict[Path, Any] = {bus_file(kind): sample(kind) for kind in bus.KINDS}
    for (kind, version), body in CATALOGUE.items():
        wanted[tree_file(kind, version)] = {
            name: first_value(field) for name, field in body.SCHEMA.fields.items()
        }
    written = [path for path in sorted(wanted) if not path.exists()]
    for path in written:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(wanted[path], indent=1, ensure_ascii=False) + "\n")
    return written


def first_value(field: Any) -> Any:
    """A value that this field takes."""
    for rule in field.validators:
        if isinstance(rule, validate.OneOf):
            return next(iter(rule.choices))
    match field:
        case fields.String():
            return "A"
        case fields.Integer():
            return 7
        case fields.Boolean():
            return True
        case fields.List():
            return [first_value(field.inner)]
        case fields.Dict():
            return {"any": ["thing", 1, None]}
    return {"raw": True}
