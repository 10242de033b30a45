"""Lines over a socketpair: whole lines only, never waiting, and the end is noticed."""

import socket
from collections.abc import Iterator

import pytest

from actors import line_socket
from actors.line_socket import LineSocket


@pytest.fixture
def pair() -> Iterator[tuple[LineSocket, socket.socket]]:
    ours, theirs = socket.socketpair()
    lines = LineSocket(ours)
    with theirs:
        yield lines, theirs
    lines.close()


def test_lines_come_whole_however_they_are_cut(pair) -> None:
    lines, peer = pair
    assert lines.receive() == []
    peer.sendall(b"one\ntw")
    assert lines.receive() == [b"one"]
    peer.sendall(b"o\n\nthree\n")
    assert lines.receive() == [b"two", b"", b"three"]
    assert not lines.ended


def test_the_last_words_are_heard_before_the_end(pair) -> None:
    lines, peer = pair
    peer.sendall(b"last\nhalf")
    peer.close()
    assert lines.receive() == [b"last"]
    assert lines.ended
    assert lines.receive() == []


def test_a_line_without_end_is_the_end(pair, monkeypatch) -> None:
    lines, peer = pair
    monkeypatch.setattr(line_socket, "MAX_LINE", 1000)
    peer.sendall(b"x" * 2000)
    lines.receive()
    assert lines.ended


def test_what_is_not_taken_waits_and_a_peer_that_takes_nothing_is_gone(pair, monkeypatch) -> None:
    lines, peer = pair
    sent = b"x" * 99 + b"\n"
    while not lines.has_unsent:
        lines.send(sent)
    peer.settimeout(5)
    taken = len(peer.recv(1_000_000))
    assert taken
    lines.flush()
    monkeypatch.setattr(line_socket, "MAX_UNSENT", 0)
    while not lines.ended:
        lines.send(sent)


def test_sending_to_a_peer_that_left_is_no_error(pair) -> None:
    lines, peer = pair
    peer.sendall(b"bye\n")
    peer.close()
    lines.send(b"hello\n")
    assert lines.receive() == [b"bye"]
    assert lines.ended and not lines.has_unsent
