"""Pending cleanups: written before a thread is deleted, so that a successor settles them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select

from stores.bus_schema import PENDING_CLEANUPS
from stores.database import upsert
from stores.lease import require_epoch
from stores.store import Store


@dataclass(frozen=True, slots=True)
class CleanupRecord:
    """The intent to delete the thread of one registration of one instance."""

    id: str
    binding_key: str | None
    instance_id: str
    generation: str
    chat_id: int
    thread_id: int
    requested_ms: int
    epoch: int

    @classmethod
    def from_row(cls, row: Any) -> CleanupRecord:
        return cls(**row._mapping)


def cleanup_id(instance_id: str, generation: str, chat_id: int, thread_id: int) -> str:
    """The id of an intent: the same wish has the same id."""
    return f"cleanup:{instance_id}:{generation}:{chat_id}:{thread_id}"


class PendingCleanups(Store):
    """The threads that are to be deleted."""

    def all(self) -> tuple[CleanupRecord, ...]:
        """Every intent, oldest first."""
        with self.database.glance() as reader:
            order = select(PENDING_CLEANUPS).order_by(PENDING_CLEANUPS.c.requested_ms)
            return tuple(CleanupRecord.from_row(row) for row in reader.execute(order))

    def request(
        self,
        instance_id: str,
        generation: str,
        chat_id: int,
        thread_id: int,
        epoch: int,
        now: int,
        binding_key: str | None = None,
    ) -> str:
        """The thread is about to be deleted; returns the id of the intent."""
        id = cleanup_id(instance_id, generation, chat_id, thread_id)
        values = {
            "binding_key": binding_key,
            "instance_id": instance_id,
            "generation": generation,
            "chat_id": chat_id,
            "thread_id": thread_id,
            "requested_ms": now,
            "epoch": epoch,
        }
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            upsert(tx, PENDING_CLEANUPS, {"id": id}, values)
        return id

    def finish(self, id: str, epoch: int) -> bool:
        """Deleted, or cancelled. False: it was settled already."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            gone = delete(PENDING_CLEANUPS).where(PENDING_CLEANUPS.c.id == id)
            return tx.execute(gone).rowcount > 0
