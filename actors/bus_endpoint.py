"""The leader's end of the bus: a Unix socket, its connections, and their lines. It decides nothing.

It lives in the mailbox of the registry and never blocks: the mailbox watches `fileno`, which is readable when
anything is to be done, and calls `turn`. No thread stands between a peer's line and its answer. Each turn gives
a batch of requests, one line of each connection in turn; what is left over comes with the next turn, so that a
peer that floods waits behind itself and delays another, or another message of the mailbox, by a batch at most.
"""

import collections
import contextlib
import dataclasses
import errno
import hashlib
import os
import selectors
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from actors.bus_connection import BusConnection
from actors.bus_line import Line, LineTooLong
from actors.event_log import log_event
from actors.orphans import close_in_children, forget
from messages.bus import Ack, Envelope, InvalidEnvelope, OtherEnvelope, parse_line

MAX_CONNECTIONS = 512
MOST_OF_ONE_PROCESS = 64
"""One process that opens more keeps nobody else out."""
BATCH = 64
"""Requests handed to the mailbox at once."""
TOO_LONG = "longer than a line may be"

LOOK_EVERY_S = 5.0
"""How often is looked whether the file of the socket is still there."""

_ACCEPTED_AT_ONCE = 64
_FULL_FOR_S = 1.0
_FULL = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


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


@dataclasses.dataclass(slots=True)
class Turn:
    """What one turn brought: requests of peers of the same user, and connections that ended after them."""

    arrived: list[Arrived] = dataclasses.field(default_factory=list)
    ended: list[int] = dataclasses.field(default_factory=list)


class BusEndpoint:
    """The socket of the FollowerRegistry; made after the fork, in the process that serves it."""

    def __init__(self) -> None:
        # Of the kinds with a descriptor of their own, which is all that the mailbox watches.
        self._selector: Any = selectors.DefaultSelector()
        # Holds a byte while requests are left over, so that the mailbox comes back for them.
        self._left_over, self._reminder = socket.socketpair()
        self._is_reminded = False
        self._selector.register(self._left_over, selectors.EVENT_READ)
        for kept in (self._selector, self._left_over, self._reminder):
            close_in_children(kept.fileno())
        self._listener: socket.socket | None = None
        self._full_until = 0.0
        self._look_at = 0.0
        self._path: Path | None = None
        self._connections: dict[int, BusConnection] = {}
        self._turns: collections.deque[BusConnection] = collections.deque()
        self._numbers = 0
        self._is_crowded = False

    @property
    def fileno(self) -> int:
        """Readable when there is something for `turn`."""
        return self._selector.fileno()

    # -- listening ------------------------------------------------------------------------------

    def listen(self, path: str) -> str:
        """Bind the socket (0600 in a 0700 directory) and serve; returns the path, raises OSError."""
        self.shut()
        self._path = Path(path)
        for left in self._path.parent.glob(f"{self._path.name.partition('-')[0]}-*.sock"):
            # Whoever bound it no longer leads, or serves nobody new. A later one is not ours to take away: it is we
            # who do not lead any more, and have not heard of it.
            if _life(left) < _life(self._path):
                left.unlink(missing_ok=True)
        self._bind(self._path)
        return path

    def _bind(self, path: Path) -> None:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)
        try:
            listener.bind(str(path))
        except BaseException:
            listener.close()
            raise
        finally:
            os.umask(mask)
        self._close_listener()
        self._listener = listener
        close_in_children(listener.fileno())
        listener.setblocking(False)
        # Room for a crowd: whoever finds none is turned away by the system, without a word of ours.
        listener.listen(2 * MAX_CONNECTIONS)
        self._selector.register(listener, selectors.EVENT_READ)
        self._look_at = time.monotonic() + LOOK_EVERY_S

    def shut(self) -> None:
        """Stop listening, drop everyone, and leave no socket file behind."""
        self._close_listener()
        for connection in list(self._connections.values()):
            connection.drop()
            self._mind(connection)
        # Their ends are still to be told.
        self._remind(bool(self._turns))
        if self._path is not None:
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()
            self._path = None

    def _close_listener(self) -> None:
        if self._listener is not None:
            if self._listener in self._selector.get_map():
                self._selector.unregister(self._listener)
            forget(self._listener.fileno())
            self._listener.close()
            self._listener = None
        self._full_until = 0.0

    def close(self) -> None:
        """The end of it."""
        self.shut()
        for kept in (self._left_over, self._reminder, self._selector):
            forget(kept.fileno())
            kept.close()

    def adopt(self, peer: socket.socket) -> None:
        """Serve this peer, if it is of this user and there are not too many."""
        close_in_children(peer.fileno())
        try:
            uid, pid = peer_credentials(peer)
            is_admitted = self._admits(uid, pid)
        except OSError:
            # Of a peer that is gone already macOS tells nothing.
            is_admitted, pid = False, None
        if not is_admitted:
            forget(peer.fileno())
            peer.close()
            return
        self._numbers += 1
        connection = BusConnection(self._numbers, peer, pid)
        self._connections[connection.number] = connection
        self._mind(connection)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                peer, _ = listener.accept()
            except OSError as failure:
                if failure.errno in _FULL:
                    # It stays readable; looking at it again at once would only spin.
                    log_event("bus.no_descriptors", "WARNING", text=failure.strerror)
                    self._selector.unregister(listener)
                    self._full_until = time.monotonic() + _FULL_FOR_S
                return
            self.adopt(peer)

    def listen_again(self) -> None:
        """After a second without descriptors; and when somebody took the file of the socket away."""
        now = time.monotonic()
        if self._full_until and now > self._full_until:
            self._full_until = 0.0
            if self._listener is not None:
                self._selector.register(self._listener, selectors.EVENT_READ)
        if self._listener is not None and now > self._look_at:
            self._look_at = now + LOOK_EVERY_S
            if self._path is not None and not os.path.lexists(self._path):
                # Where it cannot be bound it is tried again: who is connected is served meanwhile.
                with contextlib.suppress(OSError):
                    self._bind(self._path)
                    log_event("bus.endpoint_restored", "WARNING", path=self._path.name)

    def _admits(self, uid: int | None, pid: int | None) -> bool:
        if uid is not None and uid != os.geteuid():
            log_event("bus.foreign_user", "WARNING", uid=uid)
            return False
        share = sum(pid is not None and one.peer_pid == pid for one in self._connections.values())
        if share >= MOST_OF_ONE_PROCESS or len(self._connections) >= MAX_CONNECTIONS:
            if not self._is_crowded:
                # Once, and not for each of those who are turned away.
                log_event("bus.crowded", "WARNING", connections=len(self._connections), pid=pid)
            self._is_crowded = True
            return False
        self._is_crowded = False
        return True

    # -- hearing --------------------------------------------------------------------------------

    def turn(self) -> Turn:
        """Take and send what is possible now; returns the next requests and the streams that ended."""
        self.listen_again()
        for key, mask in self._selector.select(0):
            peer = key.fileobj
            if isinstance(peer, BusConnection):
                if mask & selectors.EVENT_WRITE:
                    peer.flush()
                if mask & selectors.EVENT_READ:
                    peer.read()
                self._mind(peer)
            elif self._listener is not None and peer is self._listener:
                self._accept(peer)
        turn = self._next()
        self._remind(bool(self._turns))
        return turn

    def _next(self) -> Turn:
        turn = Turn()
        while self._turns and len(turn.arrived) < BATCH:
            connection = self._turns.popleft()
            if connection.lines:
                arrived = _parsed(connection, connection.take())
                turn.arrived.append(arrived)
                if isinstance(arrived.envelope, Ack):
                    connection.settled()
                    self._mind(connection)
            connection.has_turn = bool(connection.lines)
            if connection.lines:
                self._turns.append(connection)
            elif connection.is_over and not connection.is_told:
                connection.is_told = True
                turn.ended.append(connection.number)
        return turn

    def _remind(self, wanted: bool) -> None:
        if wanted and not self._is_reminded:
            self._reminder.send(b"\0")
        elif self._is_reminded and not wanted:
            self._left_over.recv(1)
        self._is_reminded = wanted

    def _mind(self, connection: BusConnection) -> None:
        """Watch it for what it waits for, give it a turn when it has something, let it go when it is done."""
        has_news = bool(connection.lines) or (connection.is_over and not connection.is_told)
        if has_news and not connection.has_turn:
            connection.has_turn = True
            self._turns.append(connection)
        is_done = connection.is_done
        wanted = 0 if is_done else connection.wanted
        if wanted != connection.watched_for:
            if not wanted:
                self._selector.unregister(connection)
            elif connection.watched_for:
                self._selector.modify(connection, wanted)
            else:
                self._selector.register(connection, wanted)
            connection.watched_for = wanted
        if is_done and self._connections.pop(connection.number, None) is not None:
            forget(connection.fileno())
            connection.close()

    # -- speaking -------------------------------------------------------------------------------

    def say(self, outgoing: Mapping[int, Outgoing]) -> None:
        """Write these lines; who is gone loses them."""
        for number, said in outgoing.items():
            connection = self._connections.get(number)
            if connection is not None:
                connection.write(said.lines)
                connection.settled(said.answers)
                self._mind(connection)
        self._remind(bool(self._turns))


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


def _life(path: Path) -> tuple[int, ...]:
    """Which life of which epoch a socket is of, by its name: `<stem>-<epoch>-<incarnation>.sock`."""
    return tuple(int(number) for number in path.stem.split("-")[1:] if number.isdecimal())
