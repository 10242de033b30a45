"""The terminal: sentences and lines on their streams, and nothing that a closed one could break."""

import io
import os

from actors import event_log
from actors.terminal import Terminal

TOKEN = "123456789:AAExampleExampleExampleExampleExamp"


def test_lines_go_out_and_sentences_beside_without_secrets():
    out, errors = io.StringIO(), io.StringIO()
    terminal = Terminal(out, errors)
    terminal.say("ready")
    terminal.tell(f"refused {TOKEN}")
    assert out.getvalue() == "ready\n"
    assert errors.getvalue() == f"refused {event_log.BLOT}\n"


def test_a_sentence_is_told_once_until_it_is_forgotten():
    errors = io.StringIO()
    terminal = Terminal(io.StringIO(), errors)
    for _ in range(3):
        terminal.tell_once("x")
    terminal.forget("x")
    terminal.tell_once("x")
    assert errors.getvalue() == "x\nx\n"


def test_a_broken_pipe_is_survived_again_and_again():
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream:
        terminal = Terminal(stream, io.StringIO())
        terminal.say("ready")
        terminal.say("role")


def test_a_stream_that_is_closed_or_poor_in_letters_is_survived():
    closed = io.StringIO()
    closed.close()
    Terminal(closed, closed).tell("x")
    raw = io.BytesIO()
    poor = io.TextIOWrapper(raw, encoding="ascii")
    Terminal(poor, poor).say("api · claude")
    assert raw.getvalue() == b"api ? claude\n"


class Tty(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_what_is_said_goes_above_the_line_that_is_typed_where_it_would_tear_it():
    out, errors = Tty(), io.StringIO()
    terminal, above = Terminal(out, errors), []
    terminal.above = above.append
    terminal.say("role=leader")
    terminal.tell("to a file")
    assert (above, out.getvalue(), errors.getvalue()) == (["role=leader"], "", "to a file\n")
    terminal.above = None
    terminal.say("after it")
    assert out.getvalue() == "after it\n"
