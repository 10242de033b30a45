"""Databases for tests of stores: real files, closed at the end, and a lease that reigns."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stores import bus_schema, ingress_schema
from stores.database import Database
from stores.lease import Lease, Owner

CHAT = 4000
ANN = Owner(101, "boot", "101:start:7", "101:1000")
BEN = Owner(202, "boot", "202:start:9", "202:2000")


@contextmanager
def bus_database(directory: Path) -> Iterator[Database]:
    """A `bus.db` that nobody leads."""
    database = Database(directory / "bus.db", bus_schema.METADATA, "bus")
    yield database
    database.close()


@contextmanager
def led_bus_database(directory: Path) -> Iterator[tuple[Database, int]]:
    """A `bus.db` that Ann leads, and her epoch."""
    with bus_database(directory) as database:
        lease = Lease(database)
        won = lease.campaign(lease.read(), ANN, 1_000, "secret")
        assert won is not None
        yield database, won.epoch


@contextmanager
def ingress_database(directory: Path) -> Iterator[Database]:
    """An empty `ingress.db`."""
    database = Database(directory / "ingress.db", ingress_schema.METADATA, "ingress")
    yield database
    database.close()
