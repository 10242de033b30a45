"""A request on the bus while it is being carried out, and what waits for it."""

import dataclasses
from typing import Any

from messages.bus import CallApi, Registration


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A request that waits for its answer: where it is entered in the ledger, its id, who asked first."""

    ledger_key: Any
    request_id: str
    connection: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class BusRequest:
    """A new request, as the actor hands it over once the ledger knows it."""

    asked: Asked
    connection: int
    peer_pid: int | None
    envelope: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """A command of ours under way for a request: for what, for whom."""

    purpose: str
    asked: Asked | None = None
    connection: int = 0
    registration: Registration | None = None
    call: CallApi | None = None
    command_id: str | None = None
    instance_id: str = ""
    generation: str = ""
    mutation: str = ""
    text: str = ""
    """What Telegram said of the call."""
