"""Connections that strangers make to an actor: taken in, limited in number, never fatal.

Anybody on this machine can connect to an actor's port; only a frame with our tags proves that one of ours
did. Until then a connection may be closed to make room, the longest silent first; that of another user is
closed at once.
"""

from __future__ import annotations

import errno
import resource
import socket
import sys
from typing import Any

from thespian.system.transport import TCPTransport

from actors.neighbours import is_strangers

# Connections that have not yet proved to be ours; beyond this the longest silent one is closed.
MAX_UNPROVEN = 64
RESERVED_DESCRIPTORS = 16
ACCEPT_BATCH = 16


def accept_incoming(transport: Any) -> None:
    """Takes what waits at the listening socket; no failure of accept ends the actor.

    Thespian's own raises in the actor when accept fails (a peer that hung up, no descriptor left).
    """
    transport._check_indicators()
    transport.socket.setblocking(False)
    for _ in range(ACCEPT_BATCH):
        try:
            connection, (_, port) = transport.socket.accept()
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE) and _close_longest_silent(transport):
                continue
            return
        if is_strangers(port, connection.getsockname()[1]):
            connection.close()
            continue
        if connection.fileno() >= _descriptors_for_strangers() and _close_longest_silent(transport):
            with connection:
                connection = connection.dup()  # takes over the number of the one that was closed
        try:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            connection.close()
            continue
        transport._incomingSockets[connection.fileno()] = TCPTransport.TCPIncomingPersistent(
            TCPTransport.ActorAddress(None), connection)
        if len(transport._incomingSockets) > MAX_UNPROVEN:
            _close_longest_silent(transport)


def _descriptors_for_strangers() -> int:
    """Numbers from here on are kept for ourselves: without one for its selector the actor ends."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit - RESERVED_DESCRIPTORS


def _close_longest_silent(transport: Any) -> bool:
    """Closes the connection without a whole frame that was heard of longest ago."""
    # Whenever one is read it is entered anew, so the order is that of their last words.
    for number, incoming in transport._incomingSockets.items():
        if getattr(incoming.fromAddress, "addressDetails", None) is None:
            del transport._incomingSockets[number]
            incoming.close()
            return True
    return False
