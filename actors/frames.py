"""The frames actors speak in: what a byte must prove before anything is made of it.

A frame is ``DDDDDDDD>`` (eight digits: the length of the body), a tag over those digits, a tag over
the body, and the body, a pickle. Both tags are keyed BLAKE2b. So nothing a stranger sends is ever
buffered (the first tag guards the length) or unpickled (the second guards the body).

Promises: a frame that is wrong in any way raises BadFrame from ``addMore``, before a byte of its
body is kept; the transport closes that connection and nothing else happens. Chunks of a long body
are joined once. Nothing here knows of Thespian but the names of the ReceiveBuffer's methods.
"""

from __future__ import annotations

import hashlib
import hmac
import pickle
from collections.abc import Callable
from typing import Any

MAX_BODY = 16 * 1024 * 1024
HEADER_TAG = 16
BODY_TAG = 32
DIGITS = 8
HEADER = DIGITS + 1 + HEADER_TAG
PREFIX = HEADER + BODY_TAG

# Until the length is known the transport is told to read this much. A sender waits for the answer
# to a frame before it sends the next one, so what is read ahead belongs to the same frame.
READ_AHEAD = 16 * 1024


class MessageTooLarge(ValueError):
    """The message is larger than a frame may be; send an id and leave the body in a store."""

    def __init__(self, size: int) -> None:
        super().__init__(f"message of {size} bytes; at most {MAX_BODY} are sent")
        self.size = size


class BadFrame(Exception):
    """What arrived is not a frame of this actor system."""


class FrameKey:
    """The secret of one actor system, random at its start and inherited by fork only."""

    def __init__(self, key: bytes) -> None:
        if not 16 <= len(key) <= hashlib.blake2b.MAX_KEY_SIZE:
            raise ValueError("a frame key has 16 to 64 bytes")
        self._header = hashlib.blake2b(key=key, digest_size=HEADER_TAG, person=b"header")
        self._body = hashlib.blake2b(key=key, digest_size=BODY_TAG, person=b"body")

    def header_tag(self, digits: bytes) -> bytes:
        state = self._header.copy()
        state.update(digits)
        return state.digest()

    def body_tag(self, body: bytes) -> bytes:
        state = self._body.copy()
        state.update(body)
        return state.digest()

    def frame(self, body: bytes) -> bytes:
        if len(body) > MAX_BODY:
            raise MessageTooLarge(len(body))
        digits = b"%0*d" % (DIGITS, len(body))
        return b"".join((digits, b">", self.header_tag(digits), self.body_tag(body), body))

    def length_of(self, header: bytes) -> int:
        """The body's length a complete header announces; BadFrame unless its tag is right."""
        digits = header[:DIGITS]
        if not digits.isdigit() or header[DIGITS:DIGITS + 1] != b">":
            raise BadFrame("malformed header")
        if not hmac.compare_digest(header[DIGITS + 1:HEADER], self.header_tag(digits)):
            raise BadFrame("header with a wrong tag")
        length = int(digits)
        if not 0 < length <= MAX_BODY:
            raise BadFrame("length out of range")
        return length


class ReceiveBuffer:
    """One frame on its way in; Thespian's buffer of the same name, method by method."""

    def __init__(self, key: FrameKey, deserialize: Callable[[bytes], Any] = pickle.loads) -> None:
        self._key = key
        self._deserialize = deserialize
        self._header = b""
        self._chunks: list[bytes] = []
        self._missing: int | None = None  # bytes of tag and body still to come; None: no header yet
        self._body: bytes | None = None
        self._extra = b""

    def addMore(self, data: bytes) -> None:
        if not data:
            return
        if self._body is not None:
            self._extra += data
            return
        if self._missing is None:
            data = self._take_header(data)
            if self._missing is None:
                return
        taken, rest = data[:self._missing], data[self._missing:]
        if taken:
            self._chunks.append(taken)
            self._missing -= len(taken)
        if not self._missing:
            self._close_body(rest)

    def _take_header(self, data: bytes) -> bytes:
        wanted = HEADER - len(self._header)
        self._header += data[:wanted]
        # The digits are looked at as they come: nobody holds a connection open with letters.
        if not self._header[:DIGITS].isdigit():
            raise BadFrame("malformed header")
        if len(self._header) == HEADER:
            self._missing = BODY_TAG + self._key.length_of(self._header)
        return data[wanted:]

    def _close_body(self, rest: bytes) -> None:
        whole = b"".join(self._chunks)
        self._chunks.clear()
        body = whole[BODY_TAG:]
        if not hmac.compare_digest(whole[:BODY_TAG], self._key.body_tag(body)):
            raise BadFrame("body with a wrong tag")
        self._body = body
        self._extra = rest

    def is_empty(self) -> bool:
        return not self._header

    def remainingAmount(self) -> int:
        if self._missing is None:
            return READ_AHEAD
        # Never 0: reading nothing looks like the end of the stream.
        return self._missing or READ_AHEAD

    def isDone(self) -> bool:
        return self._body is not None

    def removeExtra(self) -> None:
        self._extra = b""

    def completed(self) -> tuple[Any, bytes] | None:
        if self._body is None:
            return None
        return self._deserialize(self._body), self._extra
