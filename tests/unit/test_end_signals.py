"""Signals that come before there is anything to end: no trace on the screen, and none is lost."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from actors import end_signals

ROOT = Path(__file__).parents[2]
INTERRUPTED_WHILE_IMPORTING = """
import os, runpy, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv = ["{run}", "--role", "auto", "--home", "{home}"]
runpy.run_path("{run}", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["argparse", "actors.command_line", "actors.bot_choice"])
def test_an_interrupted_import_ends_in_order(module: str, tmp_path: Path) -> None:
    """Python would show its own trace, or show it and go on where a callback of the import raises."""
    script = INTERRUPTED_WHILE_IMPORTING.format(
        module=module, run=ROOT / "run.py", home=tmp_path / "home"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_hang_up_is_heeded_unless_nohup_shields_from_it() -> None:
    """`nohup switchboard … &` outlives the terminal."""
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert signal.SIGHUP in end_signals.heeded()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert end_signals.heeded() == (signal.SIGINT, signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_elsewhere_it_is_an_exception() -> None:
    """So that whoever reads a token without echo puts the terminal back."""
    with pytest.raises(end_signals.Interrupted):
        end_signals.interrupt(signal.SIGINT, sys._getframe())
