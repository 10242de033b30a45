"""The command line: what is understood, what is refused with 2, and the names made of it."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.command_line import default_name, is_thread_name, numbered, parse, shown_line
from actors.terminal import place_line, quoted

ROOT = Path(__file__).resolve().parents[2]


def test_run_is_the_default_and_echo_its_mode():
    for line in ([], ["run"], ["--role", "auto"]):
        options, command = parse(line)
        assert (options.command, options.role, options.mode, command) == (
            "run", "auto", "echo", None
        )


def test_every_option_of_run():
    options, command = parse(
        "run --role follower --bot work --home /h --token-file /t --api-root http://127.0.0.1:8081"
        " --owner 5 --chat -100 --no-save --name X --mode command --sandbox-port 8787 --cleanup"
        " -- cat -- --x".split()
    )
    assert command == ["cat", "--", "--x"]
    assert vars(options) == {
        "command": "run", "role": "follower", "bot": "work", "home": "/h", "token_file": "/t",
        "api_root": "http://127.0.0.1:8081", "owner": 5, "chat": -100, "name": "X",
        "mode": "command", "sandbox_port": 8787, "cleanup": True, "no_save": True,
        "verbose": False,
    }


def test_a_command_line_means_mode_command():
    options, command = parse(["--", "status"])
    assert (options.command, options.mode, command) == ("run", "command", ["status"])


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("--mode command", "-- CMD"),
        ("--", "-- CMD"),
        ("--mode echo -- cat", "takes no command line"),
        ("--mode acp", "invalid choice"),
        ("--role boss", "invalid choice"),
        ("--owner x", "not a Telegram user id"),
        ("--owner 0", "not a Telegram user id"),
        ("--chat 0", "not a chat id"),
        ("--sandbox-port 70000", "not a port"),
        ("--token 1:a", "unrecognized"),
        ("--role auto --nope", "unrecognized"),
        ("status nope", "unrecognized"),
        ("statsu", 'no command "statsu"; is it status?'),
        ("claude", 'no command "claude". To run a program for each message: switchboard -- claude'),
        ("--name x make test", "each message: switchboard -- make test"),
        ("status -- cat", "takes no command line"),
        ("--rol auto", "unrecognized"),
    ],
)
def test_what_is_no_command_line_ends_with_two_and_a_sentence(line, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(line.split())
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", " ", "\u3000", "x" * 129, "a\nb", "a\u2028b", "a\x1b[0m", "a\0b", "a\u202eb"])
def test_a_name_that_is_none(name, capsys):
    assert not is_thread_name(name)
    with pytest.raises(SystemExit):
        parse(["--name", name])
    assert "thread name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("directory", "command", "name"),
    [
        ("/srv/api", ["/usr/bin/claude", "-p"], "api · claude"),
        ("/srv/api", None, "api · echo"),
        ("/", None, "/ · echo"),
        ("/a\nb", None, "a?b · echo"),
        ("/x\udcff", None, "x? · echo"),
        ("/👩\u200d💻 東京\u3000駅", None, "👩\u200d💻 東京\u3000駅 · echo"),
    ],
)
def test_the_name_of_a_process_that_has_none(directory, command, name):
    assert default_name(directory, command) == name
    assert is_thread_name(name)


def test_the_second_of_a_kind_has_a_number_and_room_for_it():
    assert numbered("api · echo", 1) == "api · echo"
    assert numbered("api · echo", 2) == "api · echo (2)"
    assert len(numbered("x" * 128, 12)) == 128
    assert is_thread_name(default_name("/" + "x" * 200, None))


def test_how_to_start_it_again_has_no_secret_in_it():
    line = ["--bot", "work", "--token-file", "/t", "--api-root", "https://me:secret@there", "--name", "a b"]
    line += ["--", "cat", "x y"]
    options, command = parse(line)
    assert shown_line(options, command) == (
        "switchboard --bot work --token-file /t --name 'a b' -- cat 'x y'"
    )


# -- lines for programs --------------------------------------------------------------------------


def test_the_ready_line_is_the_one_of_the_contract():
    assert place_line("ready", "follower", "api · claude", "B", 4311) == (
        'ready role=follower thread="api · claude" slot=B pid=4311'
    )
    assert place_line("", "leader", "x", None, 1) == 'role=leader thread="x" slot="" pid=1'


@given(st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1))
def test_values_are_read_back_exactly(value):
    assert shlex.split(f"thread={quoted(value)}") == [f"thread={value}"]


def test_a_shell_reads_values_back_exactly_too():
    value = "a \"b\" \\ $HOME `id` 'c' !x"
    for one in (value, 'quote " and \\ slash'):
        said = subprocess.run(
            ["sh", "-c", f"printf %s {quoted(one)}"], capture_output=True, text=True, check=True
        ).stdout
        assert said == one


def test_help_teaches_by_example_and_imports_nothing_heavy():
    watched = "import sys, run\ntry:\n run.main(['--help'])\nexcept SystemExit: pass\n"
    watched += "heavy = ('thespian', 'telegram', 'sqlalchemy', 'asyncio')\n"
    watched += "print([name for name in heavy if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", watched], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "examples:" in done.stdout
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize(
    ("line", "is_terminal", "mode"),
    [
        ("", True, "console"),
        ("", False, "echo"),
        ("-- cat", True, "command"),
        ("--mode echo", True, "echo"),
        ("--mode console", True, "console"),
    ],
)
def test_in_a_terminal_somebody_can_read_and_type(line, is_terminal, mode):
    options, _ = parse(line.split(), is_terminal)
    assert options.mode == mode


@pytest.mark.parametrize(
    ("line", "is_terminal", "sentence"),
    [
        ("--mode console", False, "needs a terminal"),
        ("--mode console -- cat", True, "takes no command line"),
    ],
)
def test_a_console_needs_a_terminal_and_nothing_else(line, is_terminal, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(line.split(), is_terminal)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_console_is_called_one_and_started_again_as_one():
    options, command = parse(["--bot", "work"], True)
    assert default_name("/w/api", command, options.mode) == "api · console"
    assert shown_line(options, command) == "switchboard --bot work"
    options, command = parse(["--mode", "echo"], True)
    assert shown_line(options, command) == "switchboard --mode echo"


@pytest.mark.parametrize(
    "line",
    [
        "--role leader --home '/a home' --chat=-100 --name x",
        "--name=-x",
        "--owner 5 --no-save --cleanup",
    ],
)
def test_whatever_decides_what_a_process_joins_is_said_again(line):
    options, command = parse(shlex.split(line), True)
    assert shown_line(options, command) == f"switchboard {line}"
