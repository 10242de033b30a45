"""The guards whose absence must be noticed: for each case one text of the product and what to put there.

The table is `mutations.toml`; `tests/unit/test_cases.py` guards that each old text is still there, once.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path

from tests.cases.sections import HERE


class NoLongerThere(Exception):
    """The text that a mutation replaces is not in its file exactly once."""


@dataclasses.dataclass(frozen=True, slots=True)
class Mutation:
    """One way to break the product."""

    case: str
    file: str
    old: str
    new: str
    what: str

    def apply(self, root: Path) -> None:
        """Break the project that lies there."""
        path = root / self.file
        text = path.read_text()
        self.check(text)
        path.write_text(text.replace(self.old, self.new))

    def check(self, text: str) -> None:
        """Raise NoLongerThere unless the old text is there exactly once."""
        if text.count(self.old) != 1:
            raise NoLongerThere(f"{self.case}: {self.file} has it {text.count(self.old)} times")


def read_mutations() -> Mapping[str, Mutation]:
    """The table, by case."""
    plain = tomllib.loads((HERE / "mutations.toml").read_text())
    return {
        case: Mutation(case, one["file"], one["old"], one["new"], one["what"])
        for case, one in plain.items()
    }
