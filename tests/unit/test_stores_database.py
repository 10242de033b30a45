"""A database file: whole transactions, closed to others, refused when it is not ours to read."""

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text, insert, select

from stores import bus_schema, schema_version
from stores.database import Database, DatabaseInMemory, upsert
from stores.errors import (
    SchemaTooNew,
    StoreBusy,
    StoreDamaged,
    StoreInconsistent,
    StoreMisused,
    StoreUnavailable,
)
from stores.lease import Lease
from tests.support.forked import run_forked
from tests.support.stores import ANN

METADATA = MetaData()
WORDS = Table("words", METADATA, Column("id", Integer, primary_key=True), Column("word", Text))


@pytest.fixture
def database(tmp_path, monkeypatch):
    steps = tmp_path / "migrations" / "words"
    steps.mkdir(parents=True)
    (steps / "0001_first.py").write_text("def upgrade():\n    pass\n")
    monkeypatch.setattr(schema_version, "MIGRATIONS", tmp_path / "migrations")
    database = Database(tmp_path / "data" / "words.db", METADATA, "words")
    yield database
    database.close()


def words(database):
    with database.glance() as reader:
        return [row.word for row in reader.execute(select(WORDS).order_by(WORDS.c.id))]


def add(transaction, word):
    transaction.execute(insert(WORDS).values(word=word))


def test_a_failing_transaction_leaves_nothing(database):
    with pytest.raises(ZeroDivisionError), database.transaction() as tx:
        add(tx, "lost")
        1 / 0
    with database.transaction() as tx:
        add(tx, "kept")
    assert words(database) == ["kept"]


def test_transactions_inside_another_are_one(database):
    with pytest.raises(ZeroDivisionError), database.transaction():
        with database.transaction() as tx:
            add(tx, "inner")
        1 / 0
    assert words(database) == []


def test_a_part_that_failed_takes_the_whole_with_it(database):
    with pytest.raises(StoreMisused), database.transaction() as tx:
        add(tx, "outer")
        with pytest.raises(ZeroDivisionError), database.transaction() as inner:
            add(inner, "half")
            1 / 0
    assert words(database) == []


def test_a_read_inside_a_transaction_sees_what_it_wrote(database):
    with database.transaction() as tx:
        add(tx, "new")
        with database.read() as reader:
            assert reader.execute(select(WORDS)).all()
        assert words(database) == ["new"]


def test_a_read_is_one_view_while_another_process_writes(database, tmp_path):
    other = Database(database.path, METADATA, "words")
    with database.transaction() as tx:
        add(tx, "first")
    with database.read() as reader:
        before = reader.execute(select(WORDS)).all()
        with other.transaction() as tx:
            add(tx, "second")
        assert reader.execute(select(WORDS)).all() == before
    other.close()
    assert words(database) == ["first", "second"]


def test_reads_inside_a_read_are_its_view_and_writes_are_refused(database):
    with database.read(), database.read() as reader:
        assert reader.execute(select(WORDS)).all() == []
        with pytest.raises(StoreMisused), database.transaction():
            pass
    with database.transaction() as tx:
        add(tx, "after")
    assert words(database) == ["after"]


def test_upsert_writes_one_row(database):
    with database.transaction() as tx:
        upsert(tx, WORDS, {"id": 1}, {"word": "a"})
        upsert(tx, WORDS, {"id": 1}, {"word": "b"})
    assert words(database) == ["b"]


def test_a_broken_rule_is_told_and_nothing_is_written(database):
    with pytest.raises(StoreInconsistent), database.transaction() as tx:
        tx.execute(insert(WORDS).values(id=1, word="a"))
        tx.execute(insert(WORDS).values(id=1, word="b"))
    assert words(database) == []


def test_the_connection_waits_for_power_loss_and_checks_keys(database):
    with database.glance() as reader:
        settings = [
            reader.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]
    assert settings == ["wal", 2, 1, 5000]


@pytest.mark.case("F132", "F220")
def test_files_are_private_whatever_the_umask(database):
    before = os.umask(0)
    try:
        with database.transaction() as tx:
            add(tx, "secret")
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode) for path in database.path.parent.iterdir()
        }
    finally:
        os.umask(before)
    assert stat.S_IMODE(database.path.parent.stat().st_mode) == 0o700
    assert set(modes) == {"words.db", "words.db-wal", "words.db-shm", "words.db.lock"}
    assert set(modes.values()) == {0o600}


def test_a_newer_schema_is_refused_and_untouched(database):
    database.open()
    with database.transaction() as tx:
        tx.exec_driver_sql("UPDATE alembic_version SET version_num = '0002'")
    database.close()
    content = database.path.read_bytes()
    with pytest.raises(SchemaTooNew, match="written by a newer version"):
        database.open()
    assert database.path.read_bytes() == content


def test_an_older_schema_is_migrated_with_its_record_or_not_at_all(database, tmp_path):
    with database.transaction() as tx:
        add(tx, "old")
    database.close()
    step = tmp_path / "migrations" / "words" / "0002_more.py"
    step.write_text(
        "from alembic import op\nimport sqlalchemy as sa\n\n\ndef upgrade():\n"
        "    op.add_column('words', sa.Column('more', sa.Text()))\n    1 / 0\n"
    )
    with pytest.raises(ZeroDivisionError):
        database.open()
    step.write_text(step.read_text().replace("    1 / 0\n", ""))
    assert words(database) == ["old"]
    with database.glance() as reader:
        columns = [row[1] for row in reader.exec_driver_sql("PRAGMA table_info(words)")]
        version = reader.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    assert (columns, version) == (["id", "word", "more"], "0002")


@pytest.mark.parametrize("content", [b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 4080])
def test_a_damaged_file_is_told_and_left(database, content):
    database.path.parent.mkdir(mode=0o700)
    database.path.write_bytes(content)
    with pytest.raises(StoreDamaged):
        database.check()
    assert database.path.read_bytes() == content


def test_a_foreign_database_is_told_and_left(database):
    database.path.parent.mkdir(mode=0o700)
    other = sqlite3.connect(database.path)
    other.execute("CREATE TABLE recipes (id INTEGER)")
    other.close()
    with pytest.raises(StoreDamaged, match="none of Switchboard"):
        database.open()


def test_what_sqlite_keeps_for_itself_makes_a_file_no_foreign_one(database):
    database.path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(database.path)) as driver:
        driver.execute("CREATE TABLE gone (id INTEGER PRIMARY KEY AUTOINCREMENT)")
        driver.execute("DROP TABLE gone")
        assert driver.execute("SELECT name FROM sqlite_master").fetchall() == [("sqlite_sequence",)]
    with database.transaction() as transaction:
        add(transaction, "one")
    assert words(database) == ["one"]


def test_a_directory_that_cannot_be_made_is_told(database):
    database.path.parent.write_text("a file")
    with pytest.raises(StoreUnavailable):
        database.open()


def test_a_writer_that_holds_on_is_told(database, monkeypatch):
    monkeypatch.setattr("stores.database.BUSY_TIMEOUT_SECONDS", 0.05)
    database.open()
    holder = sqlite3.connect(database.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy), database.transaction():
        pass
    holder.close()
    with database.transaction() as tx:
        add(tx, "later")
    assert words(database) == ["later"]


def test_a_connection_never_crosses_a_fork(database):
    """One that rests is closed before; one that is in use is of no use to the child."""
    with database.transaction() as tx:
        add(tx, "ours")

    def use():
        try:
            return words(database)
        except StoreMisused:
            return "refused"

    assert run_forked([use]) == [["ours"]]
    assert words(database) == ["ours"]
    for begun in (database.transaction, database.read, database.glance):
        with begun():
            assert run_forked([use]) == ["refused"]
            assert words(database) == ["ours"]


def test_a_database_in_memory_outlives_a_fork():
    """Closed it would be empty, and there is no lock on it that a child could be wrong about."""
    memory = DatabaseInMemory(bus_schema.METADATA, "bus")
    lease = Lease(memory)
    lease.campaign(lease.read(), ANN, 1_000, "secret")
    assert run_forked([int]) == [0]
    assert lease.read().epoch == 1
    memory.close()


def test_neither_a_fresh_nor_a_current_file_imports_alembic(tmp_path):
    script = (
        "import sys\n"
        "from stores.bus_schema import METADATA\n"
        "from stores.database import Database\n"
        f"for _ in range(2):\n"
        f"    database = Database({str(tmp_path / 'bus.db')!r}, METADATA, 'bus')\n"
        "    database.open()\n"
        "    database.close()\n"
        "print('alembic' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("False\n", "")
