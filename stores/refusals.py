"""Refusals: when each stranger was last told that the bot is private, so that it is told once a day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import delete, select

from stores.bus_schema import REFUSALS
from stores.database import upsert
from stores.lease import require_epoch
from stores.store import Store


class Refusals(Store):
    """One row a stranger; only the latest are kept."""

    def last(self, user_ids: Iterable[int]) -> Mapping[int, int]:
        """When each of these was refused; who never was is left out."""
        wanted = list(user_ids)
        if not wanted:
            return {}
        rows = select(REFUSALS).where(REFUSALS.c.user_id.in_(wanted))
        with self.database.glance() as reader:
            return {row.user_id: row.refused_ms for row in reader.execute(rows)}

    def record(self, user_id: int, forget_before: int, epoch: int, now: int) -> None:
        """This one is told now; who was told longer ago may be told again and is forgotten."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            tx.execute(delete(REFUSALS).where(REFUSALS.c.refused_ms < forget_before))
            upsert(tx, REFUSALS, {"user_id": user_id}, {"refused_ms": now})
