"""What a stage does to the messages that a test names: a rule fires on the nth match, so many times."""

import dataclasses
import enum


class Fault(enum.Enum):
    """What happens to a matching message."""

    DROP = "drop"
    DUPLICATE = "duplicate"
    DELAY = "delay"  # it arrives `delay_ms` later, whatever is sent meanwhile
    REORDER = "reorder"  # the next message to the same receiver overtakes it
    KILL_SENDER = "kill sender"  # the sender dies instead of sending it
    KILL_RECEIVER = "kill receiver"  # the receiver dies instead of hearing it


@dataclasses.dataclass
class Rule:
    """One rule; None matches everything."""

    fault: Fault
    kind: str | None = None
    to: str | None = None
    nth: int = 1
    times: int | None = 1
    delay_ms: int = 0
    seen: int = 0
    fired: int = 0

    def fires(self, kind: str, to: str) -> bool:
        """Count a message, and say whether the rule is meant for it."""
        if self.kind not in (None, kind) or self.to not in (None, to):
            return False
        self.seen += 1
        wanted = self.seen >= self.nth and (self.times is None or self.fired < self.times)
        self.fired += wanted
        return wanted


class FaultRules:
    """The rules of one stage."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def add(self, rule: Rule) -> Rule:
        """From now on."""
        self._rules.append(rule)
        return rule

    def firing(self, kind: str, to: str, *faults: Fault) -> Rule | None:
        """The rule among these faults that fires for this message; every match is counted."""
        fired = [rule for rule in self._rules if rule.fault in faults and rule.fires(kind, to)]
        return fired[0] if fired else None

    def idle(self) -> list[Rule]:
        """Rules that never fired: the test did not test what it says."""
        return [rule for rule in self._rules if not rule.fired]
