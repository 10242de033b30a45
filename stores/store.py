"""What every store has: the database it lives in."""

from __future__ import annotations

from contextlib import AbstractContextManager

from sqlalchemy import Connection

from stores.database import Database


class Store:
    """A noun in a database. Several stores may share one `Database`, and then its transactions."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def transaction(self) -> AbstractContextManager[Connection]:
        """Make several calls one: all of them are written, or none."""
        return self.database.transaction()
