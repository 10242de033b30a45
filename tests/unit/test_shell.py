"""The shell: lines taken apart, threads and processes meant by a word, and lines by pipe."""

import argparse
import io
import stat
import sys

import pytest

from actors.plans.shell_targets import ShellError, process_meant, thread_meant, words_of
from actors.shell import run_shell
from actors.shell_commands import NO_LEADER, ShellCommands
from tests.unit.test_screens import FOLLOWERS, WORKING_DAY, shown

THREADS = WORKING_DAY.threads


@pytest.fixture
def options(tmp_path, monkeypatch):
    """A home that nobody used yet."""
    for name in ("TELEGRAM_BOT_TOKEN", "SWITCHBOARD_BOT", "SWITCHBOARD_HOME"):
        monkeypatch.delenv(name, raising=False)
    return argparse.Namespace(bot=None, home=str(tmp_path / "home"), token_file=None)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('rename A "api · main"', ["rename", "A", "api · main"]),
        ("  status # look", ["status"]),
        ("# nothing", []),
        ("close $(reboot) `x` ;ls", ["close", "$(reboot)", "`x`", ";ls"]),
    ],
)
def test_a_line_is_words_and_never_anything_else(line, words):
    assert words_of(line) == words


def test_a_quotation_has_an_end():
    with pytest.raises(ShellError, match="quotation"):
        words_of('close "api')


@pytest.mark.parametrize("word", ["api · claude", "API · Claude", "a", "A"])
def test_a_thread_by_its_name_or_letter(word):
    assert thread_meant(THREADS, word) is THREADS[0]


def test_a_name_goes_before_a_letter_and_several_are_not_guessed():
    with pytest.raises(ShellError, match=r"by its number: 7, 7, 7"):
        thread_meant(THREADS, "7")
    with pytest.raises(ShellError, match="There are: api · claude"):
        thread_meant(THREADS, "nobody")


@pytest.mark.parametrize("word", ["4377", "ml · train.py", "b"])
def test_a_process_by_pid_name_or_letter(word):
    assert process_meant(FOLLOWERS, word)["pid"] == 4377
    with pytest.raises(ShellError, match="There are: 4242, 4377"):
        process_meant(FOLLOWERS, "1")


# -- lines --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("statsu", 'No command "statsu"'),
        ("close", "usage: close THREAD"),
        ("rename A", "usage: rename THREAD NAME"),
        ("events -x", "usage: events"),
        ("undelivered retry", "usage: undelivered"),
        ("undelivered keep 5", "usage: undelivered"),
        ("undelivered retry 5", "No message 5 waits"),
        ("help statsu", 'No command "statsu"'),
        ('rename A ""', "1 to 128 characters"),
        ('rename A "x\u0007"', "1 to 128 characters"),
        ("close A", 'No thread "A"'),
        ("processes", NO_LEADER),
        ("actors", NO_LEADER),
        ("stepdown", NO_LEADER),
        ("prune", NO_LEADER),
        ("reload 5", NO_LEADER),
        ("disconnect 5", NO_LEADER),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(options, line, sentence):
    with pytest.raises(ShellError, match=sentence.replace("?", ".")):
        ShellCommands(options, lambda screen: None).run(line)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("threads", "No thread yet"),
        ("undelivered", "Everything was delivered"),
        ("events", "Nothing was logged yet"),
        ("status", "No bot is set up"),
        ("STATUS", "No bot is set up"),
    ],
)
def test_what_the_stores_know_is_there_without_a_leader(options, line, said):
    screens = []
    ShellCommands(options, screens.append).run(line)
    assert said in shown(screens[0])


def test_by_pipe_the_first_error_ends_it(options, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("# first\nthreads\n\nclose\nundelivered\n"))
    assert run_shell(options) == 1
    out, errors = capsys.readouterr()
    assert out == "No thread yet. Start a process: switchboard\n"
    assert errors == "line 4: usage: close THREAD\n"


def test_by_pipe_all_is_well_until_the_end(options, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("help close\nquit\nclose\n"))
    assert run_shell(options) == 0
    assert "usage: close THREAD" in capsys.readouterr().out


# -- the prompt ---------------------------------------------------------------------------------


@pytest.fixture
def completions(options):
    """What may follow the beginning of a line."""
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from actors.shell_prompt import ShellCompleter

    completer = ShellCompleter(options, tuple(ShellCommands(options, print).commands()))
    monkey = {"close": ["api · claude", "web"], "reload": ["4311"], "undelivered": ["812"]}
    completer._looked_up = lambda command, place: monkey.get(command, [])

    def complete(line):
        found = completer.get_completions(Document(line), CompleteEvent())
        return [line[: len(line) + one.start_position] + one.text for one in found]

    return complete


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("st", ["status", "stepdown"]),
        ("help cl", ["help close"]),
        ("close ap", ["close 'api · claude'"]),
        ('close "api · c', ["close 'api · claude'"]),
        ("close ", ["close 'api · claude'", "close web"]),
        ("reload 4", ["reload 4311"]),
        ("undelivered r", ["undelivered retry"]),
        ("undelivered drop ", ["undelivered drop 812"]),
        ("status x", []),
    ],
)
def test_tab_completes(completions, line, whole):
    assert completions(line) == whole


def test_what_was_typed_is_for_nobody_else(tmp_path, options):
    from actors.modes.console import PrivateHistory
    from stores.home import Home

    home = Home(tmp_path / "home").ensure()
    PrivateHistory(home.shell_history).store_string("status")
    assert stat.S_IMODE(home.shell_history.stat().st_mode) == 0o600
