"""`status --watch`: a screen of its own on a terminal, plain repeats elsewhere, and an end by Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pexpect

ROOT = Path(__file__).resolve().parents[2]


def command(tmp_path, *more):
    return [sys.executable, str(ROOT / "run.py"), "status", "--watch", *more, "--home", str(tmp_path / "h")]


def test_on_a_terminal_it_gives_the_screen_back(tmp_path):
    line = command(tmp_path)
    watching = pexpect.spawn(
        line[0], line[1:], env={**os.environ, "TERM": "xterm"}, encoding="utf-8", dimensions=(10, 80), timeout=15
    )
    try:
        watching.expect_exact("\x1b[?1049h")
        watching.expect_exact("No bot is set up.")
        watching.sendintr()
        watching.expect_exact("\x1b[?1049l")
        watching.expect(pexpect.EOF)
    finally:
        watching.close(force=True)
    assert watching.exitstatus == 0


def test_by_pipe_each_second_is_a_line_for_programs(tmp_path):
    watching = subprocess.Popen(
        command(tmp_path, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    said = [json.loads(watching.stdout.readline()) for _ in range(2)]
    assert said[0] == said[1] and said[0]["leader"] is None
    watching.send_signal(signal.SIGINT)
    out, errors = watching.communicate(timeout=15)
    assert (watching.returncode, errors) == (0, "")
