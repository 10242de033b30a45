"""The socket between the launcher and the Leader, and how it finds its way through the forks.

The Leader inherits its end: launcher -> admin -> Leader. Nobody else may hold it, or its end of stream
would not tell the launcher that the Leader is gone. So it is closed by the logger and by every other
actor as their first act, and by the admin as soon as the Leader is forked. On the way each of admin,
logger and Leader says its pid, which is how the launcher knows them.

The lines are JSON objects ``{"name", "body"}``; those of this file have the name "process".
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from actors import orphans
from actors.stack_room import with_room

PROCESS = "process"
ADMIN, LOGGER, LEADER = "admin", "logger", "leader"

_channel: socket.socket | None = None
_leader_class = ""
_originals: dict[str, Any] = {}


def tree_channel() -> socket.socket | None:
    """The Leader's end, non-blocking; None in every other process."""
    return _channel


def line(name: str, body: dict[str, Any]) -> bytes:
    return json.dumps({"name": name, "body": body}, separators=(",", ":")).encode() + b"\n"


def offer(channel: socket.socket, leader_class: str) -> None:
    """In the launcher, before the admin is forked: who will be the Leader, and its end."""
    global _channel, _leader_class
    _replace_starts()
    channel.setblocking(False)
    _channel = channel
    _leader_class = leader_class


def withdraw() -> None:
    """In the launcher, when the admin has it or will not have it any more."""
    global _channel
    if _channel is not None:
        _channel.close()
    _channel = None


def _replace_starts() -> None:
    from thespian.system import multiprocCommon

    if _originals:
        return
    replacements = {"_startLogger": _start_logger, "startupASLogger": _start_as_logger,
                    "startChild": _start_child}
    for name, replacement in replacements.items():
        _originals[name] = getattr(multiprocCommon, name)
        setattr(multiprocCommon, name, replacement)
    _originals["_startChildActor"] = multiprocCommon.MultiProcReplicator._startChildActor
    multiprocCommon.MultiProcReplicator._startChildActor = _start_child_actor


def _start_logger(*arguments: Any) -> None:
    """Runs in the admin, the first thing after its second fork that has a name of its own."""
    orphans.await_adoption()
    _report(ADMIN)
    _originals["_startLogger"](*arguments)


def _start_as_logger(*arguments: Any) -> None:
    """Runs in the logger."""
    _report(LOGGER)
    withdraw()
    _originals["startupASLogger"](*arguments)


def _start_child(child_class: str, *arguments: Any) -> None:
    """Runs in the new actor."""
    if child_class == _leader_class and _channel is not None:
        _report(LEADER)
        orphans.close_in_children(_channel.fileno())
    else:
        withdraw()
    with_room(_originals["startChild"], child_class, *arguments)


def _start_child_actor(starter: Any, address: Any, child_class: Any, *arguments: Any,
                       **named: Any) -> None:
    """Runs in whoever starts an actor."""
    _originals["_startChildActor"](starter, address, child_class, *arguments, **named)
    if child_class == _leader_class:
        withdraw()


def _report(role: str) -> None:
    if _channel is not None:
        try:
            _channel.send(line(PROCESS, {"role": role, "pid": os.getpid()}))
        except OSError:
            pass  # the launcher is gone, and soon this process too
