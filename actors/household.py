"""The children of one actor: their addresses, pids and lives, and whom each of them knows.

Children are keyed by our own ids; Thespian's addresses are unhashable and are only ever compared. What to
start, stop and kill is decided elsewhere (`actors.plans.supervision`).
"""

import signal
from collections.abc import Mapping
from typing import Any

from thespian.actors import ActorExitRequest

from messages.actor import PeersIntroduced
from messages.envelope import Envelope

Peer = tuple[int, Any]
"""Incarnation and address."""


class Household:
    """The children of `actor`, which is its parent in Thespian's eyes too."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._children: dict[str, Peer] = {}
        self._pids: dict[str, int] = {}
        self._directory: dict[str, Peer] = {}
        self._acquainted: dict[str, tuple[str, ...]] = {}

    def start(self, key: str, incarnation: int, class_name: str) -> Peer:
        """Fork a child; returns where it lives."""
        before = self._newest_pid()
        with self._actor.forking():
            address = self._actor.createActor(class_name)
        self._children[key] = (incarnation, address)
        pid = self._newest_pid()
        if pid is not None and pid != before:
            self._pids[key] = pid
        return incarnation, address

    def stop(self, key: str) -> None:
        """Ask a child to exit."""
        if key in self._children:
            self._actor.send(self._children[key][1], ActorExitRequest())

    def kill(self, key: str) -> Any | None:
        """SIGKILL a child; returns its address when it is gone already and nobody said so."""
        pid = self._pids.get(key)
        if pid is not None and key in self._children:
            # Our own child that we have not heard the end of: the pid cannot have been reused.
            try:
                self._actor.signal_process(pid, signal.SIGKILL)
            except ProcessLookupError:
                return self._children[key][1]
        return None

    def exited(self, address: Any) -> tuple[str, ...]:
        """A child at this address is gone: its key; nobody when that is known already."""
        gone = tuple(key for key, (_, known) in self._children.items() if known == address)
        for key in gone:
            del self._children[key]
            self._pids.pop(key, None)
            self._acquainted.pop(key, None)
        return gone

    def learn(self, peers: Mapping[str, Peer]) -> dict[str, Peer]:
        """Learn where peers live now and tell the children that know them; returns what was news."""
        news = {
            key: peer
            for key, peer in peers.items()
            if key not in self._directory or peer[0] >= self._directory[key][0]
        }
        self._directory.update(news)
        for child, known in self._acquainted.items():
            moved = tuple(key for key in known if key in news)
            if moved and child not in news:
                self._tell(child, moved)
        return news

    def introduce(self, to: tuple[str, ...], keys: tuple[str, ...]) -> None:
        """Tell these children where `keys` and their parent live, now and whenever it changes."""
        for child in to:
            if child in self._children:
                self._acquainted[child] = keys
                self._tell(child, keys)

    def pid(self, key: str) -> int | None:
        """The process id of a child, None when there is no such child."""
        return self._pids.get(key)

    def key_of_pid(self, pid: int) -> str | None:
        """The key of the child with this process id."""
        return next((key for key, known in self._pids.items() if known == pid), None)

    def _tell(self, child: str, keys: tuple[str, ...]) -> None:
        actor = self._actor
        known = {key: self._directory[key] for key in keys if key in self._directory}
        known[actor.key] = (actor.incarnation, actor.myAddress)
        peers = {
            key: {"incarnation": incarnation, "address": address}
            for key, (incarnation, address) in known.items()
        }
        incarnation, address = self._children[child]
        told = Envelope(PeersIntroduced(peers=peers), actor.new_id(), child, incarnation)
        actor.send(address, told.dump())

    def _newest_pid(self) -> int | None:
        # The pid of the child forked last; Thespian tells it nowhere else.
        processes = getattr(self._actor._myRef, "_child_procs", None)
        return processes[-1].childProc.pid if processes else None
