"""Reservations: a slot letter kept off the market for a while. A guard against collisions only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, delete, insert, or_, select

from stores.bus_schema import RESERVATIONS
from stores.lease import require_epoch
from stores.store import Store

LIFETIME_MS = 900_000


@dataclass(frozen=True, slots=True)
class ReservationRecord:
    """A thread and its letter, reserved until `expires_ms`."""

    chat_id: int
    thread_id: int
    slot: str
    reason: str
    instance_id: str | None
    created_ms: int
    updated_ms: int
    expires_ms: int

    @classmethod
    def from_row(cls, row: Any) -> ReservationRecord:
        return cls(**row._mapping)


class Reservations(Store):
    """Reserved letters; never an authority for routing."""

    def live(self, now: int) -> tuple[ReservationRecord, ...]:
        """Those that have not expired."""
        unexpired = select(RESERVATIONS).where(RESERVATIONS.c.expires_ms > now)
        with self.database.glance() as reader:
            rows = reader.execute(unexpired.order_by(RESERVATIONS.c.slot))
            return tuple(ReservationRecord.from_row(row) for row in rows)

    def reserve(
        self,
        chat_id: int,
        thread_id: int,
        slot: str,
        reason: str,
        epoch: int,
        now: int,
        instance_id: str | None = None,
        lifetime_ms: int = LIFETIME_MS,
    ) -> None:
        """Keep the letter; an older reservation of the letter or the thread gives way."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            older = or_(RESERVATIONS.c.slot == slot, _of(chat_id, thread_id))
            expired = RESERVATIONS.c.expires_ms <= now
            tx.execute(delete(RESERVATIONS).where(or_(older, expired)))
            tx.execute(
                insert(RESERVATIONS).values(
                    chat_id=chat_id,
                    thread_id=thread_id,
                    slot=slot,
                    reason=reason,
                    instance_id=instance_id,
                    created_ms=now,
                    updated_ms=now,
                    expires_ms=now + lifetime_ms,
                )
            )

    def cancel(self, chat_id: int, thread_id: int, epoch: int) -> None:
        """The letter is free again."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            tx.execute(delete(RESERVATIONS).where(_of(chat_id, thread_id)))


def _of(chat_id: int, thread_id: int) -> Any:
    return and_(RESERVATIONS.c.chat_id == chat_id, RESERVATIONS.c.thread_id == thread_id)
