"""What is said in a thread about itself."""

import pytest

from actors.plans.thread_texts import (
    NAME_LIMIT,
    absence,
    back,
    connected,
    lost,
    message,
    replaced,
    unique_name,
)


@pytest.mark.case("L66")
@pytest.mark.parametrize(
    "name, slot, label", [("Atlas&Co", "C", "Atlas&Co"), ("  ", "C", "C"), ("", None, "?")]
)
def test_the_label_of_a_thread(name, slot, label):
    assert connected(name, slot, "").startswith(f"{label} is connected. Write here")
    assert replaced(name, slot) == f"The earlier thread was deleted. {label} goes on here."


def test_texts_are_plain_so_that_no_name_is_markup():
    text = connected("<b>{x}</b> *y*", "A", "~/api")
    assert text.startswith("<b>{x}</b> *y* is connected. ~/api. Write here")
    assert "parse_mode" not in message(1, 2, text)


@pytest.mark.parametrize(
    "wanted, taken, given",
    [
        ("api", [], "api"),
        ("api", ["web"], "api"),
        ("api", ["api"], "api 2"),
        ("api", ["API", "api 2"], "api 3"),
        ("x" * NAME_LIMIT, ["x" * NAME_LIMIT], "x" * (NAME_LIMIT - 2) + " 2"),
    ],
)
def test_names_are_told_apart(wanted, taken, given):
    assert unique_name(wanted, taken) == given


HOUR = 3_600_000


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (0, "1 s"),
        (-5_000, "1 s"),
        (59_400, "59 s"),
        (59_600, "1 min"),
        (59 * 60_000, "59 min"),
        (59.6 * 60_000, "1 h"),
        (9 * HOUR, "9 h"),
        (47 * HOUR, "47 h"),
        (48 * HOUR, "2 days"),
        (9 * 24 * HOUR, "9 days"),
    ],
)
def test_how_long_somebody_was_away(milliseconds, words):
    assert absence(int(milliseconds)) == words


def test_who_comes_back_says_what_waited():
    assert back(9 * HOUR, 2) == "Back after 9 h. 2 messages were waiting."
    assert back(9 * HOUR, 1) == "Back after 9 h. 1 message was waiting."
    assert back(None, 0) == "Back."


def test_who_died_is_said_to_be_lost():
    ending = "the process ended unexpectedly. What you write here waits."
    assert lost("12:41") == f"Lost at 12:41: {ending}"
    assert lost(None) == f"Lost: {ending}"
