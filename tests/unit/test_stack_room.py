"""Calls of a long-lived process do not map and unmap memory where a chunk of frames happens to end."""

import resource

from actors.stack_room import with_room

CALLS = 400
DEPTHS = range(200)


def leaf(a, b, c, d, e, f, g, h, i, j):
    """Its frame is larger than those of the calls towards it, so that no end of a chunk is missed."""
    return a


def faults_at(depth):
    """Page faults of many calls, made so many calls deeper than the caller."""
    if depth:
        return faults_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        leaf(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def most_faults():
    return max(faults_at(depth) for depth in DEPTHS)


def test_with_room_no_depth_is_worse_than_another():
    assert with_room(most_faults) < CALLS / 4


def test_so_it_is_within_a_process_that_was_forked_with_room_itself():
    assert with_room(with_room, most_faults) < CALLS / 4


def test_what_is_called_gets_its_arguments_and_its_result_comes_back():
    assert with_room(divmod, 7, 2) == (3, 1)
