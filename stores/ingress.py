"""The intake journal: every update that Telegram was told we have, until it is settled.

A batch and its cursor are one transaction, so an offset is never confirmed for an update that is
not here. The highest epoch that ever wrote is kept in this file, and a leader with a lower one is
refused: `bus.db` is another file and cannot be compared in the same transaction. Where an update
belongs and when it is tried again is decided by others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, delete, func, select, update

from stores import ingress_statements as sql
from stores.database import upsert
from stores.errors import (
    CapacityReached,
    Deposed,
    IdentityMismatch,
    IngressConflict,
)
from stores.ingress_schema import INTAKE, NOTICES, UPDATES
from stores.store import Store
from stores.updates import (
    CHOOSER,
    DEAD,
    DONE,
    HELD,
    PENDING,
    READY,
    RETRY,
    THREAD_GONE,
    WAITING,
    AdmitResult,
    IngressCounts,
    Intake,
    Place,
    UpdateRecord,
    Waiting,
    canonical,
)

CAPACITY = 10_000
_FRESH = Intake(None, None, None, 0)
_OUTSIDE = {"thread_id": None, "reason": THREAD_GONE}


class Ingress(Store):
    """The updates of one bot."""

    # -- intake --------------------------------------------------------------------------------

    def intake(self) -> Intake:
        """Whose updates these are, and the cursor."""
        with self.database.glance() as reader:
            return _intake(reader)

    def cursor(self) -> int | None:
        """The last update id of the journal; polling goes on behind it."""
        return self.intake().cursor

    def received_ms(self, update_id: int | None) -> int | None:
        """When this update came; None when it is not here any more, or never was."""
        if update_id is None:
            return None
        with self.database.glance() as reader:
            return reader.execute(sql.RECEIVED, {"update_id": update_id}).scalar()

    def bind_identity(self, bot_id: int, token_fingerprint: str, epoch: int) -> None:
        """These are the updates of this bot; another token of the same bot is fine.

        Another bot is refused while updates wait. Without any, its offsets begin anew.
        """
        with self.database.transaction() as tx:
            known = _reign(tx, epoch)
            values: dict[str, Any] = {"bot_id": bot_id, "token_fingerprint": token_fingerprint}
            if known.bot_id not in (None, bot_id):
                if _count_unsettled(tx):
                    raise IdentityMismatch()
                tx.execute(delete(UPDATES))
                values["cursor"] = None
            tx.execute(update(INTAKE).values(**values))

    def admit(
        self,
        batch: Sequence[tuple[Place, Mapping[str, Any]]],
        cursor: int,
        epoch: int,
        now: int,
    ) -> AdmitResult:
        """Journal a batch with its cursor: all of it or, with an error, nothing.

        An update that is here with other content raises IngressConflict, whose `update_ids` may
        be left out of the next try.
        """
        with self.database.transaction() as tx:
            _reign(tx, epoch)
            new, duplicates = _sorted_out(tx, batch, now)
            if new and _count_unsettled(tx) + len(new) > CAPACITY:
                raise CapacityReached(f"({CAPACITY})")
            if new:
                tx.execute(sql.ADMITTED, list(new.values()))
            tx.execute(sql.CURSOR, {"cursor": cursor})
            return AdmitResult(tuple(new), tuple(duplicates))

    # -- reading -------------------------------------------------------------------------------

    def get(self, update_id: int) -> UpdateRecord | None:
        """One update."""
        return self.by_ids([update_id]).get(update_id)

    def by_ids(self, update_ids: Collection[int]) -> Mapping[int, UpdateRecord]:
        """Several updates by their id; the unknown are left out."""
        rows = self._rows(sql.BY_IDS, update_ids=list(update_ids))
        return {row.update_id: row for row in rows}

    def due(self, now: int, limit: int = 64) -> tuple[UpdateRecord, ...]:
        """What may be delivered now, in order of arrival."""
        return self._rows(sql.DUE, now=now, at_most=limit)

    def oldest_due(self, binding_keys: Iterable[str], now: int) -> tuple[UpdateRecord, ...]:
        """The first deliverable update of each of these bindings, in order of arrival."""
        with self.database.read() as reader:
            found = [
                reader.execute(sql.OLDEST_DUE, {"binding_key": binding_key, "now": now}).first()
                for binding_key in binding_keys
            ]
        records = [UpdateRecord.from_row(row) for row in found if row is not None]
        return tuple(sorted(records, key=lambda record: record.update_id))

    def next_retry_ms(self) -> int | None:
        """When the earliest retry becomes due."""
        with self.database.glance() as reader:
            return reader.execute(sql.NEXT_RETRY).scalar()

    def for_binding(self, binding_key: str) -> tuple[UpdateRecord, ...]:
        """Everything unsettled of one binding, in order of arrival."""
        return self._rows(sql.OF_BINDING, binding_key=binding_key)

    def waiting(self) -> tuple[Waiting, ...]:
        """Every binding that has deliverable updates, whether or not its process is there."""
        with self.database.glance() as reader:
            return tuple(
                Waiting(
                    row.binding_key,
                    row.amount,
                    row.oldest_ms,
                    row.chat_id,
                    row.thread_id,
                    row.noticed_ms is not None,
                )
                for row in reader.execute(sql.WAITING_BINDINGS)
            )

    def noticed(self) -> frozenset[str]:
        """The bindings whose thread was told that nobody is there."""
        with self.database.glance() as reader:
            return frozenset(reader.execute(select(NOTICES.c.binding_key)).scalars())

    def unasked(self, limit: int = 64) -> tuple[UpdateRecord, ...]:
        """What waits for a choice that nobody was asked for yet."""
        return self._rows(sql.UNASKED, at_most=limit)

    def dead(self, limit: int = 64) -> tuple[UpdateRecord, ...]:
        """What was given up and waits for somebody to look."""
        return self._rows(sql.GIVEN_UP, at_most=limit)

    def message_binding(self, chat_id: int, message_id: int) -> str | None:
        """The binding that a message of the owner went to."""
        return self.message_bindings(chat_id, [message_id]).get(message_id)

    def message_bindings(self, chat_id: int, message_ids: Collection[int]) -> Mapping[int, str]:
        """The same for several messages of one chat."""
        which = {"chat_id": chat_id, "message_ids": list(message_ids)}
        with self.database.glance() as reader:
            # The first arrival is read last and stands: the message itself, not a later press.
            return {row.message_id: row.binding_key for row in reader.execute(sql.BINDINGS_OF_MESSAGES, which)}

    def counts(self) -> IngressCounts:
        """How many are where, for `status`."""
        by_state = select(UPDATES.c.state, func.count()).group_by(UPDATES.c.state)
        with self.database.glance() as reader:
            found = {state: count for state, count in reader.execute(by_state)}
        return IngressCounts(
            pending=found.get(PENDING, 0),
            retrying=found.get(RETRY, 0),
            queued=found.get(HELD, 0) + found.get(CHOOSER, 0),
            dead=found.get(DEAD, 0),
            choosing=found.get(CHOOSER, 0),
        )

    # -- settling: each is safe to say twice, and False when it was too late -------------------

    def assign(
        self, update_id: int, binding_key: str, epoch: int, now: int | None = None
    ) -> bool:
        """It belongs to this binding and may be delivered there."""
        values = {"state": PENDING, "reason": "", "binding_key": binding_key}
        return self._move(update_id, WAITING, values, epoch, now)

    def settle_done(self, update_id: int, epoch: int, now: int | None = None) -> bool:
        """Its recipient has it, or it was dropped on request."""
        with self.database.transaction() as tx:
            if not self._move(update_id, (*WAITING, DEAD), {"state": DONE}, epoch, now):
                return False
            # What was delivered ends the absence; the next one is told of again.
            tx.execute(sql.END_OF_ABSENCE, {"settled_id": update_id})
            return True

    def settle_retry(
        self,
        update_id: int,
        failure_class: str,
        next_retry_ms: int,
        epoch: int,
        now: int | None = None,
    ) -> bool:
        """It failed and is tried again later."""
        values = {
            "state": RETRY,
            "attempts": sql.ONE_MORE,
            "failure_class": failure_class,
            "next_retry_ms": next_retry_ms,
        }
        return self._move(update_id, READY, values, epoch, now)

    def settle_dead(
        self, update_id: int, failure_class: str, epoch: int, now: int | None = None
    ) -> bool:
        """It is given up, visibly."""
        values = {
            "state": DEAD,
            "attempts": sql.ONE_MORE,
            "failure_class": failure_class,
        }
        return self._move(update_id, WAITING, values, epoch, now)

    def revive(self, update_id: int, epoch: int, now: int | None = None) -> bool:
        """Somebody wants a dead one tried again, from the first attempt on."""
        values = {"state": PENDING, "attempts": 0, "failure_class": None, "next_retry_ms": None}
        return self._move(update_id, (DEAD,), values, epoch, now)

    def drop_waiting(self, binding_key: str, epoch: int, now: int) -> int:
        """Nothing of what waits for this binding is delivered; how much that was."""
        return self._move_waiting(binding_key, None, {"state": DONE, "reason": "closed"}, epoch, now)

    def ask_about_waiting(self, binding_key: str, epoch: int, now: int) -> int:
        """What waits for this binding has no thread any more: of messages their owner says whose they are."""
        values = {"state": CHOOSER, **_OUTSIDE, "binding_key": None, "asked_ms": None}
        asked = self._move_waiting(binding_key, "message", values, epoch, now)
        return asked + self.drop_waiting(binding_key, epoch, now)

    def ask_outside(self, update_id: int, epoch: int, now: int) -> bool:
        """The question about it found no thread: it is asked outside of threads."""
        return self._move(update_id, (CHOOSER,), _OUTSIDE, epoch, now)

    def _move_waiting(
        self, binding_key: str, kind: str | None, values: Mapping[str, Any], epoch: int, now: int
    ) -> int:
        waiting = and_(UPDATES.c.binding_key == binding_key, UPDATES.c.state.in_(READY))
        which = waiting if kind is None else and_(waiting, UPDATES.c.kind == kind)
        with self.database.transaction() as tx:
            _reign(tx, epoch)
            change = update(UPDATES).where(which).values(**values, updated_ms=now)
            return tx.execute(change).rowcount

    def mark_asked(self, update_id: int, epoch: int, now: int) -> bool:
        """The question about it was sent, or may have been."""
        return self._move(update_id, (CHOOSER,), {"asked_ms": now}, epoch, now)

    def mark_noticed(self, binding_key: str, epoch: int, now: int) -> None:
        """The thread is told that nobody is there; not again before something was delivered."""
        with self.database.transaction() as tx:
            _reign(tx, epoch)
            upsert(tx, NOTICES, {"binding_key": binding_key}, {"noticed_ms": now})

    def forget_notice(self, binding_key: str, epoch: int) -> None:
        """Somebody is there again: the next absence is told anew."""
        with self.database.transaction() as tx:
            _reign(tx, epoch)
            tx.execute(delete(NOTICES).where(NOTICES.c.binding_key == binding_key))

    def forget_done(self, older_than_ms: int, keep_newest: int, epoch: int) -> int:
        """Drop settled updates, but none of the newest: they tell whose a message was."""
        done = UPDATES.c.state == DONE
        with self.database.transaction() as tx:
            _reign(tx, epoch)
            newest = select(UPDATES.c.update_id).where(done).order_by(UPDATES.c.update_id.desc())
            last_kept = tx.execute(newest.offset(keep_newest).limit(1)).scalar()
            if last_kept is None:
                return 0
            old = and_(
                done, UPDATES.c.update_id <= last_kept, UPDATES.c.updated_ms < older_than_ms
            )
            return tx.execute(delete(UPDATES).where(old)).rowcount

    # -- how -----------------------------------------------------------------------------------

    def _rows(self, wanted: Any, **which: Any) -> tuple[UpdateRecord, ...]:
        with self.database.glance() as reader:
            return tuple(UpdateRecord.from_row(row) for row in reader.execute(wanted, which))

    def _move(
        self,
        update_id: int,
        states: Collection[str],
        values: Mapping[str, Any],
        epoch: int,
        now: int | None,
    ) -> bool:
        stamped = dict(values) if now is None else {**values, "updated_ms": now}
        is_attempt = stamped.get("attempts") is sql.ONE_MORE
        if is_attempt:
            del stamped["attempts"]
        move = sql.move_of(tuple(states), tuple(stamped), is_attempt)
        which = {f"new_{name}": value for name, value in stamped.items()}
        with self.database.transaction() as tx:
            _reign(tx, epoch)
            return tx.execute(move, {"moved_id": update_id, **which}).rowcount > 0


def _intake(connection: Connection) -> Intake:
    row = connection.execute(sql.OWNER_AND_CURSOR).first()
    if row is None:
        return _FRESH
    return Intake(row.cursor, row.bot_id, row.token_fingerprint, row.highest_epoch)


def _reign(tx: Connection, epoch: int) -> Intake:
    """Refuse an epoch that was overtaken; remember the highest."""
    known = _intake(tx)
    if epoch < known.highest_epoch:
        raise Deposed()
    if epoch > known.highest_epoch:
        upsert(tx, INTAKE, {"id": 1}, {"highest_epoch": epoch})
    return known


def _count_unsettled(tx: Connection) -> int:
    return tx.execute(sql.UNSETTLED).scalar_one()


def _sorted_out(
    tx: Connection, batch: Sequence[tuple[Place, Mapping[str, Any]]], now: int
) -> tuple[dict[int, dict[str, Any]], list[int]]:
    ids = [place.update_id for place, _ in batch]
    seen = {row.update_id: row.payload for row in tx.execute(sql.STORED, {"update_ids": ids})}
    new: dict[int, dict[str, Any]] = {}
    duplicates: list[int] = []
    conflicts: list[int] = []
    for place, content in batch:
        payload = canonical(content)
        if place.update_id not in seen:
            seen[place.update_id] = payload
            new[place.update_id] = _as_row(place, payload, now)
        elif seen[place.update_id] == payload:
            duplicates.append(place.update_id)
        else:
            conflicts.append(place.update_id)
    if conflicts:
        raise IngressConflict(conflicts)
    return new, duplicates


def _as_row(place: Place, payload: str, now: int) -> dict[str, Any]:
    return {
        "update_id": place.update_id,
        "kind": place.kind,
        "state": place.fate,
        "reason": place.reason,
        "chat_id": place.chat_id,
        "thread_id": place.thread_id,
        "message_id": place.message_id,
        "from_id": place.from_id,
        "binding_key": place.binding_key,
        "attempts": 0,
        "received_ms": now,
        "updated_ms": now,
        "payload": payload,
    }
