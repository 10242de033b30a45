"""Stores between processes: races have one winner, and a killed writer leaves all or nothing."""

import os
import signal

import pytest
from sqlalchemy import select

from stores import bus_schema, ingress_schema, write_lock
from stores.database import Database
from stores.errors import StoreBusy
from stores.identities import Identities
from stores.ingress import Ingress
from stores.ingress_schema import UPDATES
from stores.lease import Lease, Owner
from stores.private_files import file_lock
from stores.process_birth import ProcessBirth, liveness
from tests.support.forked import run_forked, start_forked

PROCESSES = 8


def bus(path):
    return Database(path / "bus.db", bus_schema.METADATA, "bus")


def myself():
    birth = ProcessBirth.current()
    return Owner(birth.pid, birth.boot_id, birth.wire, f"{birth.pid}:1")


def test_many_processes_create_one_database(tmp_path):
    def create():
        database = bus(tmp_path)
        Lease(database).read()
        with database.glance() as reader:
            return reader.exec_driver_sql("SELECT count(*) FROM alembic_version").scalar()

    assert run_forked([create] * PROCESSES) == [1] * PROCESSES


@pytest.mark.case("L196")
def test_of_many_that_saw_the_same_lease_one_wins(tmp_path):
    database = bus(tmp_path)
    seen = Lease(database).read()
    database.close()
    for epoch in (1, 2):
        def campaign():
            return Lease(bus(tmp_path)).campaign(seen, myself(), 1_000, "secret") is not None

        assert sorted(run_forked([campaign] * PROCESSES)) == [False] * (PROCESSES - 1) + [True]
        database = bus(tmp_path)
        seen = Lease(database).read()
        database.close()
        assert seen.epoch == epoch


def test_processes_that_claim_at_once_are_different_and_their_successor_is_the_first(tmp_path):
    bus(tmp_path).open()
    gate_read, gate_write = os.pipe()

    def claim():
        return Identities(bus(tmp_path)).claim("abc", myself(), liveness, 1_000).ordinal

    def claim_and_stay(told):
        # Alive until the test shuts the gate: an ended claimer would give its ordinal back.
        os.close(gate_write)
        os.write(told, b"%d" % claim())
        os.read(gate_read, 1)

    claimers = []
    for _ in range(PROCESSES):
        heard, told = os.pipe()
        claimers.append((start_forked(lambda told=told: claim_and_stay(told)), heard))
        os.close(told)
    ordinals = [int(os.read(heard, 16)) for _, heard in claimers]
    assert sorted(ordinals) == list(range(PROCESSES))
    os.close(gate_write)
    os.close(gate_read)
    for pid, heard in claimers:
        os.waitpid(pid, 0)
        os.close(heard)
    assert run_forked([claim]) == [0]


class Placed:
    kind, fate, reason, binding_key = "message", "pending", "", "manual:a"
    chat_id = thread_id = message_id = from_id = None

    def __init__(self, update_id):
        self.update_id = update_id


@pytest.mark.parametrize("moment", ["after the rows", "before the commit"])
def test_a_writer_killed_in_a_transaction_leaves_nothing_of_it(tmp_path, moment):
    def journal():
        return Database(tmp_path / "ingress.db", ingress_schema.METADATA, "ingress")

    def batch(first):
        return [(Placed(number), {"update_id": number}) for number in range(first, first + 50)]

    def write_and_die():
        ingress = Ingress(journal())
        ingress.admit(batch(1), 50, 1, 1_000)
        with ingress.transaction() as tx:
            ingress.admit(batch(51), 100, 1, 2_000)
            if moment == "after the rows":
                # Large enough that SQLite has spilled the open transaction to the file.
                tx.exec_driver_sql("PRAGMA cache_size=1")
                ingress.admit(batch(101), 150, 1, 2_000)
            os.kill(os.getpid(), signal.SIGKILL)

    pid = start_forked(write_and_die)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    database = journal()
    ingress = Ingress(database)
    with database.read() as reader:
        stored = [row.update_id for row in reader.execute(select(UPDATES.c.update_id))]
    assert (stored, ingress.cursor()) == (list(range(1, 51)), 50)
    assert len(ingress.admit(batch(51), 100, 2, 3_000).new) == 50
    database.check()
    database.close()


def test_writers_of_one_database_wait_for_each_other(tmp_path):
    bus(tmp_path).open()
    owner = myself()
    database = bus(tmp_path)
    assert Lease(database).campaign(Lease(database).read(), owner, 0, "secret")
    database.close()

    def refresh():
        lease = Lease(bus(tmp_path))
        return all(lease.refresh(owner, 1, number) for number in range(50))

    assert run_forked([refresh] * 4) == [True] * 4


def test_a_lock_of_a_killed_holder_is_free_and_of_a_living_one_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("stores.private_files.LOCK_TRIES", 3)
    ready_read, ready_write = os.pipe()

    def hold():
        with file_lock(tmp_path / "lock"):
            os.write(ready_write, b".")
            signal.pause()

    pid = start_forked(hold)
    os.read(ready_read, 1)
    with pytest.raises(StoreBusy), file_lock(tmp_path / "lock"):
        pass
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with file_lock(tmp_path / "lock"):
        pass
    os.close(ready_read)
    os.close(ready_write)


def test_asking_who_writes_ends_no_lock_of_the_asker(tmp_path):
    database = bus(tmp_path)
    assert write_lock.holder(database.path) is None
    with database.transaction():
        # Asked again, the kernel would know of a lock that the first question ended.
        assert [write_lock.holder(database.path) for _ in range(2)] == [os.getpid()] * 2
    assert write_lock.holder(database.path) is None
    database.close()


def test_what_a_forked_process_writes_outlives_the_connection_of_its_parent(tmp_path):
    """The kernel knows its locks: else the last other connection would take the log of its writes away."""
    parents = bus(tmp_path)
    seen = Lease(parents).read()
    opened_read, opened = os.pipe()
    closed_read, closed = os.pipe()

    def write():
        childs = bus(tmp_path)
        Lease(childs).read()
        os.write(opened, b".")
        os.read(closed_read, 1)
        Lease(childs).campaign(seen, myself(), 1_000, "secret")

    pid = start_forked(write)
    os.read(opened_read, 1)
    parents.close()
    os.write(closed, b".")
    assert os.waitpid(pid, 0) == (pid, 0)
    for pipe in (opened_read, opened, closed_read, closed):
        os.close(pipe)
    again = bus(tmp_path)
    assert Lease(again).read().epoch == 1
    again.close()
