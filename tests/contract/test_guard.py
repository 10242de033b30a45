"""The guard of a command, with real processes and signals: nothing outlives `run.py`."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from actors.modes import guard
from tests.support.eventually import eventually
from tests.support.marked_processes import Marked, marked_processes

PYTHON = sys.executable
READY = "import sys, time; print('ready', flush=True); "
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {READY} time.sleep(60)"
OWN_SESSION = (
    "import os, subprocess, sys, time;"
    f"subprocess.Popen([sys.executable, '-c', {STUBBORN!r}], start_new_session=True);"
    "time.sleep(60)"
)
DAEMON = (
    "import os, sys, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork(): os._exit(0)\n"
    "    print('ready', flush=True)\n"
    "    time.sleep(60)\n"
    "time.sleep(60)\n"
)
COMMANDS = {
    "plain": READY + "time.sleep(60)",
    "ignores-term": STUBBORN,
    "own-session": OWN_SESSION,
    "daemon": DAEMON,
}


@pytest.fixture
def marked() -> Iterator[Marked]:
    with marked_processes() as mark:
        yield mark


def guarded(command: list[str], marked: Marked, watch: int | None = None) -> subprocess.Popen[str]:
    """The guard of a command, watching this process unless told."""
    line = [PYTHON, "-I", "-S", guard.__file__, "--watch-pid", str(watch or os.getpid())]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*line, "--", *command],
        stdin=pipe,
        stdout=pipe,
        env=marked.environment,
        text=True,
        start_new_session=True,
    )


def finished(process: subprocess.Popen[str], text: str = "") -> tuple[int, str]:
    """The exit status and the output of a guard."""
    output, _ = process.communicate(text, timeout=20)
    return process.returncode, output


@pytest.mark.parametrize("code", COMMANDS.values(), ids=COMMANDS)
def test_killing_the_watched_process_leaves_nothing(code: str, marked: Marked) -> None:
    main = subprocess.Popen(
        [PYTHON, "-m", "tests.support.guarded_main", PYTHON, "-c", code],
        stdout=subprocess.PIPE,
        env=marked.environment,
        text=True,
    )
    with main:
        assert main.stdout is not None
        assert main.stdout.readline().startswith("guard ")
        assert main.stdout.readline() == "ready\n"
        assert len(marked.processes()) >= 3
        main.kill()
        eventually(marked.none_left, within=2)


def test_the_command_dies_with_a_killed_guard(marked: Marked) -> None:
    process = guarded([PYTHON, "-c", COMMANDS["plain"]], marked)
    with process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.kill()
        eventually(marked.none_left, within=2)


@pytest.mark.parametrize(
    ("command", "status", "output"),
    [
        pytest.param(["true"], 0, "", id="success"),
        pytest.param(["sh", "-c", "cat; exit 3"], 3, "said", id="status-and-input"),
        pytest.param(["sh", "-c", "kill -9 $$"], 137, "", id="killed"),
        pytest.param(["sh", "-c", "kill -TERM $$"], 143, "", id="ended-by-signal"),
        pytest.param(["/no/such/command"], 127, "", id="not-found"),
        pytest.param([guard.__file__], 126, "", id="not-executable"),
    ],
)
def test_the_status_is_that_of_the_command(
    command: list[str], status: int, output: str, marked: Marked
) -> None:
    assert finished(guarded(command, marked), "said") == (status, output)


def test_the_command_starts_with_its_streams_and_default_signals_only(marked: Marked) -> None:
    code = (
        "import os, signal\n"
        "own = os.open('/', os.O_RDONLY)\n"
        "print(sorted(int(fd) for fd in os.listdir('/proc/self/fd') if int(fd) < own))\n"
        "status = open('/proc/self/status').read()\n"
        "print(status.split('SigBlk:')[1].split()[0])\n"
        "print(os.getpid() == os.getsid(0) == os.getpgid(0))\n"
    )
    _, output = finished(guarded([PYTHON, "-c", code], marked))
    assert output.splitlines() == ["[0, 1, 2]", "0" * 16, "True"]
    ignored = ["sh", "-c", "grep SigIgn /proc/self/status | cut -f2"]
    assert int(finished(guarded(ignored, marked))[1], 16) == 0


def test_a_stop_lets_the_command_end_by_itself(marked: Marked) -> None:
    script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = guarded(["sh", "-c", script], marked)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.terminate()
    assert finished(process) == (7, "bye\n")


def test_a_stop_wakes_a_stopped_command(marked: Marked) -> None:
    process = guarded(["sh", "-c", "echo ready; kill -STOP $$; sleep 60"], marked)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    eventually(lambda: [p for p in marked.processes() if p.status() == "stopped"])
    process.terminate()
    assert finished(process)[0] == 143


@pytest.mark.parametrize("name", ["ignores-term", "own-session"])
def test_a_stop_kills_after_five_seconds(name: str, marked: Marked) -> None:
    process = guarded([PYTHON, "-c", COMMANDS[name]], marked)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    asked = time.monotonic()
    process.terminate()
    process.terminate()
    assert finished(process)[0] in (137, 143)
    assert 4.5 < time.monotonic() - asked < 15
    assert marked.none_left()


def test_a_kill_does_not_wait(marked: Marked) -> None:
    process = guarded([PYTHON, "-c", COMMANDS["own-session"]], marked)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.terminate()
    process.send_signal(signal.SIGQUIT)
    asked = time.monotonic()
    assert finished(process)[0] in (137, 143)
    # Well before the five seconds that it would wait otherwise.
    assert time.monotonic() - asked < 4
    assert marked.none_left()


def test_what_a_command_leaves_behind_ends_with_it(marked: Marked) -> None:
    script = f'"$0" -c "$1" & setsid sleep 60 & sleep 60 & read line; echo {"x" * 9}'
    process = guarded(["sh", "-c", script, PYTHON, STUBBORN], marked)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    status, output = finished(process, "go\n")
    assert (status, output) == (0, "x" * 9 + "\n")
    assert marked.none_left()


def test_a_watched_process_that_is_gone_already_starts_nothing(marked: Marked) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert finished(guarded(["echo", "ran"], marked, watch=gone.pid)) == (137, "")


def test_another_birth_of_the_watched_pid_starts_nothing(marked: Marked) -> None:
    line = [PYTHON, "-I", "-S", guard.__file__, "--watch-pid", str(os.getpid())]
    output = subprocess.run(
        [*line, "--watch-birth", "1", "--", "echo", "ran"],
        stdout=subprocess.PIPE,
        env=marked.environment,
        check=False,
    )
    assert (output.returncode, output.stdout) == (137, b"")


def test_keys_of_the_terminal_are_not_for_the_command(marked: Marked) -> None:
    process = guarded([PYTHON, "-c", READY + "sys.exit(len(sys.stdin.read()))"], marked)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for number in (signal.SIGINT, signal.SIGHUP):
        process.send_signal(number)
    assert finished(process, "four")[0] == 4
