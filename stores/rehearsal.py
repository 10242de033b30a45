"""A thread's first life, played on empty databases in memory.

SQLAlchemy compiles a statement when it is first run, which takes several times as long as running it. What
was compiled before a fork need not be compiled after it: the launcher of a process that may soon lead plays
this while nobody waits, and the actors that it forks for a takeover find their first statements ready. What
is left out here is no mistake, it only takes its time later.
"""

from __future__ import annotations

from types import SimpleNamespace

from stores.bindings import Bindings
from stores.bus_schema import METADATA as BUS_METADATA
from stores.bus_settings import BusSettings
from stores.database import Database, DatabaseInMemory
from stores.identities import Identities
from stores.ingress import Ingress
from stores.ingress_schema import METADATA as INGRESS_METADATA
from stores.lease import Lease, Owner
from stores.message_ownership import MessageOwnership
from stores.pairing import Pairing
from stores.pending_cleanups import PendingCleanups
from stores.pending_provisions import PendingProvisions
from stores.process_birth import Liveness
from stores.refusals import Refusals
from stores.remembered_names import RememberedNames
from stores.reservations import Reservations
from stores.updates import PENDING

_OWNER = Owner(pid=1, boot_id="boot", birth="1:start:1", instance_id="instance")
_CHAT, _THREAD, _SLOT, _NAME = 1, 2, "A", "name"


def rehearse() -> None:
    """Compile what a leader asks of its stores when it begins and serves; leaves nothing but that."""
    bus = DatabaseInMemory(BUS_METADATA, "bus")
    ingress = DatabaseInMemory(INGRESS_METADATA, "ingress")
    try:
        with bus.transaction(), ingress.transaction():
            epoch = _come_to_lead(bus)
            binding_key = _come_back_to_a_thread(bus, epoch)
            _hand_over_an_update(bus, ingress, binding_key, epoch)
    finally:
        bus.close()
        ingress.close()


def _come_to_lead(bus: Database) -> int:
    lease, settings = Lease(bus), BusSettings(bus)
    granted = lease.campaign(lease.read(), _OWNER, 0, "secret")
    assert granted is not None
    for _ in ("the first time", "ever after"):
        settings.record_led(granted.epoch, 0)
    settings.led_before()
    lease.refresh(_OWNER, granted.epoch, 0)
    lease.publish_endpoint(_OWNER, granted.epoch, "endpoint")
    lease.epoch_holds(_OWNER, granted.epoch, 0)
    return granted.epoch


def _come_back_to_a_thread(bus: Database, epoch: int) -> str:
    identities, bindings, ownership = Identities(bus), Bindings(bus), MessageOwnership(bus)
    key = identities.claim("base", _OWNER, lambda *_: Liveness.ALIVE, 0).binding_key
    for rows in (bindings, PendingProvisions(bus), PendingCleanups(bus), RememberedNames(bus)):
        rows.all()
    Reservations(bus).live(0)
    BusSettings(bus).last_slot()
    identities.returning()
    thread = (key, _CHAT, _THREAD, _SLOT, _NAME, _OWNER.instance_id, epoch, 0)
    bindings.record_starting(*thread)
    bindings.record_active(*thread)
    bindings.get(key)
    ownership.record(_CHAT, 1, key, _THREAD, _OWNER.instance_id, "1", epoch, 0)
    ownership.rebind(key, _OWNER.instance_id, "2", epoch, 0)
    return key


def _hand_over_an_update(bus: Database, ingress_file: Database, key: str, epoch: int) -> None:
    ingress = Ingress(ingress_file)
    ingress.bind_identity(1, "fingerprint", epoch)
    # What an admission looks up.
    MessageOwnership(bus).find(_CHAT, 1)
    ingress.message_binding(_CHAT, 1)
    ingress.get(1)
    Pairing(bus).read()
    Refusals(bus).last([1])
    place = SimpleNamespace(
        update_id=1, kind="message", fate=PENDING, reason="", chat_id=_CHAT, thread_id=_THREAD,
        message_id=2, from_id=1, binding_key=key,
    )
    ingress.admit([(place, {"update_id": 1})], 1, epoch, 0)
    ingress.waiting()
    ingress.oldest_due([key], 0)
    ingress.unasked()
    ingress.settle_done(1, epoch, 0)
    ingress.forget_notice(key, epoch)
    ingress.counts()
