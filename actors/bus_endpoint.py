"""The leader's end of the bus: a Unix socket, its connections, and their lines. It decides nothing.

It reports `request` (one parsed line of a peer of the same user), `connection_closed` and `listening`, and
carries out what the registry wants: listen, answer, relay to a follower, close. A peer that never reads
fills its own bounded queue and is dropped; one that never ends a line costs at most one line.
"""

import asyncio
import contextlib
import dataclasses
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actors.bus_line import LineReader, LineTooLong
from actors.event_log import log_event
from actors.orphans import close_in_children, forget
from messages.bus import Envelope, InvalidEnvelope, OtherEnvelope, parse_line

MAX_CONNECTIONS = 256
MAX_UNSENT_BYTES = 4 * 1024 * 1024
"""What may wait for a peer that does not read before it is dropped."""
RELAY_CONNECT_S = 2.0
TOO_LONG = "longer than a line may be"


@dataclasses.dataclass(frozen=True, slots=True)
class Arrived:
    """One line of a peer, parsed."""

    connection: int
    peer_pid: int | None
    envelope: Envelope | OtherEnvelope | InvalidEnvelope


class BusEndpoint:
    """The I/O object of the FollowerRegistry."""

    def __init__(self, emit: Callable[[str, Any], None]) -> None:
        self._emit = emit
        self._server: asyncio.Server | None = None
        self._path: Path | None = None
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._numbers = 0

    async def open(self) -> None:
        """Nothing is bound until the Leader says so."""

    async def close(self) -> None:
        """Stop listening, drop everyone, and leave no socket file behind."""
        await self.perform_close_endpoint()

    # -- listening ------------------------------------------------------------------------------

    async def perform_listen(self, path: str) -> str:
        """Bind the socket (0600 in a 0700 directory) and serve; returns the path."""
        await self.perform_close_endpoint()
        self._path = Path(path)
        for left in self._path.parent.glob(f"{self._path.name.partition('-')[0]}-*.sock"):
            # Of an earlier epoch: whoever bound it no longer leads, or serves nobody new.
            with contextlib.suppress(FileNotFoundError):
                left.unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(mask)
        listener.setblocking(False)
        close_in_children(listener.fileno())
        self._server = await asyncio.start_unix_server(self._accept, sock=listener, limit=1 << 16)
        return path

    async def perform_close_endpoint(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            for listener in self._server.sockets:
                forget(listener.fileno())
            self._server.close()
            self._server = None
        for writer in list(self._writers.values()):
            writer.transport.abort()
        for task in list(self._serving):
            task.cancel()
        if self._path is not None:
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()
            self._path = None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("socket")
        uid, pid = peer_credentials(peer)
        if uid is not None and uid != os.geteuid():
            log_event("bus.foreign_user", "WARNING", uid=uid)
            writer.transport.abort()
            return
        if len(self._writers) >= MAX_CONNECTIONS:
            log_event("bus.crowded", "WARNING", connections=len(self._writers))
            writer.transport.abort()
            return
        descriptor = peer.fileno()
        close_in_children(descriptor)
        self._numbers += 1
        number = self._numbers
        self._writers[number] = writer
        task = asyncio.current_task()
        if task is not None:
            self._serving.add(task)
        try:
            await self._serve(number, pid, LineReader(reader))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._writers.pop(number, None)
            forget(descriptor)
            if task is not None:
                self._serving.discard(task)
            writer.transport.abort()
            self._emit("connection_closed", number)

    async def _serve(self, number: int, pid: int | None, lines: LineReader) -> None:
        while (line := await lines.next()) is not None:
            if isinstance(line, LineTooLong):
                envelope: Envelope | OtherEnvelope | InvalidEnvelope = InvalidEnvelope(
                    reason=TOO_LONG, byte_length=line.length
                )
            else:
                envelope = parse_line(line)
            self._emit("request", Arrived(number, pid, envelope))

    # -- speaking -------------------------------------------------------------------------------

    async def perform_answer(self, connections: tuple[int, ...], line: bytes) -> None:
        """Write one line to these connections; those that are gone, or never read, lose it."""
        for number in connections:
            writer = self._writers.get(number)
            if writer is None or writer.is_closing():
                continue
            writer.write(line)
            if writer.transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
                log_event("bus.never_reads", "WARNING", connection=number)
                writer.transport.abort()

    async def perform_relay(self, path: str, line: bytes, timeout_s: float) -> Any:
        """One request to a follower that listens on its own socket; None when no answer came."""
        try:
            async with asyncio.timeout(timeout_s):
                async with asyncio.timeout(RELAY_CONNECT_S):
                    reader, writer = await asyncio.open_unix_connection(path)
                try:
                    writer.write(line)
                    answer = await LineReader(reader).next()
                finally:
                    writer.transport.abort()
        except (OSError, TimeoutError):
            return None
        if answer is None or isinstance(answer, LineTooLong):
            return None
        parsed = parse_line(answer)
        return None if isinstance(parsed, InvalidEnvelope) else parsed


def peer_credentials(peer: Any) -> tuple[int | None, int | None]:
    """(uid, pid) of the process at the other end, None where the system does not tell."""
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        pid, uid, _ = struct.unpack("3i", raw)
        return uid, pid
    if hasattr(socket, "LOCAL_PEERCRED"):
        # struct xucred of BSD and macOS: version, uid, and groups that do not matter here.
        raw = peer.getsockopt(0, socket.LOCAL_PEERCRED, 76)
        return struct.unpack_from("Ii", raw)[1], None
    return None, None
