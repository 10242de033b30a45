"""The leader's end of the bus: a Unix socket, its connections, and their lines. It decides nothing.

It reports `requests` (parsed lines of peers of the same user), `connection_closed` and `listening`, and
carries out what the registry wants: listen, answer, relay to a follower, close. Requests go to the mailbox in
batches, one line of each connection in turn, and the next batch only when the mailbox is done with the last:
a peer that floods waits behind itself and delays another by part of a batch at most.
"""

import asyncio
import collections
import contextlib
import dataclasses
import hashlib
import os
import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from actors.bus_connection import BusConnection
from actors.bus_line import Line, LineReader, LineTooLong
from actors.event_log import log_event
from actors.orphans import close_in_children, forget
from actors.plans.relays import TransportFailed
from messages.bus import Ack, Envelope, InvalidEnvelope, OtherEnvelope, parse_line

MAX_CONNECTIONS = 512
MOST_OF_ONE_PROCESS = 64
"""One process that opens more keeps nobody else out."""
BATCH = 64
"""Requests handed to the mailbox at once."""
RELAY_CONNECT_S = 2.0
TOO_LONG = "longer than a line may be"


@dataclasses.dataclass(slots=True)
class Arrived:
    """One line of a peer, parsed; `digest` tells the same line from another one."""

    connection: int
    peer_pid: int | None
    envelope: Envelope | OtherEnvelope | InvalidEnvelope
    digest: bytes = b""


@dataclasses.dataclass(slots=True)
class Outgoing:
    """Lines for one connection, and how many of its requests they answer."""

    lines: list[bytes] = dataclasses.field(default_factory=list)
    answers: int = 0


class BusEndpoint:
    """The I/O object of the FollowerRegistry."""

    def __init__(self, emit: Callable[[str, Any], None]) -> None:
        self._emit = emit
        self._server: asyncio.Server | None = None
        self._path: Path | None = None
        self._connections: dict[int, BusConnection] = {}
        self._turns: collections.deque[BusConnection] = collections.deque()
        self._is_with_mailbox = False
        self._is_due = False
        self._numbers = 0
        self._is_crowded = False

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
        loop = asyncio.get_running_loop()
        # Room for a crowd: whoever finds none is turned away by the system, without a word of ours.
        self._server = await loop.create_unix_server(
            self._connection, sock=listener, backlog=2 * MAX_CONNECTIONS
        )
        return path

    async def perform_close_endpoint(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            for listener in self._server.sockets:
                forget(listener.fileno())
            self._server.close()
            self._server = None
        for connection in list(self._connections.values()):
            connection.drop()
        if self._path is not None:
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()
            self._path = None

    def _connection(self) -> BusConnection:
        self._numbers += 1
        return BusConnection(self._numbers, self)

    def admits(self, connection: BusConnection) -> bool:
        """A peer of this user, while there are not too many."""
        uid, connection.peer_pid = peer_credentials(connection.transport.get_extra_info("socket"))
        if uid is not None and uid != os.geteuid():
            log_event("bus.foreign_user", "WARNING", uid=uid)
            return False
        pid = connection.peer_pid
        share = sum(pid is not None and one.peer_pid == pid for one in self._connections.values())
        if share >= MOST_OF_ONE_PROCESS or len(self._connections) >= MAX_CONNECTIONS:
            if not self._is_crowded:
                # Once, and not for each of those who are turned away.
                log_event("bus.crowded", "WARNING", connections=len(self._connections), pid=pid)
            self._is_crowded = True
            return False
        self._is_crowded = False
        self._connections[connection.number] = connection
        return True

    def is_gone(self, connection: BusConnection) -> None:
        """Whatever is still answered to it is lost."""
        self._connections.pop(connection.number, None)

    # -- hearing --------------------------------------------------------------------------------

    def wants_turn(self, connection: BusConnection) -> None:
        """It has lines, or its end is to be reported after them."""
        if connection.has_turn or connection.number not in self._connections:
            return
        connection.has_turn = True
        self._turns.append(connection)
        if not self._is_due and not self._is_with_mailbox:
            # Not at once: whoever else is readable now shares the batch.
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._hand_over)

    def _hand_over(self) -> None:
        self._is_due = False
        batch: list[Arrived] = []
        over: list[int] = []
        while self._turns and len(batch) < BATCH:
            connection = self._turns.popleft()
            if connection.lines:
                arrived = _parsed(connection, connection.take())
                batch.append(arrived)
                if isinstance(arrived.envelope, Ack):
                    connection.settled()
            connection.has_turn = bool(connection.lines)
            if connection.lines:
                self._turns.append(connection)
            elif connection.is_over and not connection.is_told:
                connection.is_told = True
                over.append(connection.number)
        if batch:
            self._is_with_mailbox = True
            self._emit("requests", tuple(batch))
        for number in over:
            self._emit("connection_closed", number)

    # -- speaking -------------------------------------------------------------------------------

    def now_answer(self, outgoing: Mapping[int, Outgoing], is_done: bool) -> None:
        """Write these lines; who is gone loses them. `is_done` with a batch: the next may come."""
        for number, said in outgoing.items():
            connection = self._connections.get(number)
            if connection is not None:
                connection.write(said.lines)
                connection.settled(said.answers)
        if is_done:
            self._is_with_mailbox = False
            if self._turns:
                self._hand_over()

    async def perform_relay(self, path: str, line: bytes, timeout_s: float) -> Any:
        """One request to a follower that listens on its own socket: its answer, None where none came."""
        try:
            async with asyncio.timeout(timeout_s):
                async with asyncio.timeout(RELAY_CONNECT_S):
                    reader, writer = await asyncio.open_unix_connection(path)
                try:
                    writer.write(line)
                    answer = await LineReader(reader).next()
                finally:
                    writer.transport.abort()
        except TimeoutError:
            return TransportFailed("The follower did not answer in time.")
        except OSError as failure:
            return TransportFailed(f"The follower could not be reached: {failure.strerror}.")
        if answer is None or isinstance(answer, LineTooLong):
            return None
        parsed = parse_line(answer)
        return None if isinstance(parsed, InvalidEnvelope) else parsed


def _parsed(connection: BusConnection, line: Line) -> Arrived:
    if isinstance(line, LineTooLong):
        invalid = InvalidEnvelope(reason=TOO_LONG, byte_length=line.length)
        return Arrived(connection.number, connection.peer_pid, invalid)
    digest = hashlib.blake2b(line, digest_size=16).digest()
    return Arrived(connection.number, connection.peer_pid, parse_line(line), digest)


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
