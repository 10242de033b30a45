"""One duplex connection to a leader's endpoint: requests up, answers and requests down.

It frames and correlates, and decides nothing. Requests of the leader are handed on one after
another, in the order in which they came. Whether a request was written before the connection was
lost is told, because what was not written did not happen.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from actors.bus_line import LineReader, LineTooLong
from actors.event_log import log_event
from messages.bus import Ack, Envelope, InvalidEnvelope, dump, parse_line
from messages.bus_texts import M
from messages.kind import MessageInvalid

CONNECT_S = 2.0

OnRequest = Callable[[Any], Awaitable[Ack]]


class BusLost(Exception):
    """No answer will come."""

    def __init__(self, written: bool) -> None:
        super().__init__("the connection to the leader is lost")
        self.written = written


class BusClient:
    """The connection; made by `connect`, ended by `close` or by the other side."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_request: OnRequest
    ) -> None:
        self._writer = writer
        self._on_request = on_request
        self._answers: dict[str, asyncio.Future[Ack]] = {}
        self._requests: asyncio.Queue[Any] = asyncio.Queue()
        self.closed = asyncio.Event()
        self._tasks = (
            asyncio.create_task(self._read(LineReader(reader))),
            asyncio.create_task(self._serve()),
        )

    @classmethod
    async def connect(cls, path: str, on_request: OnRequest) -> "BusClient":
        """Connect; raises OSError, TimeoutError included, when nobody listens there."""
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_unix_connection(path)
        return cls(reader, writer, on_request)

    async def request(self, envelope: Envelope, within_ms: int) -> Ack:
        """Ask and wait for the answer; BusLost, or MessageInvalid for what cannot be said."""
        line = dump(envelope)
        if self.closed.is_set() or self._writer.is_closing():
            raise BusLost(written=False)
        answer: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        self._answers[envelope.request_id] = answer
        try:
            self._writer.write(line)
            async with asyncio.timeout(within_ms / 1_000):
                return await answer
        except TimeoutError:
            raise BusLost(written=True) from None
        finally:
            self._answers.pop(envelope.request_id, None)

    async def close(self) -> None:
        """Drop the connection and end what reads it; who waits for an answer is told."""
        self.drop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop(self) -> None:
        """End the connection now."""
        if not self.closed.is_set():
            self.closed.set()
            self._writer.transport.abort()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(BusLost(written=True))

    async def _read(self, lines: LineReader) -> None:
        try:
            with contextlib.suppress(OSError):
                while (line := await lines.next()) is not None:
                    self._hear(line)
        finally:
            self.drop()

    def _hear(self, line: bytes | LineTooLong) -> None:
        envelope = None if isinstance(line, LineTooLong) else parse_line(line)
        if envelope is None or isinstance(envelope, InvalidEnvelope):
            log_event("follower.invalid_envelope", "WARNING", text=str(envelope or line))
            return
        if not isinstance(envelope, Ack):
            self._requests.put_nowait(envelope)
            return
        answer = self._answers.get(envelope.request_id)
        if answer is not None and not answer.done():
            answer.set_result(envelope)

    async def _serve(self) -> None:
        while True:
            envelope = await self._requests.get()
            try:
                ack = await self._on_request(envelope)
            except Exception:
                # Whatever one request does, the next ones are served.
                log_event("follower.request_failed", "ERROR", exception=True)
                ack = Ack(request_id=envelope.request_id, ok=False, message=M.HANDLER_FAILED)
            if not self._writer.is_closing():
                with contextlib.suppress(MessageInvalid):
                    self._writer.write(dump(ack))
