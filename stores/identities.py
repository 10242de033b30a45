"""Identities: who a process is, so that the same command line gets its thread back.

The base id is made of bot, home, directory and name. Several processes of one base are told apart
by an ordinal; each takes the lowest one whose process does not live, in one transaction, so two
at once never get the same. Written by run.py of every instance, leader or not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, select, update

from stores.bus_schema import IDENTITIES
from stores.database import upsert
from stores.lease import Owner
from stores.process_birth import Liveness
from stores.store import Store


@dataclass(frozen=True, slots=True)
class IdentityRecord:
    """One identity and the process that holds or last held it."""

    binding_key: str
    base_id: str
    ordinal: int
    program: str | None
    directory: str | None
    name: str | None
    command: str | None
    owner: Owner | None
    claimed_ms: int
    released_ms: int | None
    farewell_ms: int | None = None
    """When the thread was told, by the process itself, that it ends."""

    away_since_ms: int | None = None
    """Of a process that just came back: when the one before it ended, 0 where nobody knows."""

    @property
    def shown_number(self) -> int:
        """How people count: the second process of a kind is number 2."""
        return self.ordinal + 1

    def held_by(self, instance_id: str) -> bool:
        """Whether this instance has it, or had it when it died."""
        return self.owner is not None and self.owner.instance_id == instance_id

    @classmethod
    def from_row(cls, row: Any) -> IdentityRecord:
        return cls(
            row.binding_key,
            row.base_id,
            row.ordinal,
            row.program,
            row.directory,
            row.name,
            row.command,
            _owner(row),
            row.claimed_ms,
            row.released_ms,
            row.farewell_ms,
            row.away_since_ms,
        )


def base_identity(bot_id: int | str, home: str, directory: str, name: str) -> str:
    """The base id of a command line: the same four always give the same text."""
    # A separator that no path or name can hold keeps ("a", "bc") and ("ab", "c") apart.
    text = "\0".join((str(bot_id), home, directory, name))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def binding_key_of(base_id: str, ordinal: int) -> str:
    """The binding key of an identity."""
    return f"manual:{base_id}" if ordinal == 0 else f"manual:{base_id}-{ordinal}"


class Identities(Store):
    """The claims of who is who."""

    def get(self, binding_key: str) -> IdentityRecord | None:
        """The identity behind a binding."""
        wanted = select(IDENTITIES).where(IDENTITIES.c.binding_key == binding_key)
        with self.database.glance() as reader:
            row = reader.execute(wanted).first()
        return None if row is None else IdentityRecord.from_row(row)

    def all(self) -> tuple[IdentityRecord, ...]:
        """Every identity, by base and ordinal."""
        with self.database.glance() as reader:
            return _rows(reader, None)

    def returning(self) -> tuple[IdentityRecord, ...]:
        """Those whose process just came back and has not been welcomed."""
        return tuple(one for one in self.all() if one.away_since_ms is not None)

    def claim(
        self,
        base_id: str,
        owner: Owner,
        liveness: Callable[[int, str, str], Liveness],
        now: int,
        program: str | None = None,
        directory: str | None = None,
        name: str | None = None,
        command: str | None = None,
    ) -> IdentityRecord:
        """Take the lowest ordinal that no living process holds.

        A process that cannot be judged counts as living. The same process claiming again gets what
        it has.
        """
        with self.database.transaction() as tx:
            claimed = _rows(tx, base_id)
            ordinal = _ordinal_for(owner, claimed, liveness)
            binding_key = binding_key_of(base_id, ordinal)
            before = next((one for one in claimed if one.ordinal == ordinal), None)
            away_since = _away_since(before, owner)
            facts = {"program": program, "directory": directory, "name": name, "command": command}
            values = {
                "owner_pid": owner.pid,
                "owner_boot_id": owner.boot_id,
                "owner_birth": owner.birth,
                "instance_id": owner.instance_id,
                "claimed_ms": now,
                "released_ms": None,
                "farewell_ms": None,
                "away_since_ms": away_since,
                "base_id": base_id,
                "ordinal": ordinal,
            }
            upsert(tx, IDENTITIES, {"binding_key": binding_key}, {**facts, **values})
            return IdentityRecord(
                binding_key,
                base_id,
                ordinal,
                program,
                directory,
                name,
                command,
                owner,
                now,
                released_ms=None,
                away_since_ms=away_since,
            )

    def record_farewell(self, binding_key: str, instance_id: str, now: int) -> bool:
        """The thread was told that this process ends. False: the identity is another's by now."""
        return self._change_own(binding_key, instance_id, {"farewell_ms": now})

    def record_welcome(self, binding_key: str, instance_id: str) -> bool:
        """The process is back in its thread; that it was away is no news any more."""
        return self._change_own(binding_key, instance_id, {"away_since_ms": None})

    def release(self, binding_key: str, instance_id: str, now: int) -> bool:
        """The process ends in order: its ordinal is free at once. False: it was not its own."""
        nobody = {
            "owner_pid": None,
            "owner_boot_id": None,
            "owner_birth": None,
            "instance_id": None,
            "released_ms": now,
        }
        return self._change_own(binding_key, instance_id, nobody)

    def _change_own(self, binding_key: str, instance_id: str, values: dict[str, Any]) -> bool:
        own = and_(
            IDENTITIES.c.binding_key == binding_key, IDENTITIES.c.instance_id == instance_id
        )
        with self.database.transaction() as tx:
            return tx.execute(update(IDENTITIES).where(own).values(values)).rowcount > 0


def _rows(connection: Connection, base_id: str | None) -> tuple[IdentityRecord, ...]:
    wanted = select(IDENTITIES).order_by(IDENTITIES.c.base_id, IDENTITIES.c.ordinal)
    if base_id is not None:
        wanted = wanted.where(IDENTITIES.c.base_id == base_id)
    return tuple(IdentityRecord.from_row(row) for row in connection.execute(wanted))


def _ordinal_for(
    owner: Owner,
    claimed: tuple[IdentityRecord, ...],
    liveness: Callable[[int, str, str], Liveness],
) -> int:
    for record in claimed:
        if record.owner is not None and _same_process(record.owner, owner):
            return record.ordinal
    alive = {
        record.ordinal
        for record in claimed
        if record.owner is not None
        and liveness(record.owner.pid, record.owner.boot_id, record.owner.birth)
        is not Liveness.DEAD
    }
    return next(ordinal for ordinal in range(len(alive) + 1) if ordinal not in alive)


def _away_since(before: IdentityRecord | None, owner: Owner) -> int | None:
    if before is None:
        return None
    if before.owner is None:
        return before.released_ms or 0
    return before.away_since_ms if _same_process(before.owner, owner) else 0


def _same_process(one: Owner, other: Owner) -> bool:
    return (one.pid, one.boot_id, one.birth) == (other.pid, other.boot_id, other.birth)


def _owner(row: Any) -> Owner | None:
    if row.owner_pid is None:
        return None
    return Owner(row.owner_pid, row.owner_boot_id, row.owner_birth, row.instance_id)
