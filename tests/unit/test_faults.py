"""Fault points: only places in the table, each at its pass, and nothing at all when unset."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from actors import faults
from actors.faults import FaultInjected, FaultUnknown

PLACE = "inbox.after-admit"


def test_unset_a_place_is_a_call_of_nothing() -> None:
    assert faults.fault is faults._nothing
    faults.fault(PLACE)
    faults.fault("no.such-place")


def test_fail_raises_once_at_the_first_pass() -> None:
    [fault] = faults.parse(f"{PLACE}:fail")[PLACE]
    with pytest.raises(FaultInjected, match=PLACE):
        fault.pass_by(PLACE)
    fault.pass_by(PLACE)


def test_a_star_names_the_pass() -> None:
    [fault] = faults.parse(f"{PLACE}:fail*3")[PLACE]
    fault.pass_by(PLACE)
    fault.pass_by(PLACE)
    with pytest.raises(FaultInjected):
        fault.pass_by(PLACE)
    fault.pass_by(PLACE)


def test_a_delay_waits_its_milliseconds() -> None:
    [fault] = faults.parse(f"{PLACE}:delay:30")[PLACE]
    began = time.monotonic()
    fault.pass_by(PLACE)
    # Thirty of another unit would be told apart.
    assert 0.03 <= time.monotonic() - began < 10


def test_several_faults_at_several_places() -> None:
    parsed = faults.parse(f"{PLACE}:delay:1*2, {PLACE}:kill*3,poller.before-poll:stop,")
    assert [(f.action, f.milliseconds, f.at_pass) for f in parsed[PLACE]] == [
        ("delay", 1, 2), ("kill", 0, 3)]
    assert [f.action for f in parsed["poller.before-poll"]] == ["stop"]


@pytest.mark.parametrize("text", [
    "no.such-place:kill", PLACE, f"{PLACE}:", f"{PLACE}:explode", f"{PLACE}:delay", f"{PLACE}:delay:x",
    f"{PLACE}:delay:-1", f"{PLACE}:kill:5", f"{PLACE}:kill*0", f"{PLACE}:kill*", f"{PLACE}:kill*x",
])
def test_what_is_not_understood_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(FaultUnknown, match=faults.VARIABLE):
        faults.parse(text)


@pytest.mark.parametrize("action, status", [("kill", -signal.SIGKILL), ("fail", 1)])
def test_the_variable_is_read_at_import(action: str, status: int) -> None:
    program = f"from actors.faults import fault; fault({PLACE!r}); raise SystemExit(9)"
    environment = {**os.environ, faults.VARIABLE: f"{PLACE}:{action}"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True,
                         timeout=20)
    assert run.returncode == status


def test_stop_waits_for_somebody_to_continue() -> None:
    program = f"from actors.faults import fault; fault({PLACE!r}); raise SystemExit(9)"
    environment = {**os.environ, faults.VARIABLE: f"{PLACE}:stop"}
    with subprocess.Popen([sys.executable, "-c", program], env=environment) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        process.send_signal(signal.SIGCONT)
        assert process.wait(10) == 9


def test_once_among_all_who_share_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(faults.ONCE, str(tmp_path))
    [first] = faults.parse(f"{PLACE}:fail")[PLACE]
    with pytest.raises(FaultInjected):
        first.pass_by(PLACE)
    [replacement] = faults.parse(f"{PLACE}:fail")[PLACE]
    replacement.pass_by(PLACE)


def test_no_pass_counts_before_the_file_is_there(tmp_path, monkeypatch):
    begun = tmp_path / "begun"
    monkeypatch.setenv(faults.FROM, str(begun))
    [fault] = faults.parse(f"{PLACE}:fail*2")[PLACE]
    for _ in range(3):
        fault.pass_by(PLACE)
    begun.touch()
    fault.pass_by(PLACE)
    with pytest.raises(FaultInjected):
        fault.pass_by(PLACE)
