"""Observations: the last thing seen of a Telegram thread, kept until it has been dealt with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, delete, select

from stores.bus_schema import OBSERVATIONS
from stores.database import upsert
from stores.lease import require_epoch
from stores.store import Store


@dataclass(frozen=True, slots=True)
class ObservationRecord:
    """What was seen of one thread: `sync_status` is open, closed, deleted or unknown."""

    chat_id: int
    thread_id: int
    sync_status: str
    observed_ms: int
    instance_id: str | None
    slot: str | None
    error: str | None
    action: str | None

    @classmethod
    def from_row(cls, row: Any) -> ObservationRecord:
        return cls(**row._mapping)


class Observations(Store):
    """One row a thread; a later observation replaces the earlier one."""

    def get(self, chat_id: int, thread_id: int) -> ObservationRecord | None:
        """What was last seen of this thread."""
        with self.database.glance() as reader:
            row = reader.execute(select(OBSERVATIONS).where(_of(chat_id, thread_id))).first()
        return None if row is None else ObservationRecord.from_row(row)

    def all(self) -> tuple[ObservationRecord, ...]:
        """Everything seen and not settled, oldest first."""
        with self.database.glance() as reader:
            rows = reader.execute(select(OBSERVATIONS).order_by(OBSERVATIONS.c.observed_ms))
            return tuple(ObservationRecord.from_row(row) for row in rows)

    def record(
        self,
        chat_id: int,
        thread_id: int,
        sync_status: str,
        epoch: int,
        now: int,
        instance_id: str | None = None,
        slot: str | None = None,
        error: str | None = None,
        action: str | None = None,
    ) -> None:
        """This was seen just now."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            observe(tx, chat_id, thread_id, sync_status, now, instance_id, slot, error, action)

    def settle(self, chat_id: int, thread_id: int, epoch: int) -> None:
        """It was dealt with."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            tx.execute(delete(OBSERVATIONS).where(_of(chat_id, thread_id)))

    def forget_before(self, older_than_ms: int, epoch: int) -> int:
        """Drop what is too old to mean anything; returns how many."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            old = OBSERVATIONS.c.observed_ms < older_than_ms
            return tx.execute(delete(OBSERVATIONS).where(old)).rowcount


def observe(
    tx: Connection,
    chat_id: int,
    thread_id: int,
    sync_status: str,
    now: int,
    instance_id: str | None,
    slot: str | None,
    error: str | None,
    action: str | None,
) -> None:
    """Write an observation inside a transaction that has proved its epoch."""
    values = {
        "sync_status": sync_status,
        "observed_ms": now,
        "instance_id": instance_id,
        "slot": slot,
        "error": error,
        "action": action,
    }
    upsert(tx, OBSERVATIONS, {"chat_id": chat_id, "thread_id": thread_id}, values)


def _of(chat_id: int, thread_id: int) -> Any:
    return and_(OBSERVATIONS.c.chat_id == chat_id, OBSERVATIONS.c.thread_id == thread_id)
