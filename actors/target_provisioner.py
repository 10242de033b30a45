"""TargetProvisioner: the threads of the bot, from reuse to clean-up.

It is the only writer of bindings, pending provisions and pending cleanups while this instance leads, and
talks to Telegram through the gateway alone. The FollowerMutations ask it, one change of a binding at a
time; the Leader has it finish what an earlier leader meant to delete; the Inbox tells it which threads
Telegram reports. It promises that no thread is created twice for one binding and that none is deleted
without an intent on record.
"""

from collections.abc import Mapping
from typing import Any

from actors.base import PlanActor
from actors.faults import fault
from actors.plans.effects import Write
from actors.plans.target_provisioner import TargetProvisionerPlan
from actors.plans.thread_book import ThreadBook
from actors.thread_records import read_book, thread_stores
from actors.tree_stores import open_bus, open_ingress
from messages.envelope import Envelope
from stores.errors import Deposed


class TargetProvisioner(PlanActor):
    """Threads: reuse, probe, create, restore, clean up."""

    def first_plan(self, settings: Mapping[str, Any]) -> TargetProvisionerPlan:
        """Nothing is under way; what an earlier life left is in the rows."""
        return TargetProvisionerPlan(chat_id=settings["chat_id"], epoch=settings["epoch"])

    def open_stores(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is written is in one database, so that what belongs together is one write."""
        return thread_stores(open_bus(settings), open_ingress(settings))

    def step(self, handler: str, *arguments: Any) -> None:
        """Every decision sees the rows as they are now."""
        book = read_book(self.stores, self.clock().wall)
        try:
            super().step(handler, *arguments, book)
        except Deposed:
            self._leave_word(arguments, book)
            raise

    def answered(self, envelope: Envelope) -> None:
        """As with every actor; a thread that was just made is the place of a fault point."""
        if (envelope.in_reply_to or "").endswith("/create"):
            fault("provisioner.after-create")
        super().answered(envelope)

    def written(self, writes: list[Write]) -> None:
        """A creation is on record, and not begun."""
        if any(write.method == "begin" for write in writes):
            fault("provisioner.before-create")

    def _leave_word(self, arguments: tuple[Any, ...], book: ThreadBook) -> None:
        """The next leader must know of a thread that Telegram made for this one."""
        said = arguments[0] if arguments else None
        if isinstance(said, Envelope) and said.in_reply_to is not None:
            self.perform(self.plan.evidence(said.in_reply_to, said.body, book))
