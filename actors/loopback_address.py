"""Where an actor can be reached: a port of 127.0.0.1 and nowhere else.

Stands for Thespian's ``TCPv4ActorAddress``, which listens on all interfaces, asks the network which address
is its own, and takes a port of 0 for any. It travels in messages, so its name and place stay.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def _no_name_lookups() -> Iterator[None]:
    """IPBase asks DNS for this machine's names on import, which may take many seconds."""
    def only_loopback(host: object, port: object, *hints: object) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDP, "", ("127.0.0.1", 0))]

    names = {"getfqdn": lambda: "localhost", "gethostname": lambda: "localhost",
             "getaddrinfo": only_loopback}
    originals = {name: getattr(socket, name) for name in names}
    vars(socket).update(names)
    try:
        yield
    finally:
        vars(socket).update(originals)


with _no_name_lookups():
    from thespian.system.transport import IPBase


class LoopbackAddress(IPBase.IPActorAddress):
    """The address of an actor: a port of 127.0.0.1, whatever host was asked for."""

    def __init__(self, host: object = None, port: int | str | None = 0,
                 external: object = False) -> None:
        self.af = socket.AF_INET
        self.socktype = socket.SOCK_STREAM
        self.proto = socket.IPPROTO_TCP
        self.sockname = self.bindname = ("127.0.0.1", int(port or 0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopbackAddress) and self.sockname == other.sockname

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.sockname)

    def isLocalAddr(self) -> bool:
        return True

    def isSameSystem(self, other_addr: object) -> bool:
        return True

    def _str_kind(self) -> str:
        return "T"
