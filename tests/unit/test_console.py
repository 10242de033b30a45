"""The history of a console: for its user alone, and bounded."""

from actors.modes.console import LONGEST_HISTORY, PrivateHistory


def test_it_is_private_and_keeps_entries_of_several_lines(tmp_path):
    path = tmp_path / "history"
    PrivateHistory(path).store_string("one\nand two")
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(PrivateHistory(path).load_history_strings()) == ["one\nand two"]


def test_a_long_one_begins_with_a_whole_entry_of_its_newer_half(tmp_path):
    path = tmp_path / "history"
    history = PrivateHistory(path)
    for number in range(600):
        history.store_string(f"{number} " + "x" * 1_000)
    assert path.stat().st_size > LONGEST_HISTORY
    kept = list(PrivateHistory(path).load_history_strings())
    assert path.stat().st_size <= LONGEST_HISTORY and path.stat().st_mode & 0o777 == 0o600
    assert kept[0].startswith("599 ") and 200 < len(kept) < 300
    assert all(len(entry) > 1_000 for entry in kept)
