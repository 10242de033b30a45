"""What is said in a thread about itself."""

import pytest

from actors.plans.thread_texts import NAME_LIMIT, connected, message, replaced, unique_name


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
