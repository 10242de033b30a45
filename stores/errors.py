"""What can go wrong in a store: one base class, and the docstring of each kind is its message.

Messages are sentences a person can act on; they never carry a token, a secret or a row's content.
"""

from __future__ import annotations

from collections.abc import Iterable


class StoreError(Exception):
    """The stored state could not be used."""

    def __init__(self, detail: str = "") -> None:
        sentence = (type(self).__doc__ or "").strip().splitlines()[0]
        super().__init__(f"{sentence} {detail}" if detail else sentence)
        self.detail = detail


class SchemaTooNew(StoreError):
    """This data was written by a newer version of Switchboard; nothing was changed."""


class StoreDamaged(StoreError):
    """A data file is damaged; it was left as it is."""


class StoreBusy(StoreError):
    """Another process holds a data file for too long."""


class StoreUnavailable(StoreError):
    """A data file cannot be opened, read or written."""


class StoreInconsistent(StoreError):
    """A write would break a rule of the stored data; nothing was written."""


class StoreMisused(StoreError):
    """A store was used in a way that can lose data; this is a defect of the program."""


class Deposed(StoreError):
    """This process does not lead any more; nothing was written."""


class HomeUnusable(StoreError):
    """The home directory cannot be used."""


class ConfigMalformed(StoreError):
    """The configuration cannot be read; nothing was changed."""


class SlotTaken(StoreError):
    """Another thread holds this slot letter; nothing was written."""


class UnknownRecord(StoreError):
    """There is no such record; nothing was written."""


class IngressConflict(StoreError):
    """An update came again with other content; the first one was kept and nothing was written."""

    def __init__(self, update_ids: Iterable[int] = ()) -> None:
        self.update_ids = tuple(update_ids)
        super().__init__(f"({', '.join(map(str, self.update_ids))})")


class IdentityMismatch(StoreError):
    """Updates of another bot are still waiting here; nothing was written."""


class CapacityReached(StoreError):
    """Too many updates are waiting; nothing was written."""


class DeliveryConflict(StoreError):
    """A delivery came again with other content; the first one was kept."""
