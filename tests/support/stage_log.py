"""What the product logs while a stage plays, and which of it a test may not pass over.

`log_event` is imported by name into many modules, some of them only when an actor is created. Each of
them gets one dispatcher, which hands records to the stage that plays now, or to the real log.
"""

import dataclasses
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import actors.event_log

FAULTS = frozenset(
    {
        "actor.raised",
        "actor.failed",
        "actor.unhandled",
        "actor.invalid",
        "actor.unknown",
        "actor.poison",
        "actor.misdelivered",
        "actor.io_failed",
        "stage.dead_letter",
        "stage.slow_handler",
    }
)
"""Actions that fail a test that did not expect them."""


@dataclasses.dataclass(frozen=True)
class LogRecord:
    """One logged event."""

    action: str
    level: str
    fields: Mapping[str, Any]
    trace: str = ""

    def matches(self, action: str, fields: Mapping[str, Any]) -> bool:
        """Whether it is this action with at least these fields."""
        return self.action == action and all(
            self.fields.get(name) == value for name, value in fields.items()
        )

    def __str__(self) -> str:
        return f"{self.action} {dict(self.fields)}\n{self.trace}".rstrip()


class StageLog:
    """The records of one stage, and the faults that its test expects."""

    _playing: "StageLog | None" = None
    _real = staticmethod(actors.event_log.log_event)

    def __init__(self) -> None:
        self.records: list[LogRecord] = []
        self._expected: list[tuple[str, Mapping[str, Any], int]] = []

    def open(self) -> None:
        """From now on this log gets what the product logs."""
        StageLog._playing = self
        self.hook()

    def close(self) -> None:
        """The real log gets it again."""
        StageLog._playing = None

    @staticmethod
    def hook() -> None:
        """Give the dispatcher to every module of the product that is loaded by now."""
        for name, module in list(sys.modules.items()):
            user = name.startswith("actors.") and module is not actors.event_log
            if user and getattr(module, "log_event", None) is StageLog._real:
                setattr(module, "log_event", _dispatch)

    def write(self, action: str, level: str, exception: bool, fields: Mapping[str, Any]) -> None:
        """Keep one record."""
        trace = traceback.format_exc() if exception else ""
        self.records.append(LogRecord(action, level, fields, trace))

    def of(self, action: str, **fields: Any) -> list[LogRecord]:
        """The records of this action with at least these fields."""
        return [record for record in self.records if record.matches(action, fields)]

    def expect(self, action: str, times: int = 1, **fields: Any) -> None:
        """The test wants exactly so many of these."""
        self._expected.append((action, fields, times))

    def complaints(self) -> list[str]:
        """What happened and was not expected, or was expected and did not happen."""
        faults = [record for record in self.records if record.action in FAULTS]
        complaints = []
        for action, fields, times in self._expected:
            matching = [record for record in self.records if record.matches(action, fields)]
            if len(matching) != times:
                complaints.append(f"expected {times} × {action} {fields}, saw {len(matching)}")
            faults = [record for record in faults if not any(record is one for one in matching)]
        return complaints + [f"unexpected: {record}" for record in faults]


def _dispatch(
    action: str, level: str = "INFO", exception: bool = False, **fields: Any
) -> None:
    playing = StageLog._playing
    if playing is not None:
        playing.write(action, level, exception, fields)
    else:
        StageLog._real(action, level, exception=exception, **fields)
