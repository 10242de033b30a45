"""How long the launcher may rest: what wakes it by itself needs no looking."""

from types import SimpleNamespace

import pytest

from actors import launcher

SEEN, BLIND = SimpleNamespace(pidfd=3), SimpleNamespace(pidfd=None)


def a_tree(*watches, stop_by=None):
    return SimpleNamespace(watches=dict(enumerate(watches)), stop_by=stop_by)


@pytest.mark.parametrize(
    ("main", "tree", "wait"),
    [
        (SEEN, None, None),
        (BLIND, None, launcher._TICK),
        (SEEN, a_tree(SEEN, SEEN), launcher._REAP_EVERY),
        (SEEN, a_tree(SEEN, BLIND), launcher._TICK),
        (SEEN, a_tree(SEEN, stop_by=1.0), launcher._TICK),
        (BLIND, a_tree(SEEN), launcher._TICK),
    ],
)
def test_it_looks_itself_only_for_what_does_not_wake_it(main, tree, wait):
    loop = launcher._Loop.__new__(launcher._Loop)
    loop._main_watch, loop._tree = main, tree
    assert loop._longest_wait() == wait


def test_what_nothing_else_tells_is_looked_for_within_seconds():
    assert launcher._TICK <= 0.25 and launcher._REAP_EVERY <= 5.0
