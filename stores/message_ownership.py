"""Message ownership: whose a message is that names no thread, for buttons, reactions and edits.

Kept in the database, so it survives a takeover; bound to the binding key, so it survives the
instance that sent the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, bindparam, delete, insert, select, update

from stores.bus_schema import MESSAGE_OWNERSHIP
from stores.lease import require_epoch
from stores.store import Store


@dataclass(frozen=True, slots=True)
class OwnershipRecord:
    """One message and who sent it or got it."""

    chat_id: int
    message_id: int
    binding_key: str
    thread_id: int | None
    instance_id: str
    generation: str | None
    created_ms: int
    updated_ms: int

    @classmethod
    def from_row(cls, row: Any) -> OwnershipRecord:
        return cls(**row._mapping)


# Built once: building a statement takes several times as long as running it.
_THESE = select(MESSAGE_OWNERSHIP).where(
    MESSAGE_OWNERSHIP.c.chat_id == bindparam("chat_id"),
    MESSAGE_OWNERSHIP.c.message_id.in_(bindparam("message_ids", expanding=True)),
)
_FIRST = insert(MESSAGE_OWNERSHIP)
_RENEWED = (
    update(MESSAGE_OWNERSHIP)
    .where(
        MESSAGE_OWNERSHIP.c.chat_id == bindparam("chat"),
        MESSAGE_OWNERSHIP.c.message_id == bindparam("message"),
    )
    .values(
        {
            name: bindparam(f"new_{name}")
            for name in ("binding_key", "thread_id", "instance_id", "generation", "updated_ms")
        }
    )
)


class MessageOwnership(Store):
    """The owners of messages."""

    def find(self, chat_id: int, message_id: int) -> OwnershipRecord | None:
        """The owner of one message."""
        return self.find_many(chat_id, [message_id]).get(message_id)

    def find_many(self, chat_id: int, message_ids: Iterable[int]) -> Mapping[int, OwnershipRecord]:
        """The owners of several messages of one chat, by message id; the unknown are left out."""
        which = {"chat_id": chat_id, "message_ids": list(message_ids)}
        with self.database.glance() as reader:
            rows = reader.execute(_THESE, which)
            return {row.message_id: OwnershipRecord.from_row(row) for row in rows}

    def record(
        self,
        chat_id: int,
        message_id: int,
        binding_key: str,
        thread_id: int | None,
        instance_id: str,
        generation: str | None,
        epoch: int,
        now: int,
    ) -> None:
        """This message belongs to this binding; since when stays known."""
        values = {
            "binding_key": binding_key,
            "thread_id": thread_id,
            "instance_id": instance_id,
            "generation": generation,
            "updated_ms": now,
        }
        new = {f"new_{name}": value for name, value in values.items()}
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            known = tx.execute(_RENEWED, {"chat": chat_id, "message": message_id, **new}).rowcount
            if not known:
                key = {"chat_id": chat_id, "message_id": message_id, "created_ms": now}
                tx.execute(_FIRST, {**key, **values})

    def rebind(
        self, binding_key: str, instance_id: str, generation: str | None, epoch: int, now: int
    ) -> int:
        """Another instance stands behind the binding: its messages follow. Returns how many."""
        stale = and_(
            MESSAGE_OWNERSHIP.c.binding_key == binding_key,
            (MESSAGE_OWNERSHIP.c.instance_id != instance_id)
            | (MESSAGE_OWNERSHIP.c.generation.is_distinct_from(generation)),
        )
        values = {"instance_id": instance_id, "generation": generation, "updated_ms": now}
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            return tx.execute(update(MESSAGE_OWNERSHIP).where(stale).values(**values)).rowcount

    def forget_target(self, chat_id: int, thread_id: int, epoch: int) -> int:
        """The thread is gone, and its messages with it. Returns how many."""
        gone = and_(
            MESSAGE_OWNERSHIP.c.chat_id == chat_id, MESSAGE_OWNERSHIP.c.thread_id == thread_id
        )
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            return tx.execute(delete(MESSAGE_OWNERSHIP).where(gone)).rowcount

    def prune(self, older_than_ms: int, keep_newest: int, epoch: int) -> int:
        """Forget what was not touched since, and all but the newest. Returns how many."""
        stamp = MESSAGE_OWNERSHIP.c.updated_ms
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            gone = tx.execute(delete(MESSAGE_OWNERSHIP).where(stamp < older_than_ms)).rowcount
            newest = select(stamp).order_by(stamp.desc()).offset(keep_newest).limit(1)
            first_too_old = tx.execute(newest).scalar()
            if first_too_old is not None:
                gone += tx.execute(
                    delete(MESSAGE_OWNERSHIP).where(stamp <= first_too_old)
                ).rowcount
            return gone
