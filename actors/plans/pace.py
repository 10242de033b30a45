"""When the message that shows a run may be drawn again: pure.

First output is shown at once and later output at most every two seconds, so that a talkative
program does not use up the chat's budget. A silent one shows that it is at work, and after ten
minutes its owner is asked whether it should go on.
"""

import dataclasses
import enum

DRAW_EVERY_MS = 2_000
TYPING_EVERY_MS = 4_000
TYPING_AFTER_MS = 1_000
"""A command that answers quickly needs no sign that it works."""

REFUSED_PAUSE_MS = 30_000
"""How long nothing is drawn after Telegram refused to: the final answer is tried in any case."""

SILENT_MINUTES = 10


class Act(enum.StrEnum):
    """What is to be done now."""

    DRAW = "draw"
    TYPE = "type"
    ASK = "ask"


@dataclasses.dataclass(frozen=True, slots=True)
class Pace:
    """The last instants of each thing, on the boot clock in milliseconds."""

    output_at: int
    """The last output; at first the start of the run."""

    draw_from: int = 0
    """Before this instant nothing is drawn."""

    typed_at: int | None = None
    changed: bool = False
    """Whether there is output that is not drawn yet."""

    asked: bool = False

    def on_output(self, now: int) -> "Pace":
        """The program printed something."""
        return dataclasses.replace(self, output_at=now, changed=True, asked=False)

    def on_refused(self, now: int) -> "Pace":
        """Drawing was refused."""
        return dataclasses.replace(self, draw_from=now + REFUSED_PAUSE_MS, changed=True)

    def on_missed(self) -> "Pace":
        """What was to be drawn is not in the thread yet."""
        return dataclasses.replace(self, changed=True)

    def step(self, now: int) -> tuple["Pace", tuple[Act, ...]]:
        """What is due now."""
        pace, acts = self, []
        if self.changed and now >= self.draw_from:
            pace = dataclasses.replace(pace, changed=False, draw_from=now + DRAW_EVERY_MS)
            acts.append(Act.DRAW)
        if now >= self._typing_due():
            pace = dataclasses.replace(pace, typed_at=now)
            acts.append(Act.TYPE)
        if not self.asked and now >= self._asking_due():
            pace = dataclasses.replace(pace, asked=True)
            acts.append(Act.ASK)
        return pace, tuple(acts)

    def next_at(self) -> int:
        """The next instant at which something may be due."""
        instants = [self._typing_due()]
        if self.changed:
            instants.append(self.draw_from)
        if not self.asked:
            instants.append(self._asking_due())
        return min(instants)

    def _typing_due(self) -> int:
        quiet = self.output_at + TYPING_AFTER_MS
        return quiet if self.typed_at is None else max(quiet, self.typed_at + TYPING_EVERY_MS)

    def _asking_due(self) -> int:
        return self.output_at + SILENT_MINUTES * 60_000
