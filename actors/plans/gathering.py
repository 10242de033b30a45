"""Asking everyone the same question and answering once all have answered or will not."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Round:
    """One question under way: for whom, who has not answered, and what the others said."""

    caller: str
    missing: frozenset[str]
    said: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Gathering:
    """All rounds under way, by their number."""

    rounds: Mapping[str, Round] = dataclasses.field(default_factory=dict)
    asked: int = 0

    def ask(self, caller: str, keys: Iterable[str]) -> tuple["Gathering", str]:
        """Begin a round for a caller; returns its number."""
        number = str(self.asked + 1)
        rounds = {**self.rounds, number: Round(caller, frozenset(keys), {})}
        return Gathering(rounds, self.asked + 1), number

    def heard(self, number: str, key: str, said: Any) -> tuple["Gathering", Round | None]:
        """One answer, None for one that will not come; the round is returned when it is complete."""
        found = self.rounds.get(number)
        if found is None:
            return self, None
        answers = {**found.said, key: said} if said is not None else found.said
        found = Round(found.caller, found.missing - {key}, answers)
        rounds = {other: one for other, one in self.rounds.items() if other != number}
        if found.missing:
            return Gathering({**rounds, number: found}, self.asked), None
        return Gathering(rounds, self.asked), found
