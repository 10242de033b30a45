"""Framing: lines in any portions, and long ones that cost no memory."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.bus_line import LineReader, LineTooLong


def read_all(chunks, max_line=16):
    async def reading():
        stream = asyncio.StreamReader()
        lines = LineReader(stream, max_line)
        said, longest = [], 0

        async def feed():
            for chunk in chunks:
                stream.feed_data(chunk)
                await asyncio.sleep(0)
            stream.feed_eof()

        feeding = asyncio.create_task(feed())
        while (line := await lines.next()) is not None:
            said.append(line)
            longest = max(longest, lines.kept)
        await feeding
        return said

    return asyncio.run(reading())


@given(
    lines=st.lists(st.binary(max_size=15).filter(lambda line: b"\n" not in line), max_size=6),
    size=st.integers(1, 7),
)
def test_lines_arrive_whole_whatever_the_portions(lines, size):
    stream = b"".join(line + b"\n" for line in lines)
    chunks = [stream[i:i + size] for i in range(0, len(stream), size)]
    assert read_all(chunks) == lines


def test_the_longest_line_is_allowed_and_one_more_byte_is_not():
    assert read_all([b"x" * 15 + b"\n"]) == [b"x" * 15]
    assert read_all([b"x" * 16 + b"\n"]) == [LineTooLong(17)]


@pytest.mark.case("L22")
def test_after_a_long_line_the_next_is_read():
    assert read_all([b"y" * 5] * 20 + [b"y\nok\n"]) == [LineTooLong(102), b"ok"]


def test_an_unfinished_line_is_lost_and_an_endless_one_is_told():
    assert read_all([b"a\nunfinished"]) == [b"a"]
    assert read_all([b"z" * 10] * 10) == [LineTooLong(100)]


def test_a_long_line_is_not_kept():
    async def reading():
        stream = asyncio.StreamReader(limit=1 << 16)
        lines = LineReader(stream)
        task = asyncio.create_task(lines.next())
        kept = 0
        for _ in range(320):
            stream.feed_data(b"x" * (1 << 16))
            await asyncio.sleep(0)
            kept = max(kept, lines.kept)
        stream.feed_data(b"\n")
        return await task, kept

    line, kept = asyncio.run(reading())
    assert line == LineTooLong(320 * (1 << 16) + 1)
    assert kept <= 2 << 20
