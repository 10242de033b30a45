"""One database file, one connection, real transactions. The only place that knows SQLite.

A `Database` may be made anywhere (it does nothing) and belongs to the process that first uses it: the
connection is opened then, and never crosses a fork. A process that forks closes its connections before and
opens them again when it needs them: SQLite counts in memory which locks of a file its process has, so beside an
inherited connection a child's own one would rely on locks that the kernel never gave to the child, and
whoever closed the last real connection would take the log of its writes away. While one thread forks no other
may be about to use a database. Every write runs in BEGIN IMMEDIATE, so
what was read inside the transaction is still true when it is written. WAL with synchronous=FULL
means that what was committed survives power loss. A store method opens `transaction()`; several
of them inside an outer `transaction()` are one. A thread other than the opener may use it, one
at a time.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    Table,
    bindparam,
    create_engine,
    event,
    insert,
    update,
)
# Else imported with the first connection, 8 ms in each actor of a tree that is taking over.
from sqlalchemy.dialects.sqlite import pysqlite  # noqa: F401
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from stores import schema_version
from stores.errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreInconsistent,
    StoreMisused,
    StoreUnavailable,
)
from stores.private_files import create_private_file, file_lock, make_private_directory

BUSY_TIMEOUT_SECONDS = 5.0


class Database:
    """A file with the tables of `metadata`, migrated by `stores/migrations/<migrations>/`."""

    def __init__(self, path: Path | str, metadata: MetaData, migrations: str) -> None:
        self.path = Path(path)
        self.metadata = metadata
        self.migrations = migrations
        self._mutex = threading.RLock()
        self._connection: Connection | None = None
        self._driver: sqlite3.Connection | None = None
        self._pid = 0
        self._depth = 0
        self._reading = False
        self._glances = 0
        self._failed = False

    def open(self) -> None:
        """Create, migrate or just open the file now; every other method does so when needed."""
        with self._mutex:
            self._opened()

    def close(self) -> None:
        """Give the connection back; the next use opens a new one."""
        with self._mutex:
            connection, self._connection, self._driver = self._connection, None, None
            if connection is not None and self._pid == os.getpid():
                connection.close()
            _opened_here.pop(id(self), None)

    def close_unless_used(self) -> None:
        """Give the connection back if nothing is begun on it; what is begun has to be ended on it."""
        with self._mutex:
            if not (self._depth or self._reading or self._glances):
                self.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """All or nothing, with the write lock from the first statement on.

        Inside another one it joins it; when it fails there, the outer one can only roll back,
        even if somebody catches the error in between.
        """
        with self._mutex:
            connection, driver = self._opened()
            if self._reading:
                raise StoreMisused("A transaction was wanted inside a read.")
            outermost = self._depth == 0
            with self._translated():
                if outermost:
                    driver.execute("BEGIN IMMEDIATE")
                    self._failed = False
                self._depth += 1
                try:
                    yield connection
                    if self._failed:
                        raise StoreMisused("A part of the transaction had failed.")
                    if outermost:
                        driver.execute("COMMIT")
                except BaseException:
                    self._failed = True
                    if outermost and driver.in_transaction:
                        driver.execute("ROLLBACK")
                    raise
                finally:
                    self._depth -= 1

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view for several reads; inside another or a transaction, that one's."""
        with self._mutex:
            connection, driver = self._opened()
            with self._translated():
                if self._depth or self._reading:
                    yield connection
                    return
                driver.execute("BEGIN")
                self._reading = True
                try:
                    yield connection
                finally:
                    self._reading = False
                    if driver.in_transaction:
                        driver.execute("ROLLBACK")

    @contextmanager
    def glance(self) -> Iterator[Connection]:
        """One single read, without the cost of a transaction around it."""
        with self._mutex:
            connection, _ = self._opened()
            self._glances += 1
            try:
                with self._translated():
                    yield connection
            finally:
                self._glances -= 1

    def first_row(self, statement: str) -> tuple[Any, ...] | None:
        """The first row of a statement in SQLite's own words: for what an idle process asks every second.

        After a rest SQLAlchemy takes four times as long as the read itself.
        """
        with self._mutex:
            _, driver = self._opened()
            with self._translated():
                found: tuple[Any, ...] | None = driver.execute(statement).fetchone()
                return found

    def check(self) -> None:
        """Read through the whole file and raise StoreDamaged when it is not sound."""
        with self.glance() as connection:
            verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if verdict != "ok":
            raise StoreDamaged(f"({self.path})")

    # -- opening -------------------------------------------------------------------------------

    def _opened(self) -> tuple[Connection, sqlite3.Connection]:
        if self._connection is None or self._driver is None:
            try:
                with self._translated():
                    self._open_file()
            except BaseException as problem:
                # A file that is not up to date must not be found open by the next use.
                self.close()
                if isinstance(problem, OSError):
                    raise StoreUnavailable(f"{problem.strerror} ({self.path})") from problem
                raise
        elif self._pid != os.getpid():
            raise StoreMisused("A database connection crossed a fork.")
        assert self._connection is not None and self._driver is not None
        return self._connection, self._driver

    def _open_file(self) -> None:
        try:
            exists = self.path.stat().st_size > 0
        except FileNotFoundError:
            exists = False
        if exists:
            # Without the lock: whoever creates or migrates commits tables and version at once.
            self._connect()
            assert self._connection is not None
            version = schema_version.stored_version(self._connection)
            if schema_version.is_current(version, self.migrations):
                return
            self.close()
        make_private_directory(self.path.parent)
        with file_lock(self.path.with_name(self.path.name + ".lock")):
            create_private_file(self.path)
            self._connect()
            self._bring_up_to_date()

    def _connect(self) -> None:
        opening = _opening.set(self.path)
        try:
            connection = _engine().connect()
        finally:
            _opening.reset(opening)
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        self._connection, self._driver, self._pid = connection, driver, os.getpid()
        _opened_here[id(self)] = self

    def _bring_up_to_date(self) -> None:
        assert self._connection is not None and self._driver is not None
        mode = self._connection.exec_driver_sql("PRAGMA journal_mode=WAL").scalar()
        if mode != "wal":
            raise StoreUnavailable(f"The file system refuses write-ahead logs. ({self.path})")
        version = schema_version.stored_version(self._connection)
        if schema_version.is_current(version, self.migrations):
            return
        self._driver.execute("BEGIN IMMEDIATE")
        try:
            if version is None:
                schema_version.create_tables(self._connection, self.metadata, self.migrations)
            else:
                schema_version.migrate(self._connection, self.migrations, version)
            self._driver.execute("COMMIT")
        except BaseException:
            if self._driver.in_transaction:
                self._driver.execute("ROLLBACK")
            raise

    # -- errors --------------------------------------------------------------------------------

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as problem:
            raise self._as_store_error(problem) from problem

    def _as_store_error(self, problem: BaseException) -> StoreError:
        cause = problem.orig if isinstance(problem, DBAPIError) else problem
        code = getattr(cause, "sqlite_errorcode", None)
        primary = code & 0xFF if isinstance(code, int) else None
        if isinstance(cause, sqlite3.IntegrityError):
            return StoreInconsistent(f"{cause} ({self.path.name})")
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreBusy(f"({self.path})")
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return StoreDamaged(f"({self.path})")
        if primary in _UNAVAILABLE:
            return StoreUnavailable(f"{cause} ({self.path})")
        return StoreMisused(f"{type(cause).__name__}: {cause} ({self.path.name})")


class DatabaseInMemory(Database):
    """The tables of today, empty, for as long as the connection is open; no file."""

    def __init__(self, metadata: MetaData, migrations: str) -> None:
        super().__init__(":memory:", metadata, migrations)

    def close_unless_used(self) -> None:
        """Nothing: closed it would be empty, and there is no file that a child could share."""

    def _open_file(self) -> None:
        self._connect()
        assert self._connection is not None
        schema_version.create_tables(self._connection, self.metadata, self.migrations)


_UNAVAILABLE = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)


_opened_here: weakref.WeakValueDictionary[int, Database] = weakref.WeakValueDictionary()


def _close_before_fork() -> None:
    for reference in _opened_here.valuerefs():
        database = reference()
        if database is not None:
            with contextlib.suppress(StoreError, DBAPIError, sqlite3.Error):
                database.close_unless_used()


os.register_at_fork(before=_close_before_fork)


_opening: ContextVar[Path] = ContextVar("the file that is being opened")


@functools.cache
def _engine() -> Engine:
    """One engine for all files: what it compiled for one is there for all, and for what is forked later."""
    engine = create_engine(
        "sqlite+pysqlite://",
        poolclass=NullPool,
        # The driver starts no transaction by itself: BEGIN IMMEDIATE is ours to say.
        isolation_level="AUTOCOMMIT",
        creator=_open_driver,
    )
    event.listen(engine, "connect", _prepare)
    return engine


def _open_driver() -> sqlite3.Connection:
    return sqlite3.connect(
        _opening.get(), timeout=BUSY_TIMEOUT_SECONDS, check_same_thread=False
    )


def _prepare(driver: sqlite3.Connection, _record: object) -> None:
    for pragma in (
        "foreign_keys=ON",
        "synchronous=FULL",
        # macOS: fsync alone leaves data in the drive's cache there. Nothing elsewhere.
        "fullfsync=ON",
        "checkpoint_fullfsync=ON",
    ):
        driver.execute(f"PRAGMA {pragma}")


def upsert(
    transaction: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    """Update the row with that key, or insert it. Portable, since the transaction is exclusive."""
    renewed, first = _upsert_of(table, tuple(key), tuple(values))
    of_key = {f"key_{name}": value for name, value in key.items()}
    new = {f"new_{name}": value for name, value in values.items()}
    if transaction.execute(renewed, {**of_key, **new}).rowcount == 0:
        transaction.execute(first, {**key, **values})


@functools.cache
def _upsert_of(table: Table, key: tuple[str, ...], names: tuple[str, ...]) -> tuple[Any, Any]:
    """Built once for these columns: building a statement takes several times as long as running it."""
    where = [table.c[name] == bindparam(f"key_{name}") for name in key]
    new: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return update(table).where(*where).values(new), insert(table)
