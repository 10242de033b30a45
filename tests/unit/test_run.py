"""The composition root: where it goes on, and what becomes of what nobody foresaw."""

import ast
import importlib.util
import inspect
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import run
from actors import event_log
from actors.launcher import Launcher
from stores import token_variables
from stores.errors import ConfigMalformed

ROOT = Path(__file__).resolve().parents[2]

MAIN = (
    run.run,
    run._somebody_leads,
    run._choose,
    run._begin_practice,
    run._run,
    run._practice_place,
    run._compose,
)
"""What a process goes through from its start until it follows or leads."""


@pytest.fixture(autouse=True)
def signals():
    """What `main` does about signals ends with the test."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """A `.venv` beside run.py, and what would be executed."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    monkeypatch.setattr(run, "__file__", str(tmp_path / "run.py"))
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.delenv(run.REEXECUTED, raising=False)
    executed = []
    monkeypatch.setattr(os, "execv", lambda path, arguments: executed.append(arguments))
    yield tmp_path, executed
    os.environ.pop(run.REEXECUTED, None)


def test_outside_of_an_environment_it_goes_on_in_the_one_beside_it(environment):
    directory, executed = environment
    run._reexecute(["status", "--json"])
    python, file = directory / ".venv" / "bin" / "python", directory / "run.py"
    assert executed == [[str(python), str(file), "status", "--json"]]


def test_it_never_does_so_twice(environment, monkeypatch):
    _, executed = environment
    monkeypatch.setenv(run.REEXECUTED, "1")
    run._reexecute([])
    assert executed == []
    assert run.REEXECUTED not in os.environ


def test_inside_of_it_or_without_one_it_stays(environment, monkeypatch):
    directory, executed = environment
    monkeypatch.setattr(sys, "prefix", str(directory / ".venv"))
    run._reexecute([])
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(run, "__file__", str(directory / "elsewhere" / "run.py"))
    run._reexecute([])
    assert executed == []


def test_another_environment_that_has_everything_is_respected(environment, monkeypatch):
    _, executed = environment
    monkeypatch.setattr(sys, "prefix", "/another")
    run._reexecute([])
    assert executed == []
    monkeypatch.setattr(run, "_has_packages", lambda: False)
    run._reexecute([])
    assert len(executed) == 1


def test_without_packages_a_sentence_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(run, "_has_packages", lambda: False)
    # With an environment beside it, it would go on there, in place of the tests.
    monkeypatch.setenv(run.REEXECUTED, "1")
    assert run.main(["version"]) == 4
    assert "pip install" in capsys.readouterr().err


def test_version(capsys):
    assert run.main(["--version"]) == run.main(["version"]) == 0
    assert capsys.readouterr().out == "switchboard 0.1.0\n" * 2


def test_what_nobody_foresaw_goes_to_the_log_and_only_its_name_to_the_terminal(
    tmp_path, monkeypatch, capsys
):
    def fails(options):
        raise RuntimeError("details for the log")

    monkeypatch.setattr(run, "show_status", fails)
    path = event_log.open_log(tmp_path)
    try:
        assert run.main(["status"]) == 5
    finally:
        event_log.close_log()
    said = capsys.readouterr()
    assert said.out == ""
    assert str(path) in said.err
    assert "details for the log" not in said.err
    assert "details for the log" in path.read_text()


def test_a_store_that_refuses_is_a_sentence_and_four(monkeypatch, capsys):
    def fails(options):
        raise ConfigMalformed("/home/x/config.json: line 1.")

    monkeypatch.setattr(run, "show_status", fails)
    assert run.main(["status"]) == 4
    assert "config.json" in capsys.readouterr().err


def test_a_signal_before_there_is_anything_to_end(monkeypatch):
    def fails(options):
        raise run.Interrupted

    monkeypatch.setattr(run, "show_status", fails)
    assert run.main(["status"]) == 0


def test_the_launcher_of_a_setup_is_forked_without_a_token(tmp_path, monkeypatch):
    """The system shows what a process had in its environment when it was forked."""
    seen = []

    def fork(*_):
        seen.append(os.environ.get(token_variables.GIVEN))
        raise run.Interrupted

    monkeypatch.setenv(token_variables.GIVEN, "1234:abc")
    monkeypatch.setattr(token_variables, "_taken", {})
    for name in ("open_log", "route_standard_logging"):
        monkeypatch.setattr(event_log, name, lambda *_: None)
    monkeypatch.setattr(Launcher, "fork", fork)
    assert run.main(["setup", "--home", str(tmp_path / "home")]) == 0
    assert seen == [None]


def test_whoever_runs_carries_nothing_that_only_a_command_shows():
    code = (
        "import sys, importlib, run\n"
        "for name in (*run.SHARED_MODULES, *run.TREE_MODULES, 'actors.events'):\n"
        "    importlib.import_module(name)\n"
        "print(sorted({'rich', 'prompt_toolkit', 'aiohttp', 'alembic'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_main_carries_nothing_of_the_tree():
    """Every follower would pay for it at its start, and with memory for its life."""
    names = {name for function in MAIN for name in imported_in(function)} | set(run.SHARED_MODULES)
    assert {"actors.instance", "actors.follower", "actors.plans.place"} <= names
    tree = {name.rpartition(".")[2] for name in run.TREE_MODULES}
    strangers = [f"{room}.{noun}" for room in ("actors", "actors.plans", "messages") for noun in sorted(tree)]
    strangers += ["actors.base", "messages.actor", "messages.envelope", "thespian", "telegram", "httpx"]
    # The practice chat is a process of its own.
    strangers += ["actors.sandbox.chat", "stores.practice_chat", "stores.ingress"]
    code = (
        "import sys, importlib, run\n"
        f"for name in {sorted(names)}:\n"
        "    importlib.import_module(name)\n"
        f"print(sorted(set({strangers}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def imported_in(function):
    """The modules that a function of run.py imports when it gets there."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if importlib.util.find_spec(node.module).submodule_search_locations else node.module
