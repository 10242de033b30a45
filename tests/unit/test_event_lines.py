"""Events as lines for people, and the log read from its end."""

import json

import pytest

from actors.event_log import FILE_NAME, PREVIOUS_NAME
from actors.events import Following, last, shown, worth
from actors.plans.event_lines import is_worth, line, trace_lines

EVENT = {
    "time": "2026-01-01T10:00:00.000Z", "level": "WARNING", "action": "inbox.retry", "pid": 7,
    "actor": "follower_mutation:manual:x", "instance_id": "1:2", "text": "two words", "count": 3,
    "nothing": None, "empty": "",
}


def test_a_line_tells_when_how_bad_where_what_and_more():
    assert line(EVENT, "12:00:01") == (
        "12:00:01 WARNING follower_mutation 7: inbox.retry text='two words' count=3"
    )


def test_nothing_that_was_logged_steers_the_terminal():
    odd = {**EVENT, "text": "\x1b[2J\x07evil", "action": "a\nb", "trace": "x\n\x1b]0;y\x07"}
    said = [line(odd, "t"), *trace_lines(odd)]
    assert not any(ord(character) < 32 for text in said for character in text)


@pytest.mark.parametrize(
    ("level", "least", "is_so"),
    [("INFO", "debug", True), ("INFO", "warning", False), ("ERROR", "warning", True), ("?", "error", True)],
)
def test_what_is_worth_being_shown(level, least, is_so):
    assert is_worth({"level": level}, least) is is_so


def test_what_is_no_event_is_shown_without_its_secrets():
    token = "123456789:AAExampleExampleExampleExampleExamp"
    assert shown(f"odd {token}") == ["odd [redacted]"]
    assert worth("odd", "error")


def write(path, *numbers):
    with path.open("a") as stream:
        for number in numbers:
            stream.write(json.dumps({"number": number, "text": "é" * 3_000}) + "\n")


def test_the_last_ones_come_from_both_files_in_order(tmp_path):
    write(tmp_path / PREVIOUS_NAME, *range(40))
    write(tmp_path / FILE_NAME, *range(40, 60))

    def numbers(count, wanted=lambda stored: True):
        return [json.loads(stored)["number"] for stored in last(tmp_path, count, wanted)]

    assert numbers(5) == [55, 56, 57, 58, 59]
    assert numbers(30) == list(range(30, 60))
    assert numbers(100) == list(range(60))
    assert numbers(0) == []
    assert numbers(2, lambda stored: json.loads(stored)["number"] % 25 == 0) == [25, 50]


def test_following_goes_on_in_the_next_file(tmp_path):
    path = tmp_path / FILE_NAME
    write(path, 1)
    following = Following(path)
    assert list(following.fresh()) == []
    write(path, 2)
    with path.open("a") as stream:
        stream.write('{"number": ')
    assert [json.loads(one)["number"] for one in following.fresh()] == [2]
    with path.open("a") as stream:
        stream.write("3}\n")
    path.rename(tmp_path / PREVIOUS_NAME)
    write(path, 4)
    assert [json.loads(one)["number"] for one in following.fresh()] == [3, 4]
    following.close()


def test_following_waits_for_a_file(tmp_path):
    following = Following(tmp_path / FILE_NAME)
    assert list(following.fresh()) == []
    write(tmp_path / FILE_NAME, 1)
    assert len(list(following.fresh())) == 1
    following.close()
