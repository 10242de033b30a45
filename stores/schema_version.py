"""Which version a database file has, and the way from there to ours.

Migrations are numbered files `stores/migrations/<database>/<NNNN>_<what>.py` for Alembic. The
number of the highest one is the version this program knows. A file of that version is left alone
without importing Alembic (10 MB and 0.1 s in every process); so is an empty file, which gets the
tables of today at once, because a test proves both ways to end in the same schema.

An unknown newer version is refused. Nothing here ever resets or drops a file.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from sqlalchemy import Connection, MetaData, inspect
from sqlalchemy.exc import OperationalError

from stores.errors import SchemaTooNew, StoreDamaged

MIGRATIONS = Path(__file__).parent / "migrations"
_STEP_NAME = re.compile(r"^(\d{4})_[a-z0-9_]+\.py$")
# Alembic's own table and column, so that its tools understand our files.
_VERSION_TABLE = "alembic_version"


def migration_steps(name: str) -> dict[str, Path]:
    """The migration files of one database, oldest first, by their number."""
    found = sorted((MIGRATIONS / name).iterdir())
    return {match[1]: path for path in found if (match := _STEP_NAME.match(path.name))}


def known_version(name: str) -> str:
    """The newest version this program can read and write."""
    return list(migration_steps(name))[-1]


def stored_version(connection: Connection) -> str | None:
    """The version of the open file; None when it has no tables yet."""
    try:
        return connection.exec_driver_sql(f"SELECT version_num FROM {_VERSION_TABLE}").scalar()
    except OperationalError:
        # The inspector is slow, and every actor that starts comes here: it is asked only about what is not ours.
        tables = inspect(connection).get_table_names()
        if _VERSION_TABLE in tables:
            raise
        if tables:
            raise StoreDamaged("It is a database, but none of Switchboard.") from None
        return None


def is_current(version: str | None, name: str) -> bool:
    """Whether nothing is to be done; refuses a version from the future."""
    known = known_version(name)
    if version is not None and not version.isdigit():
        raise SchemaTooNew(f"(version {version!r}, known up to {known})")
    if version is not None and int(version) > int(known):
        raise SchemaTooNew(f"(version {version}, known up to {known})")
    return version == known


def create_tables(connection: Connection, metadata: MetaData, name: str) -> None:
    """Give an empty file the tables of today; the caller holds the transaction."""
    metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(
        f"CREATE TABLE {_VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
        f"CONSTRAINT {_VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
    )
    _stamp(connection, known_version(name))


def migrate(connection: Connection, name: str, version: str | None) -> None:
    """Apply every newer step and its record; the caller holds the transaction."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    context = MigrationContext.configure(connection)
    if version is None:
        context._ensure_version_table()
    with Operations.context(context):
        for number, path in migration_steps(name).items():
            if version is None or int(number) > int(version):
                _load(path).upgrade()
                _stamp(connection, number)


def _stamp(connection: Connection, version: str) -> None:
    connection.exec_driver_sql(f"DELETE FROM {_VERSION_TABLE}")
    connection.exec_driver_sql(f"INSERT INTO {_VERSION_TABLE} VALUES ('{version}')")


def _load(path: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"migration_{path.stem}", path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
