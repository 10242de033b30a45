"""How much is logged, and by which process: `SWITCHBOARD_LOG=debug`, or `…=poller=debug,warning`."""

import dataclasses
from collections.abc import Mapping

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
USUAL = "INFO"


@dataclasses.dataclass(frozen=True, slots=True)
class LogLevels:
    """The level of every process."""

    usual: str = USUAL
    by_process: Mapping[str, str] = dataclasses.field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    """What was not understood, and so changes nothing."""

    @classmethod
    def parse(cls, text: str) -> "LogLevels":
        """A level for all, `process=level` for one, separated by commas; in any case."""
        usual, by_process, unknown = USUAL, {}, []
        for part in filter(None, (part.strip() for part in text.split(","))):
            process, equals, level = part.rpartition("=")
            level = level.strip().upper()
            if level not in LEVELS or (equals and not process.strip()):
                unknown.append(part)
            elif equals:
                by_process[process.strip().lower()] = level
            else:
                usual = level
        return cls(usual, by_process, tuple(unknown))

    def of(self, process: str) -> str:
        """The level of this process: its own, else the one for all."""
        return self.by_process.get(process.partition(":")[0], self.usual)
