"""Proof of life and death of a process."""

import os
import subprocess
import sys

import pytest

from stores import process_birth
from stores.process_birth import Liveness, ProcessBirth, boot_id, liveness, parse_stat
from tests.support.eventually import eventually


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def judge(birth):
    return liveness(birth.pid, birth.boot_id, birth.wire)


def test_oneself_lives():
    birth = ProcessBirth.current()
    assert birth.pid == os.getpid() and birth == ProcessBirth.of(os.getpid())
    assert birth.wire == f"{birth.pid}:start:{birth.ticks}"
    assert judge(birth) is Liveness.ALIVE


def test_an_ended_process_is_dead_first_as_a_zombie(child):
    birth = ProcessBirth.of(child.pid)
    assert judge(birth) is Liveness.ALIVE
    child.kill()
    eventually(lambda: judge(birth) is Liveness.DEAD)
    assert (process_birth._glimpse(child.pid) or ("Z",))[0] == "Z"
    child.wait()
    assert judge(birth) is Liveness.DEAD


@pytest.mark.case("F3")
def test_another_birth_or_boot_is_death():
    birth = ProcessBirth.current()
    assert liveness(birth.pid, birth.boot_id, f"{birth.pid}:start:1") is Liveness.DEAD
    assert liveness(birth.pid, birth.boot_id, f"1:start:{birth.ticks}") is Liveness.DEAD
    if boot_id():
        assert liveness(birth.pid, "another-boot", birth.wire) is Liveness.DEAD


@pytest.mark.case("F4")
def test_an_unreadable_birth_of_a_live_process_proves_nothing(monkeypatch):
    birth = ProcessBirth.current()
    fallback = f"{birth.pid}:generation:12"
    assert liveness(birth.pid, birth.boot_id, fallback) is Liveness.UNVERIFIABLE
    assert liveness(birth.pid, birth.boot_id, "") is Liveness.UNVERIFIABLE
    monkeypatch.setattr(process_birth, "_glimpse", lambda pid: None)
    assert judge(birth) is Liveness.UNVERIFIABLE


@pytest.mark.case("F5")
def test_a_process_that_may_not_be_signalled_is_there(monkeypatch):
    def refuse(pid, signal):
        raise PermissionError

    monkeypatch.setattr(process_birth, "_glimpse", lambda pid: None)
    monkeypatch.setattr(os, "kill", refuse)
    assert liveness(1, "", "1:start:1") is Liveness.UNVERIFIABLE


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 5])
def test_no_such_pid_is_dead(pid):
    assert liveness(pid, boot_id(), f"{pid}:start:1") is Liveness.DEAD
    assert ProcessBirth.of(pid) is None


@pytest.mark.case("F2")
@pytest.mark.parametrize("name", [b"python3", b"a) (b", b") R 1 2 3", b"\xff\n)"])
def test_the_program_name_may_hold_anything(name):
    numbers = b" ".join(b"%d" % number for number in range(1, 40))
    assert parse_stat(b"12 (" + name + b") S " + numbers) == ("S", "19")


@pytest.mark.parametrize("line", [b"", b"12 (x) S 1 2", b"12 (x) S " + b"x " * 30])
def test_a_line_that_makes_no_sense_tells_nothing(line):
    assert parse_stat(line) is None


def test_psutil_tells_the_same_story(child):
    state, ticks = process_birth._glimpse_by_psutil(child.pid)
    assert state == "R" and process_birth._glimpse_by_psutil(child.pid) == (state, ticks)
    assert process_birth._glimpse_by_psutil(2**22 + 5) is None
