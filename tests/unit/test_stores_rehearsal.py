"""What was compiled in rehearsal is not compiled again, whatever file it is for."""

import sqlite3
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.engine.interfaces import CacheStats

from stores import database, rehearsal
from stores.bindings import Bindings
from stores.bus_schema import METADATA
from stores.database import Database
from stores.ingress import Ingress
from stores.ingress_schema import METADATA as INGRESS_METADATA
from stores.lease import Lease, Owner


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Every other test of this process may have compiled what is played here."""
    database._engine.cache_clear()


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
    def come_to_lead_and_admit():
        bus = Database(tmp_path / "bus.db", METADATA, "bus")
        lease, owner = Lease(bus), Owner(1, "boot", "1:start:1", "1:1")
        record = lease.campaign(lease.read(), owner, 0, "secret")
        assert lease.refresh(owner, record.epoch, 1)
        assert Bindings(bus).all() == ()
        bus.close()
        journal = Database(tmp_path / "ingress.db", INGRESS_METADATA, "ingress")
        ingress = Ingress(journal)
        ingress.bind_identity(1, "fingerprint", record.epoch)
        place = SimpleNamespace(
            update_id=7, kind="message", fate="pending", reason="", chat_id=1, thread_id=2,
            message_id=3, from_id=1, binding_key="key",
        )
        ingress.admit([(place, {"update_id": 7})], 7, record.epoch, 0)
        assert [one.update_id for one in ingress.oldest_due(["key"], 0)] == [7]
        assert ingress.settle_done(7, record.epoch, 0)
        journal.close()

    rehearsal.rehearse()
    assert compiled_by(rehearsal.rehearse) == []
    assert compiled_by(come_to_lead_and_admit) == []


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
