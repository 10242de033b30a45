"""A screen of one command, before anybody knows how wide it will be: lines, and one table between them."""

import dataclasses

Row = tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Screen:
    """What is shown: lines above, a table whose last cell of a row may be a hint, and lines below."""

    above: tuple[str, ...] = ()
    headings: Row = ()
    rows: tuple[Row, ...] = ()
    """As many cells as there are headings, and one more for a hint, which may be empty."""

    below: tuple[str, ...] = ()
    long_hints: bool = False
    """Hints are what matters: they are folded beside their row, and not dimmed."""


TONES = {
    "working": "green",
    "running": "green",
    "starting": "yellow",
    "stopped": "dim",
    "lost": "red",
    "ok": "green",
    "warning": "yellow",
    "error": "red",
    "fixed": "cyan",
    "WARNING": "yellow",
    "ERROR": "red",
    "DEBUG": "dim",
}
"""How a word in a table is coloured, where there are colours at all."""
