"""The plan of the TargetProvisioner at work on real stores, with Telegram played by the test.

What happens is recorded in order: `("write", method)`, `("call", method)`, `("reply", command id)`,
`("event", action)`.
"""

import contextlib
from typing import Any

from actors.correspondence import Unanswered
from actors.plans.effects import Notify, Reply, Send, WakeAfter, Write, in_order
from actors.plans.target_provisioner import TargetProvisionerPlan
from actors.thread_records import read_book, thread_stores
from messages.actor import CommandFailed
from messages.envelope import Envelope
from messages.kind import dump_body
from messages.target_provisioner import (
    PreserveTarget,
    ProvisionTarget,
    RemoveTarget,
    ReplaceTarget,
    ReplayCleanups,
    TopicCreatedSeen,
)
from messages.telegram_gateway import TelegramAnswered, TelegramRefused
from stores.database import Database
from stores.errors import Deposed
from stores.ingress_schema import METADATA as INGRESS_METADATA
from stores.lease import Lease
from tests.support.manual_clock import ManualClock
from tests.support.stores import BEN, CHAT

NOT_FOUND = "Bad Request: message thread not found"
ID_INVALID = "Bad Request: TOPIC_ID_INVALID"
NOT_MODIFIED = "Bad Request: TOPIC_NOT_MODIFIED"


class ThreadDesk:
    """Say commands, look at `calls`, answer them."""

    def __init__(self, database: Database, epoch: int, chat_id: int = CHAT) -> None:
        self.database = database
        self.epoch = epoch
        self.chat_id = chat_id
        self.ingress = Database(
            database.path.with_name("ingress.db"), INGRESS_METADATA, "ingress"
        )
        self.stores = thread_stores(database, self.ingress)
        self.clock = ManualClock()
        self.plan = TargetProvisionerPlan(chat_id=chat_id, epoch=epoch)
        self.log: list[tuple[str, str]] = []
        self.calls: list[Send] = []
        self.replies: dict[str, Any] = {}
        self.events: list[Notify] = []
        self._woken: set[str] = set()
        self._said = 0

    # -- what others say ------------------------------------------------------------------------

    def provision(self, key: str = "manual:a", instance: str = "1:1", **fields: Any) -> str:
        """Ask for a thread; returns the id of the command."""
        wanted = {"thread_name": "api · claude", "place": "~/api on workstation", **fields}
        return self.say(ProvisionTarget(binding_key=key, instance_id=instance, **wanted))

    def replace(self, thread: int, key: str = "manual:a", instance: str = "1:1", **more: Any) -> str:
        """Say that a thread is gone."""
        error = more.get("error", NOT_FOUND)
        return self.say(
            ReplaceTarget(binding_key=key, instance_id=instance, thread_id=thread, error=error)
        )

    def remove(self, key: str = "manual:a", instance: str = "1:1", generation: str = "g1") -> str:
        """Have a thread deleted."""
        return self.say(
            RemoveTarget(binding_key=key, instance_id=instance, generation=generation)
        )

    def preserve(self, key: str = "manual:a", instance: str = "1:1") -> str:
        """Have a thread kept without its process."""
        return self.say(PreserveTarget(binding_key=key, instance_id=instance))

    def replay(self) -> str:
        """Take up old intents."""
        return self.say(ReplayCleanups())

    def see_created(self, thread: int, name: str = "api · claude") -> None:
        """Telegram reports a thread of the bot."""
        self.say(TopicCreatedSeen(chat_id=self.chat_id, thread_id=thread, name=name))

    def say(self, body: Any) -> str:
        """Any message; afterwards everything that goes on by itself has gone on."""
        self._said += 1
        envelope = Envelope(body, f"c{self._said}", "target_provisioner")
        self._hear(envelope)
        return envelope.message_id

    # -- what Telegram says ---------------------------------------------------------------------

    def answer(self, result: Any = True) -> None:
        """The oldest call succeeded."""
        self.tell(TelegramAnswered(result=result))

    def created(self, thread: int) -> None:
        """The oldest call made this thread."""
        self.answer({"message_thread_id": thread, "name": "api · claude"})

    def sent(self, thread: int) -> None:
        """The oldest call put a message into this thread."""
        self.answer({"message_id": 1, "message_thread_id": thread})

    def refuse(
        self, text: str = "no connection", outcome: str = "rejected", code: int | None = 400
    ) -> None:
        """The oldest call did not succeed."""
        self.tell(TelegramRefused(outcome=outcome, description=text, error_code=code))

    def tell(self, body: TelegramAnswered | TelegramRefused | CommandFailed) -> None:
        """Any answer to the oldest call."""
        call = self.calls.pop(0)
        self._hear(
            Envelope(body, "x", "target_provisioner", in_reply_to=call.message_id)
        )

    def leave_unanswered(self, reason: str = "peer-replaced") -> None:
        """The oldest call will never be answered."""
        call = self.calls.pop(0)
        self._step("on_unanswered", Unanswered(call.message_id or "", call.body, reason))
        self.settle()

    # -- the world ------------------------------------------------------------------------------

    def depose(self) -> None:
        """Another instance takes the lease."""
        lease = Lease(self.database)
        assert lease.campaign(lease.read(), BEN, 2_000, "other") is not None

    def succeed(self) -> None:
        """A later provisioner takes over, with the epoch of the lease as it is."""
        self.epoch = Lease(self.database).read().epoch
        self.plan = TargetProvisionerPlan(chat_id=self.chat_id, epoch=self.epoch)
        self.calls.clear()
        self._woken.clear()

    def connected(self, key: str = "manual:a", instance: str = "1:1", thread: int = 10) -> None:
        """A follower that has got its thread, announced and answered; nothing of it in the log."""
        self.provision(key, instance, thread_name=f"name of {key}")
        self.created(thread)
        self.sent(thread)
        self.log.clear()
        self.events.clear()

    def settle(self) -> None:
        """Let everything go on that goes on by itself."""
        while "advance" in self._woken:
            self._woken.discard("advance")
            self._step("on_wakeup_advance")

    def ring(self, reason: str) -> None:
        """A wakeup rings."""
        self._step(f"on_wakeup_{reason}")
        self.settle()

    @property
    def methods(self) -> list[str]:
        """The Telegram methods called, in order."""
        return [what for kind, what in self.log if kind == "call"]

    def params(self) -> Any:
        """The parameters of the oldest call."""
        return self.calls[0].body.params

    def binding(self, key: str = "manual:a") -> Any:
        """The row of a binding."""
        return self.stores["bindings"].get(key)

    def pending(self, key: str = "manual:a") -> Any:
        """The write-ahead row of a creation."""
        return self.stores["pending_provisions"].for_binding(key)

    def intents(self) -> Any:
        """The write-ahead rows of deletions."""
        return self.stores["pending_cleanups"].all()

    def event(self, action: str) -> Notify:
        """The event of this name."""
        return next(event for event in self.events if event.action == action)

    # -- how ------------------------------------------------------------------------------------

    def _hear(self, envelope: Envelope) -> None:
        handler = {
            "ProvisionTarget": "on_provision_target",
            "ReplaceTarget": "on_replace_target",
            "RemoveTarget": "on_remove_target",
            "PreserveTarget": "on_preserve_target",
            "CloseTarget": "on_close_target",
            "RenameTarget": "on_rename_target",
            "ReplayCleanups": "on_replay_cleanups",
            "TopicCreatedSeen": "on_topic_created_seen",
            "TelegramAnswered": "on_telegram_answered",
            "TelegramRefused": "on_telegram_refused",
            "CommandFailed": "on_command_failed",
        }[envelope.kind]
        book = read_book(self.stores, self.clock.wall)
        try:
            self._step(handler, envelope)
            self.settle()
        except Deposed:
            if envelope.in_reply_to is not None:
                self._perform(self.plan.evidence(envelope.in_reply_to, envelope.body, book))
            raise

    def _step(self, handler: str, *arguments: Any) -> None:
        book = read_book(self.stores, self.clock.wall)
        plan, effects = getattr(self.plan, handler)(*arguments, book, self.clock())
        self._perform(effects)
        self.plan = plan

    def _perform(self, effects: Any) -> None:
        ordered = in_order(effects)
        writes = [effect for effect in ordered if isinstance(effect, Write)]
        with self.database.transaction() if writes else contextlib.nullcontext():
            for write in writes:
                getattr(self.stores[write.store], write.method)(**write.arguments)
        self.log += [("write", write.method) for write in writes]
        for effect in ordered[len(writes):]:
            match effect:
                case Send(to="leader", body=body):
                    dump_body(body)
                    self.log.append(("told", body.KIND))
                case Send(body=body):
                    dump_body(body)
                    self.calls.append(effect)
                    self.log.append(("call", body.method))
                case Reply(command_id=command_id, body=body):
                    dump_body(body)
                    assert command_id not in self.replies, "answered twice"
                    self.replies[command_id] = body
                    self.log.append(("reply", command_id))
                case Notify(action=action):
                    self.events.append(effect)
                    self.log.append(("event", action))
                case WakeAfter(reason=reason):
                    self._woken.add(reason)
