"""One question to the leader over the bus, and its answer: what status, shell and doctor speak through.

It connects, asks, waits for one line and is gone. A leader that does not answer in time is told apart from
one that says no.
"""

import os
import socket
import time
from typing import Any

from actors.clock import wall_ms
from messages.bus import MAX_LINE, Ack, Envelope, dump, parse_line
from stores.lease import LeaseRecord

_CHUNK = 64 * 1024
_numbers = iter(range(1, 2**31))


class LeaderSilent(Exception):
    """No answer came."""


def ask(lease: LeaseRecord, kind: type[Envelope], within_s: float, **fields: Any) -> Ack:
    """Ask the leader that this lease names; raises LeaderSilent."""
    request_id = f"operator:{os.getpid()}:{wall_ms()}:{next(_numbers)}"
    request: Any = kind(request_id=request_id, auth=lease.secret, **fields)
    until = time.monotonic() + within_s
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(within_s)
            connection.connect(lease.endpoint or "")
            connection.sendall(dump(request))
            answer = parse_line(_line(connection, until))
    except (OSError, ValueError) as failure:
        raise LeaderSilent(type(failure).__name__) from None
    if not isinstance(answer, Ack):
        raise LeaderSilent("no answer")
    return answer


def _line(connection: socket.socket, until: float) -> bytes:
    received = bytearray()
    while b"\n" not in received and len(received) < MAX_LINE:
        connection.settimeout(max(0.001, until - time.monotonic()))
        chunk = connection.recv(_CHUNK)
        if not chunk or time.monotonic() > until:
            raise TimeoutError
        received += chunk
    return bytes(received.partition(b"\n")[0])
