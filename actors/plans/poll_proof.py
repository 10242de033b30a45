"""The proof that nobody else reads a bot, before a home that never led it touches anything.

For some seconds updates are asked for and none is confirmed, so that another reader loses nothing. Of two
who poll at a time Telegram sends the earlier one away with a 409, and each comes again; so whoever is there
shows itself within that time.
"""

import dataclasses
from typing import Any

from actors.plans.call_result import CallResult, Ending
from actors.plans.effects import Effects, Now, Perform, Reply, WakeAfter
from messages.poller import PollingContested, PollingProven, ProvePolling

PAUSE_MS = 1_000
"""Between polls that end at once: updates wait there, and none may be confirmed."""
ANSWER_S = 10
"""So much longer than the poll itself an answer may take."""


def conflict_cause(words: str) -> str:
    """Whether a 409 is about another program that polls, or about a webhook."""
    return "webhook" if "webhook" in words.lower() else "foreign-poller"


@dataclasses.dataclass(frozen=True, slots=True)
class PollProof:
    """One proof under way."""

    command_id: str
    until: int
    turn: int = 0
    heard: bool = False

    @classmethod
    def of(cls, command_id: str, asked: ProvePolling, now: Now) -> "PollProof":
        """From the command."""
        return cls(command_id, now.boot + asked.for_ms)

    def awaits(self, operation_id: str) -> bool:
        """Whether it is the poll of this proof that ended."""
        return operation_id == self._operation_id

    def poll(self, now: Now) -> tuple["PollProof | None", Effects]:
        """Poll for what is left of the time, or say how it ended."""
        left_ms = self.until - now.boot
        if left_ms <= 0:
            proven = PollingProven() if self.heard else PollingContested(cause="unreachable")
            return None, (Reply(self.command_id, proven),)
        timeout = -(-left_ms // 1_000)
        proof = dataclasses.replace(self, turn=self.turn + 1)
        # No offset: nothing is confirmed. No kinds of updates either: Telegram would remember them.
        params = {"timeout": timeout, "limit": 1}
        arguments = {"params": params, "budget_s": timeout + ANSWER_S}
        return proof, (Perform("prove", proof._operation_id, arguments),)

    def ended(self, value: Any, now: Now) -> tuple["PollProof | None", Effects]:
        """A poll ended."""
        value = value if isinstance(value, CallResult) else CallResult(Ending.UNCLEAR)
        match value.ending:
            case Ending.ANSWERED if not value.result:
                return dataclasses.replace(self, heard=True).poll(now)
            case Ending.ANSWERED:
                proof = dataclasses.replace(self, heard=True)
                return proof, (WakeAfter("prove", PAUSE_MS),)
            case Ending.REJECTED if value.error_code == 409:
                return self._contested(conflict_cause(value.description))
            case Ending.UNAUTHORIZED:
                return self._contested("unauthorized", value.description)
        return self, (WakeAfter("prove", PAUSE_MS),)

    def _contested(self, cause: str, text: str = "") -> tuple[None, Effects]:
        return None, (Reply(self.command_id, PollingContested(cause=cause, text=text)),)

    @property
    def _operation_id(self) -> str:
        return f"prove/{self.command_id}/{self.turn}"
