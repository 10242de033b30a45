"""Messages in the terminal: safe to print, and readable at eighty columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.plans.console_text import safe, shown, wrapped


@pytest.mark.parametrize(
    ("text", "remark", "lines"),
    [
        ("hello", "", ["12:04  hello"]),
        ("one\ntwo", "", ["12:04  one", "       two"]),
        ("one\n\ntwo", "", ["12:04  one", "", "       two"]),
        ("", "photo", ["12:04  [photo]"]),
        ("like this", "photo", ["12:04  [photo] like this"]),
        ("aaa bbb ccc ddd eee fff ggg", "", ["12:04  aaa bbb ccc ddd eee", "       fff ggg"]),
        ("x" * 30, "", ["12:04  " + "x" * 21, "       " + "x" * 9]),
        ("漢" * 12, "", ["12:04  " + "漢" * 10, "       " + "漢" * 2]),
    ],
)
def test_a_message_with_its_time(text, remark, lines):
    assert shown(text, remark, "12:04", 28).splitlines() == lines


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a\x1b[2Jb\x07", "a[2Jb"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\tb", "a    b"),
        ("ab\u202edc", "abdc"),
        ("e\u0301 👩\u200d💻", "e\u0301 👩\u200d💻"),
        ("a\u2028b\x9bc", "abc"),
    ],
)
def test_nothing_in_it_is_obeyed_by_the_terminal(text, plain):
    assert safe(text) == plain


@given(st.text(), st.integers(-5, 200))
def test_nothing_but_white_space_is_lost_and_nothing_hangs(text, width):
    lines = shown(text, "", "12:04", width)
    assert lines.endswith("\n") and "\x1b" not in lines
    assert "".join(lines.removeprefix("12:04").split()) == "".join(safe(text).split())


def test_a_sentence_is_cut_at_words():
    assert wrapped("one two three four five six", 20) == "one two three four\nfive six"
