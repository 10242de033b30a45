"""What one update looks like on its way into the journal, in it, and out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

PENDING, RETRY, HELD, CHOOSER = "pending", "retry", "held", "chooser"
DONE, DEAD = "done", "dead"
READY = (PENDING, RETRY)
THREAD_GONE = "thread-gone"
"""Why somebody is asked about an update: the thread that it was written in is deleted."""

WAITING = (PENDING, RETRY, HELD, CHOOSER)


class Place(Protocol):
    """Where somebody decided that an update belongs; `fate` is its first state."""

    @property
    def update_id(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def fate(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def chat_id(self) -> int | None: ...
    @property
    def thread_id(self) -> int | None: ...
    @property
    def message_id(self) -> int | None: ...
    @property
    def from_id(self) -> int | None: ...
    @property
    def binding_key(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class UpdateRecord:
    """One update in the journal."""

    update_id: int
    kind: str
    state: str
    reason: str
    chat_id: int | None
    thread_id: int | None
    message_id: int | None
    from_id: int | None
    binding_key: str | None
    attempts: int
    next_retry_ms: int | None
    failure_class: str | None
    asked_ms: int | None
    received_ms: int
    updated_ms: int
    payload: str

    @classmethod
    def from_row(cls, row: Any) -> UpdateRecord:
        return cls(**row._mapping)

    @property
    def update(self) -> dict[str, Any]:
        """The update as Telegram sent it."""
        return json.loads(self.payload)

    @property
    def carrier(self) -> dict[str, Any]:
        """The message, callback query or reaction in it."""
        return self.update.get(self.kind) or {}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A binding with updates that wait for its process, seen by its newest one."""

    binding_key: str
    count: int
    oldest_ms: int
    chat_id: int | None
    thread_id: int | None
    noticed: bool
    """Whether the thread was told that nobody is there."""


@dataclass(frozen=True, slots=True)
class AdmitResult:
    """The ids of a batch: those that are new, and those that were there with the same content."""

    new: tuple[int, ...]
    duplicates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IngressCounts:
    """How many updates are where."""

    pending: int
    retrying: int
    queued: int
    """Kept back: they wait for a choice or for a decision."""
    dead: int
    choosing: int = 0
    """Those of the queued whose thread somebody has to choose."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Whose updates the journal holds and how far it reaches."""

    cursor: int | None
    bot_id: int | None
    token_fingerprint: str | None
    highest_epoch: int


def canonical(update: Mapping[str, Any]) -> str:
    """One text for one content, whatever the order of its members."""
    return json.dumps(update, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
