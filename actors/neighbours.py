"""Whose the other end of a loopback connection is, where the kernel tells (Linux: sock_diag).

The tags of a frame keep strangers from being believed; this keeps them from being talked to. When an actor
dies, another user's process may get its port, and what is still sent there must not reach it; and their
connections need not be held until they prove nothing. Where the kernel does not say, nobody is a stranger.
"""

from __future__ import annotations

import os
import socket
import struct

_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST = 1
_ERROR = 2
_ALL_STATES = 0xFFFFFFFF
_ANY_COOKIE = b"\xff" * 8
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBBI")
_PORTS = struct.Struct("!HH16s16s")
_REST_OF_ID = struct.Struct("=I8s")
# The answer: four bytes of state, the same 48 bytes of identity, three numbers, then the owner.
_OWNER = struct.Struct("=I")
_OWNER_AT = _HEADER.size + 4 + 48 + 12
_LOOPBACK = socket.inet_aton("127.0.0.1")


def owner_of(port: int, peer_port: int = 0) -> int | None:
    """The user of the socket at a loopback port: the listening one, or the one connected to a peer."""
    peer = _LOOPBACK if peer_port else bytes(4)
    request = (_ASKED.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ALL_STATES)
               + _PORTS.pack(port, peer_port, _LOOPBACK, peer) + _REST_OF_ID.pack(0, _ANY_COOKIE))
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
            kernel.settimeout(0.05)
            kernel.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST, 1, 0) + request)
            answer = kernel.recv(4096)
        if _HEADER.unpack_from(answer)[1] == _ERROR:
            return None
        return int(_OWNER.unpack_from(answer, _OWNER_AT)[0])
    except (AttributeError, OSError, struct.error):
        return None


def is_strangers(port: int, peer_port: int = 0) -> bool:
    """Whether that socket is known to belong to another user than this one or root."""
    # Root can read this process anyway, and sockets that are being closed count as root's.
    return owner_of(port, peer_port) not in (None, 0, os.geteuid())
