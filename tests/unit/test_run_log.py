"""The file with the full output of a run: whole as long as it fits, and never the end of a disk."""

import os

import pytest

from actors.modes import run_log
from actors.modes.run_log import RunLog


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(run_log, "LARGEST_LOG", 10)
    monkeypatch.setattr(run_log, "MOST_KEPT", 100)


@pytest.mark.parametrize(
    "printed, kept",
    [
        ([b"abc", b"def"], b"abcdef"),
        ([b"0123456789"], b"0123456789"),
        ([b"01234567", b"89abc", b"more"], b"0123456789\n[The rest is not kept.]\n"),
    ],
)
def test_an_output_is_kept_as_far_as_it_fits(small, tmp_path, printed, kept):
    log = RunLog(tmp_path / "runs", "r1")
    for some in printed:
        log.write(some)
    told = log.close()
    assert told.failure is None
    with open(told.path, "rb") as file:
        assert file.read() == kept
        assert os.fstat(file.fileno()).st_mode & 0o777 == 0o600


def test_the_newest_are_kept_as_many_as_fit(small, tmp_path):
    for number in range(5):
        path = tmp_path / f"r{number}.log"
        path.write_bytes(b"x" * 40)
        os.utime(path, (number, number))
    RunLog(tmp_path, "r9").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r3.log", "r4.log", "r9.log"]
