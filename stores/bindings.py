"""Bindings: which thread belongs to which durable identity, under which slot letter and name.

One target has one binding, one slot has one binding, and a live instance has one target. Every
write is a leader's: it names its epoch, and is refused in its own transaction when that epoch does
not reign any more. A binding that goes away leaves its name and letter behind in
`remembered_names`. Nothing here creates or deletes a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, or_, select, update

from stores.bus_schema import BINDINGS, PENDING_PROVISIONS
from stores.bus_settings import put_last_slot
from stores.errors import SlotTaken, UnknownRecord
from stores.lease import require_epoch
from stores.observations import observe
from stores.remembered_names import remember_name
from stores.store import Store

STARTING, ACTIVE = "starting", "active"


@dataclass(frozen=True, slots=True)
class BindingRecord:
    """One binding; `thread_id` is None before its thread exists, and in classic mode."""

    binding_key: str
    chat_id: int
    thread_id: int | None
    slot: str | None
    thread_name: str | None
    status: str
    instance_id: str | None
    inactive_since_ms: int | None
    created_ms: int
    updated_ms: int
    last_error: str | None
    sync_status: str
    last_sync_observed_ms: int | None
    last_sync_error: str | None
    last_action: str | None

    @classmethod
    def from_row(cls, row: Any) -> BindingRecord:
        return cls(**row._mapping)


class Bindings(Store):
    """The bindings of one bot."""

    # -- reading -------------------------------------------------------------------------------

    def get(self, binding_key: str) -> BindingRecord | None:
        """The binding of this key."""
        return self._one(BINDINGS.c.binding_key == binding_key)

    def by_target(self, chat_id: int, thread_id: int | None) -> BindingRecord | None:
        """The binding that holds this thread; without a thread id, the one of the plain chat."""
        return self._one(_holds(chat_id, thread_id))

    def by_instance(self, instance_id: str) -> BindingRecord | None:
        """The binding that this instance holds."""
        return self._one(BINDINGS.c.instance_id == instance_id)

    def all(self) -> tuple[BindingRecord, ...]:
        """Every binding, oldest first."""
        order = select(BINDINGS).order_by(BINDINGS.c.created_ms, BINDINGS.c.binding_key)
        with self.database.glance() as reader:
            return tuple(BindingRecord.from_row(row) for row in reader.execute(order))

    # -- a thread comes ------------------------------------------------------------------------

    def record_starting(
        self,
        binding_key: str,
        chat_id: int,
        thread_id: int | None,
        slot: str | None,
        thread_name: str | None,
        instance_id: str,
        epoch: int,
        now: int,
    ) -> None:
        """The thread exists and is not announced yet."""
        values = {"status": STARTING, "instance_id": instance_id, "thread_id": thread_id}
        self._write(binding_key, chat_id, slot, thread_name, values, epoch, now)

    def record_active(
        self,
        binding_key: str,
        chat_id: int,
        thread_id: int | None,
        slot: str | None,
        thread_name: str | None,
        instance_id: str,
        epoch: int,
        now: int,
        action: str | None = None,
    ) -> None:
        """The thread is good and this instance stands behind it; earlier errors are over."""
        values = _recovered(now, action) | {
            "status": ACTIVE,
            "instance_id": instance_id,
            "thread_id": thread_id,
        }
        self._write(binding_key, chat_id, slot, thread_name, values, epoch, now)

    # -- a thread changes or goes --------------------------------------------------------------

    def preserve_after_death(
        self, binding_key: str, instance_id: str, epoch: int, now: int
    ) -> bool:
        """The process is gone, the thread stays: the row keeps letter and name for its return.

        False when another instance stands behind it already: then nothing is written.
        """
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            where = and_(
                BINDINGS.c.binding_key == binding_key, BINDINGS.c.instance_id == instance_id
            )
            values = {"instance_id": None, "inactive_since_ms": now}
            return _change(tx, where, now, values, missing_ok=True)

    def mark_target_gone(
        self,
        chat_id: int,
        thread_id: int,
        epoch: int,
        now: int,
        sync_status: str = "unknown",
        error: str | None = None,
    ) -> bool:
        """Telegram has no such thread any more (`deleted`), or it cannot be used.

        One observation replaces earlier ones of the thread; the binding goes, its name stays.
        With `deleted`, a provision that was to end in this thread goes too. False: not ours.
        """
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            row = tx.execute(select(BINDINGS).where(_holds(chat_id, thread_id))).first()
            dropped = _drop(tx, _holds(chat_id, thread_id), now)
            if sync_status == "deleted":
                gone = and_(
                    PENDING_PROVISIONS.c.chat_id == chat_id,
                    PENDING_PROVISIONS.c.thread_id == thread_id,
                )
                dropped += tx.execute(delete(PENDING_PROVISIONS).where(gone)).rowcount
            if not dropped:
                return False
            observe(
                tx,
                chat_id,
                thread_id,
                sync_status,
                now,
                instance_id=None if row is None else row.instance_id,
                slot=None if row is None else row.slot,
                error=error,
                action="mark-stale",
            )
            return True

    def rename(self, binding_key: str, thread_name: str, epoch: int, now: int) -> None:
        """The thread has another name."""
        self._change_key(binding_key, epoch, now, {"thread_name": thread_name})

    def give_up_slot(self, binding_key: str, epoch: int, now: int) -> None:
        """Free the letter of a binding for another one; its thread stays."""
        self._change_key(binding_key, epoch, now, {"slot": None})

    def remove(self, binding_key: str, epoch: int, now: int) -> bool:
        """Forget whose the thread is. False: there was no such binding."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            return _drop(tx, BINDINGS.c.binding_key == binding_key, now) > 0

    # -- how -----------------------------------------------------------------------------------

    def _one(self, where: Any) -> BindingRecord | None:
        with self.database.glance() as reader:
            row = reader.execute(select(BINDINGS).where(where)).first()
        return None if row is None else BindingRecord.from_row(row)

    def _change_key(
        self, binding_key: str, epoch: int, now: int, values: Mapping[str, Any]
    ) -> None:
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            _change(tx, BINDINGS.c.binding_key == binding_key, now, values)

    def _write(
        self,
        binding_key: str,
        chat_id: int,
        slot: str | None,
        thread_name: str | None,
        values: Mapping[str, Any],
        epoch: int,
        now: int,
    ) -> None:
        target = (chat_id, values["thread_id"])
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            mine = BINDINGS.c.binding_key == binding_key
            before = tx.execute(select(BINDINGS).where(mine)).first()
            if target[1] is not None:
                _drop(tx, and_(_holds(*target), BINDINGS.c.binding_key != binding_key), now)
            _drop(tx, _same_instance_elsewhere(binding_key, values["instance_id"]), now)
            _refuse_taken_slot(tx, binding_key, slot)
            row = {"chat_id": chat_id, "slot": slot, "thread_name": thread_name, **values}
            if before is None:
                row = {"sync_status": "unknown"} | row
                tx.execute(
                    insert(BINDINGS).values(
                        binding_key=binding_key, created_ms=now, updated_ms=now, **row
                    )
                )
            else:
                tx.execute(update(BINDINGS).where(mine).values(updated_ms=now, **row))
            remember_name(tx, binding_key, thread_name, slot, now)
            moved = before is None or (before.chat_id, before.thread_id) != target
            if moved and slot is not None:
                put_last_slot(tx, slot)


def _holds(chat_id: int, thread_id: int | None) -> Any:
    thread = BINDINGS.c.thread_id
    same = thread.is_(None) if thread_id is None else thread == thread_id
    return and_(BINDINGS.c.chat_id == chat_id, same)


def _same_instance_elsewhere(binding_key: str, instance_id: str) -> Any:
    return and_(
        BINDINGS.c.instance_id == instance_id,
        BINDINGS.c.binding_key != binding_key,
        or_(BINDINGS.c.status == STARTING, BINDINGS.c.status == ACTIVE),
    )


def _recovered(observed_ms: int | None, action: str | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        "inactive_since_ms": None,
        "last_error": None,
        "last_sync_error": None,
        "sync_status": "open",
        "last_action": action,
    }
    return values if observed_ms is None else values | {"last_sync_observed_ms": observed_ms}


def _refuse_taken_slot(tx: Connection, binding_key: str, slot: str | None) -> None:
    if slot is None:
        return
    holder = select(BINDINGS.c.binding_key).where(BINDINGS.c.slot == slot)
    taken_by = tx.execute(holder).scalar()
    if taken_by not in (None, binding_key):
        raise SlotTaken(f"({slot})")


def _change(
    tx: Connection, where: Any, now: int, values: Mapping[str, Any], missing_ok: bool = False
) -> bool:
    row = tx.execute(select(BINDINGS).where(where)).first()
    if row is None:
        if missing_ok:
            return False
        raise UnknownRecord("(binding)")
    same = BINDINGS.c.binding_key == row.binding_key
    tx.execute(update(BINDINGS).where(same).values(updated_ms=now, **values))
    slot = values.get("slot", row.slot) or row.slot
    remember_name(tx, row.binding_key, values.get("thread_name", row.thread_name), slot, now)
    return True


def _drop(tx: Connection, where: Any, now: int) -> int:
    rows = tx.execute(select(BINDINGS).where(where)).all()
    for row in rows:
        remember_name(tx, row.binding_key, row.thread_name, row.slot, now)
        tx.execute(delete(BINDINGS).where(BINDINGS.c.binding_key == row.binding_key))
    return len(rows)
