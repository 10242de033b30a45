"""Frames: only what carries both tags of this system's key is kept, and only then unpickled."""

import pickle

import pytest

from actors import frames
from actors.frames import BadFrame, FrameKey, MessageTooLarge, ReceiveBuffer

KEY = FrameKey(b"k" * 32)
STRANGER = FrameKey(b"s" * 32)


def fed(data: bytes, step: int) -> ReceiveBuffer:
    buffer = ReceiveBuffer(KEY)
    for start in range(0, len(data), step):
        buffer.addMore(data[start:start + step])
    return buffer


def header(digits: bytes, mark: bytes = b">") -> bytes:
    return digits + mark + KEY.header_tag(digits)


@pytest.mark.parametrize("step", [1, 7, frames.HEADER, frames.PREFIX, 10_000])
def test_a_frame_arrives_whole_however_it_is_cut(step: int) -> None:
    message = {"kind": "Something", "body": {"text": "x" * 5000}}
    buffer = fed(KEY.frame(pickle.dumps(message)), step)
    assert buffer.isDone()
    assert buffer.completed() == (message, b"")


def test_what_follows_a_frame_is_kept_apart() -> None:
    buffer = fed(KEY.frame(pickle.dumps("first")) + b"rest", 10_000)
    assert buffer.completed() == ("first", b"rest")
    buffer.removeExtra()
    assert buffer.completed() == ("first", b"")


def test_an_unfinished_frame_says_how_much_is_missing_and_never_nothing() -> None:
    frame = KEY.frame(pickle.dumps("text"))
    buffer = ReceiveBuffer(KEY)
    assert buffer.is_empty() and buffer.remainingAmount() > 0
    buffer.addMore(b"")
    assert buffer.is_empty()
    buffer.addMore(frame[:-3])
    assert buffer.remainingAmount() == 3
    assert buffer.completed() is None
    buffer.addMore(frame[-3:])
    assert buffer.remainingAmount() > 0


@pytest.mark.parametrize("data", [
    b"-0000001>" + b"\0" * 16,
    b"-1>",
    b"x",
    b"1e5>",
    b"5>hello",
    b" 12345678>",
    b"GET / HTTP/1.1\r\n\r\n",
    "１２３４５６７８".encode() + b">",
    b"99999999999999999999999999999999999999>",
    header(b"00000000"),
    header(b"%08d" % (frames.MAX_BODY + 1)),
    header(b"00000001", mark=b"<"),
    b"00000010>" + b"\0" * 16,
    b"00000010>" + STRANGER.header_tag(b"00000010"),
    STRANGER.frame(pickle.dumps("strange")),
    KEY.frame(b"body")[:-4] + b"bodY",
    header(b"00000004") + STRANGER.body_tag(b"body") + b"body",
])
@pytest.mark.parametrize("step", [1, 10_000])
def test_anything_else_is_a_bad_frame_and_is_not_kept(data: bytes, step: int) -> None:
    with pytest.raises(BadFrame):
        fed(data, step)


def test_the_length_is_proved_before_a_byte_of_the_body_is_kept() -> None:
    buffer = ReceiveBuffer(KEY)
    with pytest.raises(BadFrame):
        buffer.addMore(b"16000000>" + b"\0" * 16 + b"x" * 1000)
    assert buffer._chunks == []


def test_nothing_is_unpickled_without_its_tag(tmp_path) -> None:
    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "exploded"), "w")

    with pytest.raises(BadFrame):
        fed(STRANGER.frame(pickle.dumps(Bomb())), 10_000)
    assert not (tmp_path / "exploded").exists()


def test_a_message_larger_than_a_frame_is_refused() -> None:
    KEY.frame(b"x" * frames.MAX_BODY)
    with pytest.raises(MessageTooLarge) as refusal:
        KEY.frame(b"x" * (frames.MAX_BODY + 1))
    assert refusal.value.size == frames.MAX_BODY + 1


@pytest.mark.parametrize("length", [0, 15, 65])
def test_a_key_that_proves_nothing_is_refused(length: int) -> None:
    with pytest.raises(ValueError):
        FrameKey(b"k" * length)
