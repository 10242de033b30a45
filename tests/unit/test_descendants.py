"""When descendants that are being killed are looked for again: a look reads every process of the machine."""

import pytest

from actors import descendants


@pytest.mark.skipif(descendants.sys.platform != "linux", reason="elsewhere psutil lists them once")
@pytest.mark.parametrize(
    ("signalled", "looks"),
    [([True], 1), ([False, False, True], 3)],
    ids=["all were signalled", "one moved under the eye"],
)
def test_it_looks_again_at_once_only_for_what_it_missed(signalled, looks, monkeypatch):
    """Ten turns of the wait, all within the time between two looks."""
    answers, looked, turns = iter(signalled), [], iter([True] * 10 + [False])
    monkeypatch.setattr(descendants, "descendants", lambda: looked.append(1) or {1})
    monkeypatch.setattr(descendants, "_kill_descendant", lambda pid: next(answers))
    monkeypatch.setattr(descendants, "reap", lambda: next(turns))
    monkeypatch.setattr(descendants.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(descendants.time, "sleep", lambda seconds: None)
    assert descendants.end_descendants()
    assert len(looked) == looks
