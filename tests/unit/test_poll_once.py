"""One look at descriptors tells what a selector of the standard library tells."""

import os
import selectors
import socket

import pytest

from actors.poll_once import PollOnce

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


@pytest.fixture
def pair():
    here, there = socket.socketpair()
    yield here, there
    here.close()
    there.close()


def seen(selector_class, wanted):
    """What such a selector says at once: {descriptor: events}."""
    selector = selector_class()
    try:
        for fd, events in wanted:
            selector.register(fd, events)
        return {key.fd: mask for key, mask in selector.select(0)}
    finally:
        selector.close()


@pytest.mark.parametrize("events", [READ, WRITE])
@pytest.mark.parametrize("state", ["quiet", "written to", "closed"])
def test_it_says_what_a_selector_says(pair, events, state):
    here, there = pair
    if state == "written to":
        there.send(b"x")
    elif state == "closed":
        there.close()
    wanted = [(here.fileno(), events)]
    assert seen(PollOnce, wanted) == seen(selectors.DefaultSelector, wanted)


def test_a_descriptor_may_be_looked_at_for_both(pair):
    here, there = pair
    there.send(b"x")
    look = PollOnce()
    look.register(here.fileno(), READ)
    look.register(here.fileno(), WRITE)
    assert [(key.fd, mask) for key, mask in look.select(0)] == [(here.fileno(), READ | WRITE)]


def test_a_descriptor_that_is_none_is_an_error(pair):
    number = os.dup(pair[0].fileno())
    os.close(number)
    look = PollOnce()
    look.register(number, READ)
    with pytest.raises(OSError, match="Bad file descriptor"):
        look.select(0)


def test_it_waits_no_longer_than_told(pair):
    look = PollOnce()
    look.register(pair[0].fileno(), READ)
    assert look.select(0.001) == []
