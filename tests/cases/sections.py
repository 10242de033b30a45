"""The numbered cases of the contract, by section, and the lines about those without a test of their own."""

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """One section of the contract; `asked`: its behaviour is promised already."""

    letter: str
    number: int
    about: str
    first: int
    last: int
    asked: bool

    def __iter__(self) -> Iterator[str]:
        return (f"{self.letter}{number}" for number in range(self.first, self.last + 1))


@dataclasses.dataclass(frozen=True, slots=True)
class Reasons:
    """Why a case holds by another mechanism (`by_design`), or does not hold yet (`later`)."""

    by_design: Mapping[str, str]
    later: Mapping[str, str]


def read_sections() -> tuple[Section, ...]:
    """All sections, in order."""
    plain = tomllib.loads((HERE / "sections.toml").read_text())
    return tuple(
        Section(
            letter=one["letter"],
            number=one["number"],
            about=one["about"],
            first=one["cases"][0],
            last=one["cases"][1],
            asked=one.get("asked", False),
        )
        for one in plain["section"]
    )


def read_reasons() -> Reasons:
    """The lines of `by_design.toml`."""
    plain = tomllib.loads((HERE / "by_design.toml").read_text())
    return Reasons(by_design=plain["by_design"], later=plain["later"])
