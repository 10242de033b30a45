"""The launcher with real processes: a whole instance or none of it, whoever is killed, and new trees."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from messages import launcher as said
from tests.cluster.floor_actors import Echo, FloorLeader
from tests.support.ended import ended
from tests.support.eventually import eventually
from tests.support.launcher_main import LauncherMain


@pytest.fixture
def main(tmp_path: Path) -> Iterator[LauncherMain]:
    started = LauncherMain(tmp_path)
    try:
        yield started
    finally:
        started.close()
    assert started.terminal.read_text() == ""
    assert (tmp_path / "output").read_text() == ""
    assert {path.name for path in tmp_path.iterdir()} == {"terminal", "output"}


def all_end(processes: set[psutil.Process], within: float = 2.0) -> None:
    eventually(lambda: all(map(ended, processes)), within, "the end of every process")


def test_a_tree_starts_reports_obeys_and_stops(main) -> None:
    main.lead(FloorLeader, epoch=7)
    main.send(said.TreeCommand(name="echo", body={"text": "é\n"}))
    assert main.expect(said.TreeEvent) == said.TreeEvent(name="echoed", body={"text": "é\n"})
    tree = main.tree()
    assert len(tree) == 5  # admin, logger, Leader, its child and grandchild
    main.send(said.StopTree())
    assert main.expect(said.TreeEvent).name == "stopped"
    assert main.expect(said.TreeEnded) == said.TreeEnded(reason=said.STOPPED)
    assert all(map(ended, tree))
    main.lead(FloorLeader, epoch=8)
    assert not main.tree() & tree


def test_a_new_lead_ends_the_tree_before(main) -> None:
    main.lead(FloorLeader)
    before = main.tree()
    main.send(said.LeadTree(leader=f"{FloorLeader.__module__}.FloorLeader",
                            log_path=str(main.home / "thespian.log"), settings={}))
    assert main.expect(said.TreeEnded).reason == said.STOPPED
    main.expect(said.TreeStarted)
    assert all(map(ended, before))


@pytest.mark.parametrize("stopped", [False, True], ids=["", "with a stopped actor"])
@pytest.mark.parametrize("victim", ["admin", "logger", "leader"])
def test_when_one_of_the_three_is_killed_the_tree_ends_and_can_start_again(
        main, victim: str, stopped: bool) -> None:
    pids = main.lead(FloorLeader)
    tree = main.tree()
    if stopped:
        os.kill(main.actors[1], signal.SIGSTOP)
    os.kill(getattr(pids, f"{victim}_pid"), signal.SIGKILL)
    assert main.expect(said.TreeEnded, 2).reason == f"{victim}-died"
    assert all(map(ended, tree))
    main.lead(FloorLeader)
    assert len(main.tree()) == 5


@pytest.mark.parametrize("stopped", [None, "admin", "logger", "leader", "actor", "grandchild", "all"])
@pytest.mark.parametrize("victim", ["main", "launcher"])
def test_when_main_or_the_launcher_is_killed_nothing_is_left(
        tmp_path, victim: str, stopped: str | None) -> None:
    main = LauncherMain(tmp_path)
    try:
        pids = main.lead(FloorLeader)
        everything = main.everything()
        stoppable = {"admin": pids.admin_pid, "logger": pids.logger_pid, "leader": pids.leader_pid,
                     "actor": main.actors[0], "grandchild": main.actors[1]}
        if victim == "main":
            stoppable["launcher"] = main.launcher.pid
        for name, pid in stoppable.items():
            if stopped in (name, "all"):
                os.kill(pid, signal.SIGSTOP)
        if victim == "main":
            main.process.kill()
        else:
            main.launcher.kill()
        all_end(everything)
        assert main.process.wait(2) == (-signal.SIGKILL if victim == "main" else 5)
    finally:
        main.close()
    assert main.terminal.read_text() == ""


def test_a_stopped_admin_dies_with_the_launcher_though_its_first_parent_lingered(tmp_path) -> None:
    # Thespian forks the admin twice; the kernel binds it to the launcher only when the first is gone.
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(
        "import sys, time\nleave = sys.exit\nsys.exit = lambda *status: (time.sleep(0.05), leave(*status))\n")
    main = LauncherMain(tmp_path, {"PYTHONPATH": str(slow)})
    try:
        main.lead(FloorLeader)
        everything = main.everything()
        for process in main.tree():
            process.suspend()
        main.launcher.kill()
        all_end(everything)
    finally:
        main.close()


def test_a_killed_actor_takes_what_is_below_it_and_nothing_else(main) -> None:
    main.lead(FloorLeader)
    child, grandchild = map(psutil.Process, main.actors)
    rest = main.everything() - {child, grandchild}
    grandchild.suspend()
    child.kill()
    all_end({child, grandchild})
    main.send(said.TreeCommand(name="echo", body={}))
    assert main.expect(said.TreeEvent).name == "echoed"
    assert not any(map(ended, rest))


def test_a_leader_that_does_not_stop_is_killed_with_its_stopped_grandchild(main) -> None:
    main.lead(FloorLeader)
    tree = main.tree()
    os.kill(main.actors[1], signal.SIGSTOP)
    main.send(said.TreeCommand(name="ignore stops", body={}))
    main.expect(said.TreeEvent)
    main.send(said.StopTree(within_ms=100))
    assert main.expect(said.TreeEnded, 2).reason == said.STOPPED
    assert all(map(ended, tree))


@pytest.mark.parametrize("leader", ["no.such.module.Leader", f"{Echo.__module__}.NoSuchLeader"])
def test_a_tree_that_cannot_start_is_reported_and_leaves_nothing(main, leader: str) -> None:
    main.send(said.LeadTree(leader=leader, log_path=str(main.home / "thespian.log"), settings={}))
    event = main.expect(said.TreeEnded, 10)
    assert event.reason == said.START_FAILED and event.detail
    assert main.tree() == set()


def test_the_signals_of_a_terminal_are_for_main_alone(main) -> None:
    main.lead(FloorLeader)
    launcher = main.launcher
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        launcher.send_signal(number)
    main.send(said.TreeCommand(name="echo", body={}))
    main.expect(said.TreeEvent)
    assert os.getsid(launcher.pid) == launcher.pid


def test_the_launcher_ends_when_told(main) -> None:
    main.lead(FloorLeader)
    below = main.tree() | {main.launcher}
    main.send(said.EndLauncher())
    all_end(below)
    assert main.process.wait(2) == 5  # main here takes the end of the launcher for what it is
