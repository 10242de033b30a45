"""What was compiled in rehearsal is not compiled again, whatever file it is for."""

import sqlite3

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.engine.interfaces import CacheStats

from stores import rehearsal
from stores.bindings import Bindings
from stores.bus_schema import METADATA
from stores.database import Database
from stores.lease import Lease, Owner


def compiled_by(play):
    """The statements that this had SQLAlchemy compile."""
    compiled = []

    def note(connection, cursor, statement, parameters, context, many):
        # Schema statements have no key; they are no part of a takeover.
        if context.compiled is not None and context.cache_hit is CacheStats.CACHE_MISS:
            compiled.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        play()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    return compiled


def test_a_rehearsal_leaves_nothing_to_compile_for_the_same_in_a_file(tmp_path):
    def come_to_lead():
        bus = Database(tmp_path / "bus.db", METADATA, "bus")
        lease, owner = Lease(bus), Owner(1, "boot", "1:start:1", "1:1")
        record = lease.campaign(lease.read(), owner, 0, "secret")
        assert lease.refresh(owner, record.epoch, 1)
        assert Bindings(bus).all() == ()
        bus.close()

    rehearsal.rehearse()
    assert compiled_by(rehearsal.rehearse) == []
    assert compiled_by(come_to_lead) == []


def test_a_rehearsal_leaves_no_file_and_no_connection(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = []

    def note(driver, record):
        opened.append(driver)

    event.listen(Engine, "connect", note)
    try:
        rehearsal.rehearse()
    finally:
        event.remove(Engine, "connect", note)
    assert list(tmp_path.iterdir()) == []
    assert len(opened) == 2
    for driver in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            driver.execute("SELECT 1")
