"""Pairing: the one-time code that makes its sender the owner, in one row of `bus.db`.

Whoever shows the code opens the row; the inbox of the leader counts wrong codes and settles it. What a
code is worth, and when a new one is due, is decided by others. A settled row stays until the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select, update

from stores.bus_schema import PAIRING
from stores.database import upsert
from stores.lease import require_epoch
from stores.store import Store


@dataclass(frozen=True, slots=True)
class PairingRecord:
    """One pairing; `owner_id` is None until somebody sent the code."""

    code: str = field(repr=False)
    opened_by: str
    wanted_chat_id: int | None
    expires_ms: int
    tries: int = 0
    owner_id: int | None = None
    owner_name: str | None = None
    chat_id: int | None = None
    paired_ms: int | None = None

    @classmethod
    def from_row(cls, row: Any) -> PairingRecord:
        values = dict(row._mapping)
        del values["id"]
        return cls(**values)


class Pairing(Store):
    """The newest pairing of one bot."""

    def read(self) -> PairingRecord | None:
        """The row as it is; None when nobody ever paired here."""
        with self.database.glance() as reader:
            return _read(reader)

    def open(
        self, code: str, opened_by: str, wanted_chat_id: int | None, expires_ms: int
    ) -> None:
        """Replace whatever is there by a fresh code."""
        record = {
            "code": code,
            "opened_by": opened_by,
            "wanted_chat_id": wanted_chat_id,
            "expires_ms": expires_ms,
            "tries": 0,
            "owner_id": None,
            "owner_name": None,
            "chat_id": None,
            "paired_ms": None,
        }
        with self.database.transaction() as tx:
            upsert(tx, PAIRING, {"id": 1}, record)

    def withdraw(self, opened_by: str, now: int) -> None:
        """Let the code of this one be worth nothing from now on; a settled row stays."""
        with self.database.transaction() as tx:
            tx.execute(
                update(PAIRING)
                .where(PAIRING.c.opened_by == opened_by, PAIRING.c.owner_id.is_(None))
                .values(expires_ms=now)
            )

    def count_try(self, code: str, epoch: int) -> None:
        """Somebody sent a wrong code while this one was the right one."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            tx.execute(
                update(PAIRING)
                .where(PAIRING.c.code == code)
                .values(tries=PAIRING.c.tries + 1)
            )

    def record_paired(
        self, code: str, owner_id: int, owner_name: str, chat_id: int, epoch: int, now: int
    ) -> None:
        """Somebody sent the code; the first one counts."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            tx.execute(
                update(PAIRING)
                .where(PAIRING.c.code == code, PAIRING.c.owner_id.is_(None))
                .values(owner_id=owner_id, owner_name=owner_name, chat_id=chat_id, paired_ms=now)
            )


def _read(connection: Connection) -> PairingRecord | None:
    row = connection.execute(select(PAIRING).where(PAIRING.c.id == 1)).first()
    return None if row is None else PairingRecord.from_row(row)
