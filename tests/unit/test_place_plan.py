"""Places as people read them."""

import pytest

from actors.plans.place import place, shown_directory


@pytest.mark.parametrize(
    ("directory", "shown"),
    [
        ("/home/ann/api", "~/api"),
        ("/home/ann", "~"),
        ("/home/anna/api", "/home/anna/api"),
        ("/srv/home/ann/api", "/srv/home/ann/api"),
        ("/", "/"),
        ("", ""),
        ("/home/ann/a\nb\x1b[0m", "~/a?b?[0m"),
        ("/srv/" + "x" * 300, "…" + "x" * 199),
    ],
)
def test_the_home_is_shortened_and_nothing_breaks_the_line(directory, shown):
    assert shown_directory(directory, "/home/ann") == shown


def test_without_a_home_nothing_is_shortened():
    assert shown_directory("/home/ann/api", "") == "/home/ann/api"
    assert shown_directory("/srv", "/") == "/srv"


@pytest.mark.parametrize(
    ("directory", "host", "shown"),
    [
        ("/home/ann/api", "workstation", "~/api on workstation"),
        ("/home/ann/api", "workstation.example.org", "~/api on workstation"),
        ("/home/ann/api", "", "~/api"),
        ("", "workstation", ""),
    ],
)
def test_the_place_of_a_process(directory, host, shown):
    assert place(directory, "/home/ann/", host) == shown
