"""The lease: which process leads, in one row that says it to everybody.

Every change compares the exact expected owner in its own transaction. The epoch grows by one with
each grant and never shrinks, not even when nobody leads, so a number names one reign for ever.
Whether a lease is stale or its owner dead is decided by others; nothing is judged here.
Heartbeats are CLOCK_BOOTTIME milliseconds given by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from stores.bus_schema import LEASE
from stores.errors import Deposed
from stores.store import Store

VACANT = "vacant"
STARTING = "starting"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that leads or wants to: always run.py main of its instance."""

    pid: int
    boot_id: str
    birth: str
    """The birth text, `<pid>:start:<ticks>`."""
    instance_id: str


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The lease as it was read. Epoch 0 has never been granted."""

    epoch: int
    owner: Owner | None
    heartbeat_ms: int | None
    endpoint: str | None
    secret: str | None = field(repr=False)
    state: str

    @classmethod
    def from_row(cls, row: Any) -> LeaseRecord:
        owner = None
        if row.owner_pid is not None:
            owner = Owner(row.owner_pid, row.owner_boot_id, row.owner_birth, row.instance_id)
        return cls(row.epoch, owner, row.heartbeat_ms, row.endpoint, row.secret, row.state)


class _Row(NamedTuple):
    """The columns that a record is made of."""

    epoch: int
    owner_pid: int | None
    owner_boot_id: str | None
    owner_birth: str | None
    instance_id: str | None
    heartbeat_ms: int | None
    endpoint: str | None
    secret: str | None
    state: str


_NEVER_GRANTED = LeaseRecord(0, None, None, None, None, VACANT)
_THE_ROW = select(LEASE).where(LEASE.c.id == 1)
_THE_ROW_IN_SQL = f"SELECT {', '.join(_Row._fields)} FROM {LEASE.name} WHERE id = 1"
_HELD = select(LEASE.c.heartbeat_ms).where(
    LEASE.c.epoch == bindparam("epoch"),
    LEASE.c.owner_pid == bindparam("pid"),
    LEASE.c.owner_boot_id == bindparam("boot_id"),
    LEASE.c.owner_birth == bindparam("birth"),
    LEASE.c.instance_id == bindparam("instance_id"),
)
_REIGNING = select(LEASE.c.id).where(
    LEASE.c.epoch == bindparam("epoch"), LEASE.c.owner_pid.is_not(None)
)


def require_epoch(transaction: Connection, epoch: int) -> None:
    """Refuse a leader's write inside its own transaction when it does not lead any more."""
    if transaction.execute(_REIGNING, {"epoch": epoch}).first() is None:
        raise Deposed()


class Lease(Store):
    """The one row of `bus.db` about leadership."""

    def read(self) -> LeaseRecord:
        """The lease now."""
        row = self.database.first_row(_THE_ROW_IN_SQL)
        return _NEVER_GRANTED if row is None else LeaseRecord.from_row(_Row(*row))

    def campaign(
        self, expected: LeaseRecord, candidate: Owner, now_boot_ms: int, secret: str
    ) -> LeaseRecord | None:
        """Take the lease if it is still exactly as expected, heartbeat included.

        Of all who saw the same row one wins; an owner who refreshed in the meantime keeps it.
        """
        with self.database.transaction() as tx:
            found = _read(tx)
            if (found.epoch, found.owner, found.heartbeat_ms) != (
                expected.epoch,
                expected.owner,
                expected.heartbeat_ms,
            ):
                return None
            return _grant(tx, found.epoch + 1, candidate, now_boot_ms, secret)

    def refresh(self, owner: Owner, epoch: int, now_boot_ms: int) -> bool:
        """Tell that the owner lives. False: it does not lead any more."""
        return self._change(owner, epoch, heartbeat_ms=now_boot_ms)

    def publish_endpoint(self, owner: Owner, epoch: int, path: str) -> bool:
        """Tell where the bus listens."""
        return self._change(owner, epoch, endpoint=path)

    def renew_epoch(
        self, owner: Owner, epoch: int, now_boot_ms: int, secret: str
    ) -> LeaseRecord | None:
        """A new epoch for the same owner's fresh actor tree; what the old tree holds is void."""
        with self.database.transaction() as tx:
            found = _read(tx)
            if (found.epoch, found.owner) != (epoch, owner):
                return None
            return _grant(tx, epoch + 1, owner, now_boot_ms, secret)

    def release(self, owner: Owner, epoch: int) -> bool:
        """Give the lease up; the epoch stays. False: it was not ours."""
        return self._change(
            owner,
            epoch,
            owner_pid=None,
            owner_boot_id=None,
            owner_birth=None,
            instance_id=None,
            heartbeat_ms=None,
            endpoint=None,
            secret=None,
            state=VACANT,
        )

    def epoch_holds(
        self, owner: Owner, epoch: int, now_boot_ms: int, max_age_ms: int = 6_000
    ) -> bool:
        """Whether this owner may call Telegram now: it leads, and said so recently enough.

        The last step before every call, so it is one prepared read without a transaction.
        """
        with self.database.glance() as reader:
            heartbeat = reader.execute(
                _HELD,
                {
                    "epoch": epoch,
                    "pid": owner.pid,
                    "boot_id": owner.boot_id,
                    "birth": owner.birth,
                    "instance_id": owner.instance_id,
                },
            ).scalar()
        return heartbeat is not None and now_boot_ms - heartbeat <= max_age_ms

    def _change(self, owner: Owner, epoch: int, **values: Any) -> bool:
        with self.database.transaction() as tx:
            found = _read(tx)
            if (found.epoch, found.owner) != (epoch, owner):
                return False
            tx.execute(update(LEASE).where(LEASE.c.id == 1).values(**values))
            return True


def _read(connection: Connection) -> LeaseRecord:
    row = connection.execute(_THE_ROW).first()
    return _NEVER_GRANTED if row is None else LeaseRecord.from_row(row)


def _grant(
    transaction: Connection, epoch: int, owner: Owner, now_boot_ms: int, secret: str
) -> LeaseRecord:
    values = {
        "epoch": epoch,
        "owner_pid": owner.pid,
        "owner_boot_id": owner.boot_id,
        "owner_birth": owner.birth,
        "instance_id": owner.instance_id,
        "heartbeat_ms": now_boot_ms,
        "endpoint": None,
        "secret": secret,
        "state": STARTING,
    }
    if epoch == 1:
        transaction.execute(insert(LEASE).values(id=1, **values))
    else:
        transaction.execute(update(LEASE).where(LEASE.c.id == 1).values(**values))
    return LeaseRecord(epoch, owner, now_boot_ms, None, secret, STARTING)
