"""Remembered names: what a binding was called, for when its thread has to be made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, select

from stores.bus_schema import REMEMBERED_NAMES
from stores.database import upsert
from stores.lease import require_epoch
from stores.store import Store


@dataclass(frozen=True, slots=True)
class RememberedName:
    """Name and letter of a binding when it was last written."""

    binding_key: str
    thread_name: str | None
    slot: str | None
    updated_ms: int

    @classmethod
    def from_row(cls, row: Any) -> RememberedName:
        return cls(**row._mapping)


class RememberedNames(Store):
    """The memory that `Bindings` leaves behind; it writes it by itself."""

    def get(self, binding_key: str) -> RememberedName | None:
        """What a binding that exists or existed is called."""
        wanted = REMEMBERED_NAMES.c.binding_key == binding_key
        with self.database.glance() as reader:
            row = reader.execute(select(REMEMBERED_NAMES).where(wanted)).first()
        return None if row is None else RememberedName.from_row(row)

    def all(self) -> tuple[RememberedName, ...]:
        """Every name there is, by binding key."""
        order = select(REMEMBERED_NAMES).order_by(REMEMBERED_NAMES.c.binding_key)
        with self.database.glance() as reader:
            return tuple(RememberedName.from_row(row) for row in reader.execute(order))

    def forget(self, binding_key: str, epoch: int) -> None:
        """The binding is nobody's any more."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            tx.execute(
                delete(REMEMBERED_NAMES).where(REMEMBERED_NAMES.c.binding_key == binding_key)
            )


def remember_name(
    tx: Connection, binding_key: str, thread_name: str | None, slot: str | None, now: int
) -> None:
    """Note name and letter inside a transaction that has proved its epoch; None keeps the old."""
    known = {"thread_name": thread_name, "slot": slot}
    values = {name: value for name, value in known.items() if value is not None}
    if values:
        values_now = {**values, "updated_ms": now}
        upsert(tx, REMEMBERED_NAMES, {"binding_key": binding_key}, values_now)
