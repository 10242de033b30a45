"""Screens as they were approved: text files beside the tests, read by people as well.

`UPDATE_SNAPSHOTS=1 python -m pytest …` writes what is shown now; look at the difference before committing it.
"""

import os
from pathlib import Path

SNAPSHOTS = Path(__file__).resolve().parents[1] / "unit" / "snapshots"
COLUMNS = 80


def matches(name: str, shown: str) -> bool:
    """Whether this is what was approved under this name, and fits the width of a terminal."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(shown, encoding="utf-8")
    wide = [line for line in shown.splitlines() if len(line) > COLUMNS]
    assert not wide, wide
    assert shown == path.read_text(encoding="utf-8")
    return True
