"""How output becomes messages: cut in the right places, cleaned, and bounded."""

import time

import pytest
from hypothesis import given, settings, strategies

from actors.plans.command_run import Ended, Kept, answer, could_not_start, duration, preview
from actors.plans.output import MESSAGE_LIMIT, clip, head_of, split, tail_of, units
from actors.plans.terminal_text import TerminalText

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"
KEPT = Kept(path="/runs/20260101T000000-0123abcd.log")


def printed(*chunks: str) -> TerminalText:
    """The text after these chunks were printed."""
    text = TerminalText()
    for chunk in chunks:
        text = text.fed(chunk)
    return text


def everything(text: TerminalText) -> str:
    """All that is held, as one text."""
    return text.beginning()


# -- splitting -------------------------------------------------------------------------------------


def test_length_is_measured_in_utf16_units() -> None:
    assert units("aé😀") == 4


def test_a_text_that_fits_is_one_message() -> None:
    assert split("x" * MESSAGE_LIMIT) == ("x" * MESSAGE_LIMIT,)


def test_blank_text_is_no_message() -> None:
    assert split(" \n\n ") == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("aaaa\n\nbbbb cc\ndd", ("aaaa", "bbbb cc\ndd"), id="block-before-line"),
        pytest.param("aaaa bbb\nccc dd", ("aaaa bbb", "ccc dd"), id="line-before-word"),
        pytest.param("aaaa bbb cccc", ("aaaa bbb", "cccc"), id="word"),
        pytest.param("aaaabbbbccccdd", ("aaaabbbbcc", "ccdd"), id="nowhere-else"),
        pytest.param("aaaabbbbcc\nccdd", ("aaaabbbbcc", "ccdd"), id="border-just-behind"),
        pytest.param("a\nbbbbbb cccc", ("a\nbbbbbb", "cccc"), id="early-line-wastes-a-message"),
        pytest.param("aaaabbbb\n    cc", ("aaaabbbb", "    cc"), id="indentation-stays"),
    ],
)
def test_where_a_text_is_cut(text: str, parts: tuple[str, ...]) -> None:
    assert split(text, 10) == parts


@pytest.mark.parametrize("drawn", [FAMILY, FLAG, "e\u0301", "👍🏽", "☎\ufe0f"])
def test_a_drawn_character_is_never_cut_in_two(drawn: str) -> None:
    whole = "".join(drawn for _ in range(12))
    parts = split(whole, max(10, 2 * units(drawn) - 1))
    assert "".join(parts) == whole
    assert all(len(part) % len(drawn) == 0 for part in parts)


def test_an_astral_character_counts_twice_and_stays_whole() -> None:
    parts = split("😀" * 3_000)
    assert [units(part) for part in parts] == [4_096, 1_904]


@settings(max_examples=60, deadline=None)
@given(strategies.text(alphabet="ab \n😀\u0301\u200d" + FLAG, max_size=120))
def test_nothing_but_white_space_is_lost(text: str) -> None:
    parts = split(text, 10)
    assert all(0 < units(part) <= 10 and part.strip() for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_the_tail_begins_at_a_line() -> None:
    assert tail_of("first line\nsecond\nthird line", 20) == "second\nthird line"
    assert tail_of("x" * 30, 10) == "x" * 10


def test_the_head_keeps_drawn_characters_whole() -> None:
    assert head_of("a" + FAMILY + "b", 5) == "a"


def test_an_excerpt_is_one_short_line() -> None:
    assert clip("fix\nthe login  please", 14) == "fix the login…"


# -- what a terminal shows -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunks", "shown"),
    [
        pytest.param(("\x1b[31mred\x1b[0m text",), "red text", id="colours"),
        pytest.param(("a\x1b[3", "1mb"), "ab", id="sequence-over-two-chunks"),
        pytest.param(("a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c",), "abc", id="title-and-link"),
        pytest.param(("\x1b(Ba\x1b=b\x1b7c",), "abc", id="short-sequences"),
        pytest.param(("10%\r20%\r", "100%\n", "done"), "100%\ndone", id="progress"),
        pytest.param(("10%\r", "20%"), "20%", id="progress-under-way"),
        pytest.param(("10%\r",), "10%", id="nothing-drawn-over-it-yet"),
        pytest.param(("a\r\nb\r\n",), "a\nb\n", id="windows-lines"),
        pytest.param(("a\r", "\nb"), "a\nb", id="windows-line-over-two-chunks"),
        pytest.param(("|\b/\b-\bok",), "ok", id="spinner"),
        pytest.param(("bell\x07 null\x00 tab\tstays",), "bell null tab\tstays", id="controls"),
        pytest.param(("a\x1b[",), "a", id="never-finished"),
    ],
)
def test_what_a_terminal_would_show(chunks: tuple[str, ...], shown: str) -> None:
    assert everything(printed(*chunks)) == shown


def test_progress_without_a_line_end_holds_little() -> None:
    text = TerminalText()
    for percent in range(10_000):
        text = text.fed(f"\rdownloading {percent}")
    assert len(text.line) < 100
    assert everything(text) == "downloading 9999"


def test_endless_output_holds_its_beginning_and_its_end() -> None:
    text = TerminalText()
    for number in range(20_000):
        text = text.fed(f"line {number}\n")
    assert not text.is_whole
    assert text.beginning().startswith("line 0\nline 1\n")
    assert text.end(100).endswith("line 19999")
    assert len(text.head) + len(text.tail) + len(text.line) < 64_000


def test_an_endless_line_holds_little() -> None:
    text = TerminalText()
    for _ in range(100):
        text = text.fed("x" * 10_000)
    assert len(text.head) + len(text.tail) + len(text.line) < 90_000
    assert units(preview(text)) <= MESSAGE_LIMIT


@pytest.mark.parametrize("chunk", ["\x1b]", "\x1b[1;", "\x1b", "\r", "a\b", "\u200d", "🇩"])
def test_no_output_holds_up_the_loop(chunk: str) -> None:
    """Time that grew with the square of a chunk would stop the heartbeats for many seconds."""
    began = time.process_time()
    text = printed(chunk * 30_000, "a" * 30_000 + "\b" * 30_000)
    answer(text, Ended(1, 1), KEPT)
    assert time.process_time() - began < 2


# -- the answer of a run ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "ended", "parts"),
    [
        pytest.param("hello\n", Ended(0, 10), ("hello",), id="output"),
        pytest.param("", Ended(0, 10), ("Done, no output.",), id="silence"),
        pytest.param("\n \n", Ended(0, 10), ("Done, no output.",), id="white-space"),
        pytest.param(
            "oops\n",
            Ended(1, 130_000),
            ("oops\n\nexit 1 after 2 min 10 s",),
            id="failure",
        ),
        pytest.param("", Ended(3, 400), ("exit 3 after 0.4 s",), id="silent-failure"),
        pytest.param("half", Ended(143, 400, stopped=True), ("half",), id="stopped"),
        pytest.param("", Ended(143, 400, stopped=True), (), id="stopped-in-silence"),
        pytest.param(
            "",
            Ended(127, 40, sentence=could_not_start("nosuch", True, "")),
            ('The command "nosuch" was not found, so nothing was run.\n\nexit 127 after 0.0 s',),
            id="not-found",
        ),
    ],
)
def test_what_a_run_leaves(output: str, ended: Ended, parts: tuple[str, ...]) -> None:
    assert answer(printed(output), ended, KEPT) == parts


def test_four_messages_are_sent_whole() -> None:
    output = "\n".join("x" * 99 for _ in range(160))
    parts = answer(printed(output), Ended(0, 1), KEPT)
    assert len(parts) == 4
    assert "\n".join(parts) == output


def test_more_than_four_messages_end_with_the_tail_and_the_path() -> None:
    text = printed(*(f"line {number}\n" for number in range(30_000)))
    parts = answer(text, Ended(2, 5_000), KEPT)
    assert len(parts) == 4
    assert all(units(part) <= MESSAGE_LIMIT for part in parts)
    assert parts[0].startswith("line 0\nline 1\n")
    assert parts[3].startswith("…\nline ")
    assert parts[3].endswith(f"line 29999\n\nexit 2 after 5.0 s\n\nFull output: {KEPT.path}")


def test_output_just_above_four_messages_is_shortened_too() -> None:
    text = printed("\n".join("x" * 99 for _ in range(170)))
    assert text.is_whole
    parts = answer(text, Ended(0, 1), Kept(path=None, failure="No space left on device"))
    assert len(parts) == 4
    assert parts[3].endswith("The full output could not be kept: No space left on device.")


def test_the_preview_of_a_long_run_is_its_end() -> None:
    assert preview(printed("short\n")) == "short"
    shown = preview(printed(*(f"line {number}\n" for number in range(3_000))))
    assert shown.startswith("…\nline ") and shown.endswith("line 2999")
    assert units(shown) <= MESSAGE_LIMIT


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (400, "0.4 s"),
        (9_960, "10 s"),
        (12_400, "12 s"),
        (130_000, "2 min 10 s"),
        (3_900_000, "1 h 5 min"),
    ],
)
def test_durations(milliseconds: int, said: str) -> None:
    assert duration(milliseconds) == said
