"""A process that was started without some of its standard streams has them all."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
from actors.standard_streams import fill_standard_streams
fill_standard_streams()
opened = os.open(os.devnull, os.O_RDONLY)
for stream in (sys.stdout, sys.stderr):
    stream.write("")
    stream.flush()
sys.stdin.read()
# The shell cannot see it on a closed stream, so the exit status tells.
sys.exit(0 if opened > 2 else 1)
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">&- 2>&-", ""])
def test_whatever_is_closed_nothing_else_gets_its_number(closed: str) -> None:
    """Nobody prints into a database."""
    line = f'exec "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).resolve().parents[2],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
