"""Every kind and version is read as it was said when it was declared, and said again the same."""

import json
from pathlib import Path

import pytest

from messages import bus
from messages.kind import CATALOGUE, dump_body, load_body
from tests.contract.golden.golden_files import BUS, TREE, bus_file, tree_file

WRITE = "`python -m tests.contract.golden` writes what is missing"


def test_every_kind_and_version_has_its_golden_message() -> None:
    """And none is there of a kind that is gone: an older process may still say it."""
    assert {path.name for path in BUS.iterdir()} == {bus_file(kind).name for kind in bus.KINDS}, WRITE
    # Tests declare kinds of their own beside those of `messages`.
    ours = {one for one, cls in CATALOGUE.items() if cls.__module__.startswith("messages.")}
    assert {path.name for path in TREE.iterdir()} == {tree_file(*one).name for one in ours}, WRITE


@pytest.mark.parametrize("path", sorted(BUS.iterdir()), ids=lambda path: path.stem)
def test_a_golden_line_of_the_bus(path: Path) -> None:
    """What is read goes out with every field under its name."""
    said = json.loads(path.read_text())
    read = bus.parse_line(json.dumps(said).encode())
    assert isinstance(read, bus.Envelope), read
    assert json.loads(bus.dump(read)) == said


@pytest.mark.parametrize("path", sorted(TREE.iterdir()), ids=lambda path: path.stem)
def test_a_golden_body_between_actors(path: Path) -> None:
    """What is read goes out the same."""
    kind, _, version = path.stem.partition(".v")
    said = json.loads(path.read_text())
    assert dump_body(load_body(kind, int(version), said)) == said
