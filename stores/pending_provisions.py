"""Pending provisions: written before a thread is created, so that none is created twice or lost.

A row without a thread id means that `createForumTopic` may or may not have happened. While one is
left for a binding, that binding gets no second try.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, insert, select, update

from stores.bus_schema import PENDING_PROVISIONS
from stores.errors import UnknownRecord
from stores.lease import require_epoch
from stores.store import Store

IN_FLIGHT, AMBIGUOUS = "in-flight", "ambiguous"


@dataclass(frozen=True, slots=True)
class ProvisionRecord:
    """One attempt to create a thread."""

    id: str
    binding_key: str
    instance_id: str
    thread_name: str | None
    slot: str | None
    chat_id: int
    thread_id: int | None
    status: str
    started_ms: int
    epoch: int

    @classmethod
    def from_row(cls, row: Any) -> ProvisionRecord:
        return cls(**row._mapping)


class PendingProvisions(Store):
    """The threads that are being created."""

    def for_binding(self, binding_key: str) -> ProvisionRecord | None:
        """The unfinished attempt of this binding."""
        return self._one(PENDING_PROVISIONS.c.binding_key == binding_key)

    def by_target(self, chat_id: int, thread_id: int) -> ProvisionRecord | None:
        """The unfinished attempt that this thread came from."""
        return self._one(
            and_(
                PENDING_PROVISIONS.c.chat_id == chat_id,
                PENDING_PROVISIONS.c.thread_id == thread_id,
            )
        )

    def all(self) -> tuple[ProvisionRecord, ...]:
        """Every unfinished attempt, oldest first."""
        with self.database.glance() as reader:
            order = select(PENDING_PROVISIONS).order_by(PENDING_PROVISIONS.c.started_ms)
            return tuple(ProvisionRecord.from_row(row) for row in reader.execute(order))

    def begin(
        self,
        id: str,
        binding_key: str,
        instance_id: str,
        thread_name: str | None,
        slot: str | None,
        chat_id: int,
        epoch: int,
        now: int,
    ) -> None:
        """A thread is about to be created. Said twice with the same id, it is one attempt."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            if tx.execute(
                select(PENDING_PROVISIONS.c.id).where(PENDING_PROVISIONS.c.id == id)
            ).first():
                return
            tx.execute(
                insert(PENDING_PROVISIONS).values(
                    id=id,
                    binding_key=binding_key,
                    instance_id=instance_id,
                    thread_name=thread_name,
                    slot=slot,
                    chat_id=chat_id,
                    status=IN_FLIGHT,
                    started_ms=now,
                    epoch=epoch,
                )
            )

    def record_target(self, id: str, thread_id: int, epoch: int) -> None:
        """Telegram has created this thread."""
        self._change(id, epoch, thread_id=thread_id)

    def mark_ambiguous(self, id: str, epoch: int) -> None:
        """Nobody knows whether the thread exists."""
        self._change(id, epoch, status=AMBIGUOUS)

    def record_orphan(
        self, id: str, instance_id: str, provision_epoch: int, thread_id: int
    ) -> bool:
        """The thread exists, but who created it was deposed meanwhile: leave word for the next.

        The only write here that a deposed leader may make: it adds evidence to its own attempt,
        named by all of id, instance and epoch, and decides nothing. False: no such attempt.
        """
        own = and_(
            PENDING_PROVISIONS.c.id == id,
            PENDING_PROVISIONS.c.instance_id == instance_id,
            PENDING_PROVISIONS.c.epoch == provision_epoch,
        )
        found = {"thread_id": thread_id, "status": AMBIGUOUS}
        with self.database.transaction() as tx:
            return tx.execute(update(PENDING_PROVISIONS).where(own).values(found)).rowcount > 0

    def finish(self, id: str, epoch: int) -> bool:
        """The attempt is over, one way or the other. False: it was over already."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            gone = delete(PENDING_PROVISIONS).where(PENDING_PROVISIONS.c.id == id)
            return tx.execute(gone).rowcount > 0

    def _one(self, where: ColumnElement[bool]) -> ProvisionRecord | None:
        with self.database.glance() as reader:
            row = reader.execute(select(PENDING_PROVISIONS).where(where)).first()
        return None if row is None else ProvisionRecord.from_row(row)

    def _change(self, id: str, epoch: int, **values: Any) -> None:
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            change = update(PENDING_PROVISIONS).where(PENDING_PROVISIONS.c.id == id)
            if tx.execute(change.values(**values)).rowcount == 0:
                raise UnknownRecord("(pending provision)")
