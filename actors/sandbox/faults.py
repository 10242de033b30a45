"""Faults to order: the next calls of a method fail, wait, or lose their connection."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from actors.sandbox.errors import BotApiError, default_description, too_many_requests

MOST_RULES = 100
EVERY_METHOD = "*"


@dataclass
class Fault:
    """One rule; it serves the next `times` calls of its method."""

    method: str
    times: int
    error_code: int | None = None
    description: str | None = None
    retry_after: int | None = None
    delay_ms: int = 0
    drop: str | None = None

    def refusal(self) -> BotApiError | None:
        """The answer instead of doing it; None when it is to be done."""
        if self.error_code is None and self.retry_after is None:
            return None
        code = self.error_code or 429
        if self.retry_after is not None and self.description is None:
            answer = too_many_requests(self.retry_after)
            return BotApiError(code, answer.description, answer.parameters)
        parameters = {} if self.retry_after is None else {"retry_after": self.retry_after}
        return BotApiError(code, self.description or default_description(code), parameters)


class Faults:
    """The rules in force, oldest first."""

    def __init__(self) -> None:
        self._rules: list[Fault] = []

    def add(self, fault: Fault) -> bool:
        """Whether there was room."""
        if len(self._rules) >= MOST_RULES:
            return False
        self._rules.append(fault)
        return True

    def clear(self) -> None:
        self._rules = []

    def take(self, method: str) -> Fault | None:
        """The oldest rule for this method; it has one call fewer to serve."""
        for rule in self._rules:
            if rule.method in (EVERY_METHOD, method):
                rule.times -= 1
                if rule.times <= 0:
                    self._rules.remove(rule)
                return rule
        return None

    def shown(self) -> list[dict[str, Any]]:
        return [asdict(rule) for rule in self._rules]
