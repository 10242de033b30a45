"""Deliveries: what one instance accepted and has not finished; the inbox of one binding.

Written by the Session of that instance alone. A delivery is acknowledged only after `admit` has
returned, and admitting it again changes nothing. What a state means and what follows from it is
the session's to decide; its notes (`progress`) are opaque here.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, insert, select, update

from stores.database import Database
from stores.errors import DeliveryConflict, StoreDamaged, UnknownRecord
from stores.inbox_schema import DELIVERIES, METADATA
from stores.private_files import sync_directory
from stores.store import Store

PENDING, RUNNING, DONE = "pending", "running", "done"
CUT_OFF, UNCLEAR, DEAD = "cut_off", "unclear", "dead"


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """One delivery; `due_at` None means at once."""

    delivery_id: str
    source_update_id: int
    kind: str
    carrier: dict[str, Any]
    state: str
    position: int
    attempts: int
    due_at: int | None
    progress: dict[str, Any]
    admitted_ms: int
    started_ms: int | None
    finished_ms: int | None

    @classmethod
    def from_row(cls, row: Any) -> DeliveryRecord:
        values = dict(row._mapping)
        del values["digest"]
        values["carrier"] = json.loads(values["carrier"])
        values["progress"] = json.loads(values["progress"])
        return cls(**values)


# Built once: building a statement takes several times as long as running it.
_THIS = DELIVERIES.c.delivery_id == bindparam("delivery")
_ONE = select(DELIVERIES).where(_THIS)
_DIGEST = select(DELIVERIES.c.digest).where(_THIS)
_LAST = select(func.max(DELIVERIES.c.position))
_OUTSTANDING = select(DELIVERIES).where(DELIVERIES.c.state != DONE).order_by(DELIVERIES.c.position)
_ADMITTED = insert(DELIVERIES)


@functools.cache
def _change_of(names: tuple[str, ...]) -> Any:
    return update(DELIVERIES).where(_THIS).values({name: bindparam(f"new_{name}") for name in names})


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of an admitted delivery."""

    is_new: bool
    source_update_id: int


@dataclass(frozen=True, slots=True)
class OpenedInbox:
    """An inbox, and where a damaged predecessor was put, if there was one."""

    deliveries: Deliveries
    evidence: Path | None


class Deliveries(Store):
    """The deliveries of one binding."""

    def admit(
        self,
        delivery_id: str,
        source_update_id: int,
        kind: str,
        carrier: Mapping[str, Any],
        now: int,
    ) -> Admission:
        """Store a delivery unless it is there; the same id with other content is refused."""
        text = _json(carrier)
        digest = hashlib.sha256(f"{source_update_id}\n{kind}\n{text}".encode()).hexdigest()
        with self.database.transaction() as tx:
            known = tx.execute(_DIGEST, {"delivery": delivery_id}).scalar()
            if known is not None:
                if known != digest:
                    raise DeliveryConflict(f"({delivery_id})")
                return Admission(False, source_update_id)
            row = {
                "delivery_id": delivery_id,
                "source_update_id": source_update_id,
                "kind": kind,
                "carrier": text,
                "digest": digest,
                "state": PENDING,
                "position": (tx.execute(_LAST).scalar() or 0) + 1,
                "attempts": 0,
                "progress": "{}",
                "admitted_ms": now,
            }
            tx.execute(_ADMITTED, row)
            return Admission(True, source_update_id)

    def get(self, delivery_id: str) -> DeliveryRecord | None:
        """One delivery, done or not."""
        with self.database.glance() as reader:
            row = reader.execute(_ONE, {"delivery": delivery_id}).first()
        return None if row is None else DeliveryRecord.from_row(row)

    def outstanding(self) -> tuple[DeliveryRecord, ...]:
        """Every delivery that is not done, in the order of admission."""
        with self.database.glance() as reader:
            return tuple(DeliveryRecord.from_row(row) for row in reader.execute(_OUTSTANDING))

    def mark_running(self, delivery_id: str, now: int) -> None:
        """It is being worked on; found so by a later process, it was cut off."""
        self._change(delivery_id, state=RUNNING, started_ms=now)

    def mark_done(self, delivery_id: str, now: int) -> None:
        """It is finished: answered, dropped, or nothing was to be done."""
        self._change(delivery_id, state=DONE, finished_ms=now)

    def mark_cut_off(self, delivery_id: str, now: int) -> None:
        """Nobody knows how far it got; it is not repeated unasked."""
        self._change(delivery_id, state=CUT_OFF, finished_ms=now)

    def mark_unclear(self, delivery_id: str, now: int) -> None:
        """Its answer may be in the thread or not."""
        self._change(delivery_id, state=UNCLEAR, finished_ms=now)

    def mark_dead(self, delivery_id: str, now: int) -> None:
        """It failed too often and waits for its owner."""
        self._change(delivery_id, state=DEAD, finished_ms=now)

    def requeue(self, delivery_id: str, attempts: int, due_at: int | None, now: int) -> None:
        """It is to be worked on again, at its old place."""
        self._change(
            delivery_id,
            state=PENDING,
            attempts=attempts,
            due_at=due_at,
            started_ms=None,
            finished_ms=None,
        )

    def record_progress(self, delivery_id: str, progress: Mapping[str, Any], now: int) -> None:
        """Keep the session's notes on it."""
        self._change(delivery_id, progress=_json(progress))

    def edit_pending(self, delivery_id: str, text: str, now: int) -> bool:
        """Change its text while it has not started. False: it has."""
        pending = and_(DELIVERIES.c.delivery_id == delivery_id, DELIVERIES.c.state == PENDING)
        with self.database.transaction() as tx:
            known = tx.execute(select(DELIVERIES.c.carrier).where(pending)).scalar()
            if known is None:
                return False
            carrier = json.loads(known)
            part = "caption" if "caption" in carrier and "text" not in carrier else "text"
            # Marks of the old text would lie on the wrong letters of the new one.
            carrier.pop("entities" if part == "text" else "caption_entities", None)
            carrier[part] = text
            tx.execute(update(DELIVERIES).where(pending).values(carrier=_json(carrier)))
            return True

    def forget_done(self, older_than_ms: int, keep_newest: int) -> int:
        """Drop finished ones, but none of the newest: those are recognised when they come again."""
        done = DELIVERIES.c.state == DONE
        newest = select(DELIVERIES.c.position).where(done).order_by(DELIVERIES.c.position.desc())
        with self.database.transaction() as tx:
            last_kept = tx.execute(newest.offset(keep_newest).limit(1)).scalar()
            if last_kept is None:
                return 0
            old = and_(
                done,
                DELIVERIES.c.position <= last_kept,
                DELIVERIES.c.finished_ms < older_than_ms,
            )
            return tx.execute(delete(DELIVERIES).where(old)).rowcount

    def _change(self, delivery_id: str, **values: Any) -> None:
        with self.database.transaction() as tx:
            new = {f"new_{name}": value for name, value in values.items()}
            if tx.execute(_change_of(tuple(values)), {"delivery": delivery_id, **new}).rowcount == 0:
                raise UnknownRecord("(delivery)")


def open_inbox(path: Path, now: int) -> OpenedInbox:
    """Open or make the inbox; a damaged one is moved aside, whole, and a fresh one is made.

    The inbox of another binding is another file, so one damage never takes another inbox along.
    """
    database = Database(path, METADATA, "inbox")
    try:
        database.check()
        return OpenedInbox(Deliveries(database), None)
    except StoreDamaged:
        database.close()
    evidence = path.with_name(f"{path.name}.damaged-{now}")
    # The log first: a fresh file must never meet the log of the damaged one.
    for suffix in ("-wal", "-shm", ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(evidence.with_name(evidence.name + suffix))
    sync_directory(path.parent)
    database.open()
    return OpenedInbox(Deliveries(database), evidence)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
