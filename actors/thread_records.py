"""The rows about threads, read into the book that the TargetProvisioner's plan decides on."""

from collections.abc import Mapping
from typing import Any

from actors.plans.thread_book import (
    BoundThread,
    CleanupIntent,
    RememberedName,
    Returning,
    ThreadBook,
    UnfinishedProvision,
)
from stores.bindings import Bindings
from stores.bus_settings import BusSettings
from stores.database import Database
from stores.identities import Identities
from stores.ingress import Ingress
from stores.pending_cleanups import PendingCleanups
from stores.pending_provisions import PendingProvisions
from stores.remembered_names import RememberedNames
from stores.reservations import Reservations


def thread_stores(bus: Database, ingress: Database) -> Mapping[str, Any]:
    """The stores that the plan's writes name, and two that are only read: who came back to what."""
    return {
        "identities": Identities(bus),
        "ingress": Ingress(ingress),
        "bindings": Bindings(bus),
        "pending_provisions": PendingProvisions(bus),
        "pending_cleanups": PendingCleanups(bus),
        "remembered_names": RememberedNames(bus),
        "reservations": Reservations(bus),
        "bus_settings": BusSettings(bus),
    }


def read_book(stores: Mapping[str, Any], now: int) -> ThreadBook:
    """All rows of one moment."""
    with stores["bindings"].database.read():
        return ThreadBook(
            bindings=tuple(_bound(record) for record in stores["bindings"].all()),
            provisions=tuple(_unfinished(one) for one in stores["pending_provisions"].all()),
            cleanups=tuple(_intent(one) for one in stores["pending_cleanups"].all()),
            names=tuple(_remembered(one) for one in stores["remembered_names"].all()),
            reserved=tuple(one.slot for one in stores["reservations"].live(now)),
            last_slot=stores["bus_settings"].last_slot(),
            returning=_returning(stores),
        )


def _returning(stores: Mapping[str, Any]) -> tuple[Returning, ...]:
    identities = stores["identities"].returning()
    if not identities:
        return ()
    waiting = {one.binding_key: one.count for one in stores["ingress"].waiting()}
    return tuple(
        Returning(one.binding_key, one.away_since_ms, waiting.get(one.binding_key, 0))
        for one in identities
    )


def _bound(record: Any) -> BoundThread:
    return BoundThread(
        binding_key=record.binding_key,
        chat_id=record.chat_id,
        thread_id=record.thread_id,
        status=record.status,
        thread_name=record.thread_name or "",
        slot=record.slot,
        instance_id=record.instance_id,
        inactive_since=record.inactive_since_ms,
    )


def _unfinished(record: Any) -> UnfinishedProvision:
    return UnfinishedProvision(
        provision_id=record.id,
        binding_key=record.binding_key,
        instance_id=record.instance_id,
        status=record.status,
        thread_name=record.thread_name or "",
        slot=record.slot,
        chat_id=record.chat_id,
        thread_id=record.thread_id,
        epoch=record.epoch,
    )


def _intent(record: Any) -> CleanupIntent:
    return CleanupIntent(
        cleanup_id=record.id,
        binding_key=record.binding_key or record.id,
        instance_id=record.instance_id,
        generation=record.generation,
        chat_id=record.chat_id,
        thread_id=record.thread_id,
    )


def _remembered(record: Any) -> RememberedName:
    return RememberedName(
        binding_key=record.binding_key,
        thread_name=record.thread_name,
        slot=record.slot,
    )
