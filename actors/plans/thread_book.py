"""The rows that decisions about threads are made on, as one consistent view.

The TargetProvisioner is the only writer of these tables while it leads, so a book that was read at the
beginning of a step is true until that step has written.
"""

import dataclasses

CURRENT = ("active", "starting")


@dataclasses.dataclass(frozen=True, slots=True)
class BoundThread:
    """A binding: who has which thread, letter and name."""

    binding_key: str
    chat_id: int
    thread_id: int | None
    status: str
    thread_name: str
    slot: str | None
    instance_id: str | None
    inactive_since: int | None = None

    @property
    def is_current(self) -> bool:
        """Whether it is in use as it stands."""
        return self.status in CURRENT


@dataclasses.dataclass(frozen=True, slots=True)
class UnfinishedProvision:
    """The write-ahead row of a creation; without a thread nobody knows whether it happened."""

    provision_id: str
    binding_key: str
    instance_id: str
    status: str
    thread_name: str
    slot: str | None
    chat_id: int
    thread_id: int | None
    epoch: int


@dataclasses.dataclass(frozen=True, slots=True)
class CleanupIntent:
    """The write-ahead row of a deletion."""

    cleanup_id: str
    binding_key: str
    instance_id: str
    generation: str
    chat_id: int
    thread_id: int


@dataclasses.dataclass(frozen=True, slots=True)
class RememberedName:
    """What a binding was called when its row was last written."""

    binding_key: str
    thread_name: str | None
    slot: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Returning:
    """A process that just came back: when the one before it ended, 0 where nobody knows, and what waits."""

    binding_key: str
    away_since: int
    waiting: int


@dataclasses.dataclass(frozen=True)
class ThreadBook:
    """All of it."""

    bindings: tuple[BoundThread, ...] = ()
    provisions: tuple[UnfinishedProvision, ...] = ()
    cleanups: tuple[CleanupIntent, ...] = ()
    names: tuple[RememberedName, ...] = ()
    reserved: tuple[str, ...] = ()
    """Letters that are kept off the market for a while."""
    last_slot: str | None = None
    returning: tuple[Returning, ...] = ()

    def binding(self, binding_key: str) -> BoundThread | None:
        """The binding of this key."""
        return next((one for one in self.bindings if one.binding_key == binding_key), None)

    def provision(self, binding_key: str) -> UnfinishedProvision | None:
        """The creation that this key has not finished."""
        return next((one for one in self.provisions if one.binding_key == binding_key), None)

    def remembered(self, binding_key: str) -> RememberedName | None:
        """The former name of this key."""
        return next((one for one in self.names if one.binding_key == binding_key), None)

    def comes_back(self, binding_key: str) -> Returning | None:
        """That the process of this key was away."""
        return next((one for one in self.returning if one.binding_key == binding_key), None)

    def holder(self, chat_id: int, thread_id: int) -> BoundThread | None:
        """The binding that has this thread."""
        return next(
            (one for one in self.bindings if (one.chat_id, one.thread_id) == (chat_id, thread_id)),
            None,
        )

    def names_but(self, binding_key: str) -> tuple[str, ...]:
        """The names that others have or are about to get."""
        bound = {one.binding_key: one.thread_name for one in self.bindings}
        creating = {one.binding_key: one.thread_name for one in self.provisions}
        return tuple(
            name
            for key, name in (*bound.items(), *creating.items())
            if key != binding_key
        )

    def knows(self, thread_id: int) -> bool:
        """Whether a binding or a creation has this thread already."""
        bound = any(one.thread_id == thread_id for one in self.bindings)
        return bound or any(one.thread_id == thread_id for one in self.provisions)

    def slots_of_creations_but(self, binding_key: str) -> frozenset[str]:
        """The letters that others are about to get, or that are reserved."""
        creating = {one.slot for one in self.provisions if one.binding_key != binding_key}
        return frozenset({slot for slot in creating if slot} | set(self.reserved))
