"""Screens as people see them: columns, colours on a terminal, and nothing but plain lines elsewhere.

The only part that knows rich, and imported only by the commands that show something. On a terminal nothing
is wider than it; what does not fit beside its row goes below it, and the widest column gives way last.
"""

import contextlib
import io
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.live import Live
from rich.text import Text

from actors.plans.screen import TONES, Row, Screen

GAP = 2
SHORTEST_CELL = 8
WATCH_S = 1.0


def show(screen: Screen, stream: TextIO | None = None) -> None:
    """Print it to this stream, standard output without one."""
    out = stream if stream is not None else sys.stdout
    if not out.isatty():
        encoding = out.encoding or "utf-8"
        text = lines_of(screen)
        out.write("".join(f"{line}\n" for line in text).encode(encoding, "replace").decode(encoding))
        out.flush()
        return
    console = Console(file=out, highlight=False)
    for line in _texts(screen, console.width):
        console.print(line, no_wrap=True, overflow="ellipsis", crop=True)


def lines_of(screen: Screen, columns: int | None = None) -> list[str]:
    """Its lines without colours; with `columns` none is wider."""
    return [text.plain.rstrip() for text in _texts(screen, columns)]


def watch(look: Callable[[], Screen]) -> None:
    """Show it again every second until Ctrl-C; a terminal is given back as it was."""
    if not sys.stdout.isatty():
        while True:
            show(look())
            time.sleep(WATCH_S)
            print()
    console = Console(highlight=False)
    with contextlib.suppress(KeyboardInterrupt):
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                columns, rows = shutil.get_terminal_size()
                texts = cut(_texts(look(), columns), max(1, rows - 1))
                live.update(Text("\n").join(texts), refresh=True)
                time.sleep(WATCH_S)


def cut(lines: list[Text], rows: int) -> list[Text]:
    """The first of these lines, as many as there are rows; the last row says how many are missing."""
    if len(lines) <= rows:
        return lines
    return [*lines[: rows - 1], Text(f"… {len(lines) - rows + 1} more lines", "dim")]


def coloured(screen: Screen, columns: int) -> str:
    """As a terminal of this width is sent it."""
    console = Console(file=io.StringIO(), width=columns, force_terminal=True, color_system="standard")
    with console.capture() as captured:
        for line in _texts(screen, columns):
            console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    return captured.get()


def _texts(screen: Screen, columns: int | None) -> list[Text]:
    lines = [line for said in screen.above for line in _folded(said, columns)]
    lines += _table(screen, columns)
    lines += [line for said in screen.below for line in _folded(said, columns)]
    return lines


def _folded(said: str, columns: int | None) -> list[Text]:
    """A sentence in as many lines as it needs; what follows the first is indented."""
    if columns is None or cell_len(said) <= columns:
        return [Text(said)]
    lines, line = [], ""
    for word in said.split(" "):
        longer = f"{line} {word}" if line.strip() else f"{line}{word}"
        if cell_len(longer) > columns and line.strip():
            lines.append(line)
            longer = f"  {word}"
        line = longer
    return [Text(one) for one in (*lines, line)]


def _table(screen: Screen, columns: int | None) -> list[Text]:
    if not screen.headings:
        return []
    count = len(screen.headings)
    cells = [screen.headings, *(row[:count] for row in screen.rows)]
    widths = [max(cell_len(row[at]) for row in cells) for at in range(count)]
    if columns is not None:
        while sum(widths) + GAP * (count - 1) > columns and max(widths) > SHORTEST_CELL:
            widths[widths.index(max(widths))] -= 1
    lines = [_line(screen.headings, widths)]
    lines[0].stylize("bold")
    for row in screen.rows:
        line = _line(row[:count], widths)
        hint = row[count] if len(row) > count else ""
        if hint and screen.long_hints:
            lines += _beside(line, hint, sum(widths) + GAP * count, columns)
            continue
        if hint and (columns is None or sum(widths) + GAP * count + cell_len(hint) <= columns):
            line.append(" " * GAP + hint, "dim")
            hint = ""
        lines.append(line)
        if hint:
            below = _folded(f"{' ' * GAP}{hint}", columns)
            for one in below:
                one.stylize("dim")
            lines += below
    return lines


def _beside(line: Text, hint: str, at: int, columns: int | None) -> list[Text]:
    """A row with its hint folded in the room that is left beside it."""
    room = None if columns is None else max(columns - at, 2 * SHORTEST_CELL)
    first, *others = _folded(hint, room)
    line.append(" " * GAP).append(first)
    return [line, *(Text(" " * at).append(one.plain.strip()) for one in others)]


def _line(row: Row, widths: list[int]) -> Text:
    line = Text()
    for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
        shown = cell if cell_len(cell) <= width else set_cell_size(cell, max(0, width - 1)) + "…"
        line.append(shown, TONES.get(cell))
        line.append(" " * (width - cell_len(shown)))
        if at + 1 < len(widths):
            line.append(" " * GAP)
    return line
