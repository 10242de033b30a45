"""The loop beside a mailbox, with a real thread: what goes in comes out once, whatever happens inside."""

import asyncio
import select
import threading

import pytest

from actors.loop_thread import OPEN, LoopThread, Occurrence, PerformFailed

PATIENCE_S = 10
A_MOMENT_S = 0.1
"""Long enough for a loop that is not parked to do something."""


class Works:
    """An I/O object whose operations the test controls."""

    def __init__(self):
        self.gate = asyncio.Event()
        self.closed = []
        self.began = []

    async def open(self):
        self.began.append("open")

    async def close(self):
        self.closed.append(threading.current_thread().name)

    async def perform_double(self, number):
        self.began.append(number)
        return 2 * number

    async def perform_raise(self):
        raise ZeroDivisionError

    async def perform_cancelled(self):
        raise asyncio.CancelledError

    async def perform_wait(self):
        await self.gate.wait()
        return "waited"

    async def perform_open_gate(self):
        self.gate.set()


class Shut(Works):
    """An I/O object that cannot be opened."""

    async def open(self):
        raise OSError


class Slow(Works):
    """An I/O object that opens when the gate does."""

    async def open(self):
        await self.gate.wait()
        self.began.append("open")


class Mailbox:
    """What an actor does with its loop, with patience."""

    def __init__(self, io):
        self.io = io
        self.loop = LoopThread(io)
        self.happened = []

    def until(self, count):
        """Take occurrences until there are so many."""
        while len(self.happened) < count:
            readable, _, _ = select.select([self.loop.fileno], [], [], PATIENCE_S)
            assert readable, f"nothing happened after {self.happened}"
            self.happened += self.loop.drain()
        return self.happened


@pytest.fixture
def begin():
    begun = []

    def begin(io):
        mailbox = Mailbox(io)
        begun.append(mailbox)
        mailbox.loop.start()
        return mailbox

    yield begin
    for mailbox in begun:
        mailbox.loop.close()
    assert [thread for thread in threading.enumerate() if thread.name == "loop"] == []


OPENED = Occurrence(name=OPEN, operation_id=None, value=None)


def test_an_operation_comes_back_with_its_id_and_value(begin):
    mailbox = begin(Works())
    mailbox.loop.submit("double", "d1", {"number": 4})
    assert mailbox.until(2) == [OPENED, Occurrence("double", "d1", 8)]


def test_an_event_comes_back_without_an_id(begin):
    mailbox = begin(Works())
    mailbox.until(1)
    mailbox.loop.emit("rang", "bell")
    assert mailbox.until(2)[1] == Occurrence("rang", None, "bell")


def test_operations_wait_until_the_io_is_open(begin):
    io = Slow()
    mailbox = begin(io)
    mailbox.loop.submit("double", "d1", {"number": 4})
    for _ in range(3):
        with mailbox.loop.parked():  # the loop has gone round
            assert io.began == []
    mailbox.loop._loop.call_soon_threadsafe(io.gate.set)
    mailbox.until(2)
    assert io.began == ["open", 4]


def test_an_io_that_does_not_open_says_so_and_refuses_every_operation(begin):
    mailbox = begin(Shut())
    mailbox.loop.submit("double", "d1", {"number": 4})
    opened, refused = mailbox.until(2)
    assert opened == Occurrence(OPEN, None, PerformFailed(text="OSError in open"))
    assert refused == Occurrence("double", "d1", PerformFailed(text="OSError in open"))
    assert mailbox.io.began == []


@pytest.mark.parametrize(
    ("operation", "arguments", "text"),
    [
        ("raise", {}, "ZeroDivisionError in raise"),
        ("cancelled", {}, "cancelled was cancelled"),
        ("double", {"nonsense": 1}, "TypeError in double"),
    ],
)
def test_an_operation_that_does_not_end_well_ends_all_the_same(begin, operation, arguments, text):
    mailbox = begin(Works())
    mailbox.loop.submit(operation, "x1", arguments)
    assert mailbox.until(2)[1] == Occurrence(operation, "x1", PerformFailed(text=text))


def test_an_unknown_operation_is_the_mistake_of_the_plan(begin):
    mailbox = begin(Works())
    with pytest.raises(AttributeError):
        mailbox.loop.submit("nonsense", "x1", {})


def test_nothing_runs_on_the_loop_while_it_is_parked(begin):
    mailbox = begin(Works())
    mailbox.until(1)
    with mailbox.loop.parked():
        mailbox.loop.submit("double", "d1", {"number": 4})
        assert select.select([mailbox.loop.fileno], [], [], A_MOMENT_S) == ([], [], [])
        assert mailbox.io.began == ["open"]
    assert mailbox.until(2)[1].value == 8


def test_many_occurrences_are_announced_even_when_the_socket_is_full(begin):
    mailbox = begin(Works())
    for number in range(5_000):
        mailbox.loop.submit("double", f"d{number}", {"number": number})
    happened = mailbox.until(5_001)
    assert [one.value for one in happened[1:]] == [2 * number for number in range(5_000)]


def test_closing_closes_the_io_on_its_loop_and_ends_what_still_runs():
    mailbox = Mailbox(Works())
    mailbox.loop.start()
    mailbox.loop.submit("wait", "w1", {})
    mailbox.until(1)
    mailbox.loop.close()
    assert mailbox.io.closed == ["loop"]
    assert mailbox.loop.is_closed
    mailbox.loop.close()


def test_a_loop_that_never_started_can_be_parked_and_closed():
    loop = LoopThread(Works())
    with loop.parked():
        pass
    loop.close()
    assert loop.is_closed
