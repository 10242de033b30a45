"""The Inbox: the intake journal. It admits updates, decides whose they are, and settles them.

It owns `ingress.db`; the bindings, identities and owners of messages it only reads. After every step it
looks for what can go out now, so nothing depends on a wakeup that might be lost.
"""

from collections.abc import Mapping
from typing import Any

from actors.base import PlanActor
from actors.clock import said_time
from actors.faults import fault
from actors.plans.absences import Absent, Welcome
from actors.plans.choosing import choice_of
from actors.plans.effects import Write
from actors.plans.inbox import AdmissionFacts, InboxPlan, offset_from
from actors.plans.place import shown_directory
from actors.plans.routing import Known, messages_referred_to, sender_of
from actors.tree_stores import open_bus, open_ingress
from messages.envelope import Envelope
from messages.inbox import AdmitUpdates, SettleByHand
from stores.bindings import Bindings
from stores.bus_settings import BusSettings
from stores.identities import Identities
from stores.ingress import Ingress
from stores.message_ownership import MessageOwnership
from stores.pairing import Pairing
from stores.process_birth import Liveness, liveness
from stores.refusals import Refusals
from stores.updates import DEAD, Waiting

KEEP_DONE_MS = 7 * 24 * 3_600_000
KEEP_NEWEST = 5_000
"""Settled updates tell whose a message was, so the newest are kept however old they are."""
FORGET_EVERY = 500
PUMPING = frozenset(
    {
        "on_configured",
        "on_admit_updates",
        "on_wakeup_look_again",
        "on_wakeup_retry",
        "on_wakeup_welcome",
    }
)
"""Steps that are looked after even if they left the plan as it was."""


class Inbox(PlanActor):
    """The journal between the poller and the followers."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = 0
        self._pumping = False

    def open_stores(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """The journal, and what is read of the others' tables."""
        bus = open_bus(settings)
        return {
            "ingress": Ingress(open_ingress(settings)),
            "bindings": Bindings(bus),
            "bus_settings": BusSettings(bus),
            "identities": Identities(bus),
            "message_ownership": MessageOwnership(bus),
            "pairing": Pairing(bus),
            "refusals": Refusals(bus),
        }

    def first_plan(self, settings: Mapping[str, Any]) -> InboxPlan:
        """Nobody is known to be reachable yet."""
        return InboxPlan(epoch=settings["epoch"])

    def configured(self) -> None:
        """Bind the journal to its bot, and ask who is there."""
        self.step(
            "on_configured",
            self.settings["bot_id"],
            self.settings["token_fingerprint"],
            self._gone_at(),
            self._welcome(),
        )

    def _gone_at(self) -> Mapping[str, int]:
        """The binding of the leader that this one succeeds, and when that was heard of last."""
        gone = self.settings.get("took_over_from", "")
        known = self.stores["identities"].all() if gone else ()
        return {
            one.binding_key: self.settings["predecessor_heard_at"]
            for one in known
            if one.held_by(gone)
        }

    def _welcome(self) -> Welcome | None:
        """That the leading instance came back to a thread it had; read before anybody is told of it."""
        own = self.settings["owner"]["instance_id"]
        for one in self.stores["identities"].returning():
            bound = self.stores["bindings"].get(one.binding_key)
            if one.held_by(own) and bound is not None and self._is_here(bound):
                return Welcome(
                    one.binding_key, bound.chat_id, bound.thread_id, one.away_since_ms or 0
                )
        return None

    def _is_here(self, bound: Any) -> bool:
        return bool(bound.chat_id == self.settings["chat_id"])

    # -- rows that decisions need ---------------------------------------------------------------

    def read_fetch_cursor(self, body: Any) -> int | None:
        """Where polling goes on."""
        cursor = self.stores["ingress"].cursor()
        return offset_from(cursor, self.stores["ingress"].received_ms(cursor), self.clock().wall)

    def read_admit_updates(self, body: AdmitUpdates) -> AdmissionFacts:
        """What routing may know about this batch."""
        chat_id = self.settings["chat_id"]
        referred = [i for update in body.updates for i in messages_referred_to(update)]
        sent = self.stores["message_ownership"].find_many(chat_id, referred)
        received = self.stores["ingress"].message_bindings(chat_id, referred)
        held = [one for one in self.stores["bindings"].all() if one.chat_id == chat_id]
        plain = next((one.binding_key for one in held if one.thread_id is None), None)
        known = Known(
            bot_id=self.settings["bot_id"],
            owner_id=self.settings["owner_id"],
            chat_id=chat_id,
            by_thread={one.thread_id: one.binding_key for one in held if one.thread_id is not None},
            by_message={**received, **{i: record.binding_key for i, record in sent.items()}},
            sole_binding=plain,
            held_before_ms=self.stores["bus_settings"].first_started_ms(),
        )
        ids = [i for update in body.updates if isinstance(i := update.get("update_id"), int)]
        strangers = set(map(sender_of, body.updates)) - {known.owner_id, None}
        choices = [choice for choice in map(choice_of, body.updates) if choice is not None]
        return AdmissionFacts(
            cursor=self.read_fetch_cursor(body),
            known=known,
            choices=self.stores["ingress"].by_ids([choice.update_id for choice in choices]),
            stored=frozenset(self.stores["ingress"].by_ids(ids)),
            pairing=self.stores["pairing"].read(),
            refused=self.stores["refusals"].last(strangers),
        )

    def read_settle_by_hand(self, body: SettleByHand) -> bool:
        """Whether the update was given up and waits for a decision."""
        row = self.stores["ingress"].get(body.update_id)
        return row is not None and row.state == DEAD

    def read_wakeup_look_again(self) -> bool:
        """Whether anything waits for a process that is not reachable, or for a choice."""
        waiting = self.stores["ingress"].waiting()
        missed = any(one.binding_key not in self.plan.reachable for one in waiting)
        return missed or not self.plan.reachable

    def read_wakeup_missed(self) -> tuple[Absent, ...]:
        """The bindings whose process is proven dead."""
        noticed = self.stores["ingress"].noticed()
        found = []
        for bound in self.stores["bindings"].all():
            identity = self.stores["identities"].get(bound.binding_key)
            if self._is_here(bound) and self._is_lost(identity):
                is_noticed = bound.binding_key in noticed
                found.append(self._missed(bound.binding_key, is_noticed, bound.thread_id, identity))
        return tuple(found)

    def _is_silent(self, identity: Any) -> bool:
        """Whether its process is there and does not speak to us."""
        owner = identity.owner if identity is not None else None
        if owner is None:
            return False
        return liveness(owner.pid, owner.boot_id, owner.birth) is not Liveness.DEAD

    def _is_lost(self, identity: Any) -> bool:
        """Whether its process died; of one that is not ours nobody knows whether it meant to end."""
        owner = identity.owner if identity is not None else None
        if owner is None or identity.farewell_ms is not None:
            return False
        return liveness(owner.pid, owner.boot_id, owner.birth) is Liveness.DEAD

    # -- fault points ---------------------------------------------------------------------------

    def decide(self, envelope: Envelope) -> None:
        """As with every actor."""
        match envelope.kind:
            case "AdmitUpdates":
                fault("inbox.before-admit")
            case "UpdateForwarded":
                fault("inbox.after-receipt")
        super().decide(envelope)

    def written(self, writes: list[Write]) -> None:
        """A batch is admitted."""
        if any(write.method == "admit" for write in writes):
            fault("inbox.after-admit")

    # -- the pump -------------------------------------------------------------------------------

    def step(self, handler: str, *arguments: Any) -> None:
        """A step that changed anything is followed by a look at what can go out now."""
        before = self.plan
        super().step(handler, *arguments)
        if not self._pumping and (self.plan is not before or handler in PUMPING):
            self._pumping = True
            try:
                self._pump()
            finally:
                self._pumping = False

    def _pump(self) -> None:
        ingress, now = self.stores["ingress"], self.clock().wall
        # Read once: nothing below changes what waits for a binding but letting go of the ownerless.
        waiting = self._without_ownerless(ingress.waiting())
        self._say_welcome(waiting)
        busy = {row.binding_key for row in self.plan.under_way.values()}
        free = [key for key in self.plan.reachable if key not in busy]
        if free:
            due = ingress.oldest_due(free, now)
            if due:
                fault("inbox.before-forward")
                super().step("on_due", due)
        if self.plan.reachable:
            unasked = ingress.unasked()
            if unasked:
                super().step("on_unasked", unasked)
        absent = tuple(
            self._absent(one)
            for one in waiting
            if one.binding_key not in self.plan.reachable
        )
        if absent or self.plan.absent_since:
            super().step("on_absent", absent)
        self._forget()

    def _without_ownerless(self, waiting: tuple[Waiting, ...]) -> tuple[Waiting, ...]:
        """What waits for a thread that was deleted must not go to whoever starts the same again.

        A process that is there is getting another thread at this moment, or ends with what waits for it.
        """
        owned = []
        for one in waiting:
            if self._is_owned(one.binding_key):
                owned.append(one)
            else:
                super().step("on_ownerless", one.binding_key)
        return tuple(owned)

    def _is_owned(self, key: str) -> bool:
        if key in self.plan.reachable or self.stores["bindings"].get(key) is not None:
            return True
        return self._is_silent(self.stores["identities"].get(key))

    def _say_welcome(self, waiting: tuple[Waiting, ...]) -> None:
        """Before anything is handed to the own process, its thread is told that it is back."""
        back = self.plan.welcome
        if back is None or not back.due:
            return
        count = sum(one.count for one in waiting if one.binding_key == back.binding_key)
        super().step("on_welcome_due", count)

    def _absent(self, waiting: Any) -> Absent:
        identity = self.stores["identities"].get(waiting.binding_key)
        # A process that ended in order has said so itself.
        is_told = identity is not None and identity.farewell_ms is not None
        noticed = waiting.noticed or is_told
        return self._missed(waiting.binding_key, noticed, waiting.thread_id, identity)

    def _missed(
        self, binding_key: str, noticed: bool, thread_id: int | None, identity: Any
    ) -> Absent:
        gone_at = self.plan.gone_at.get(binding_key)
        home = self.settings.get("user_home", "")
        return Absent(
            binding_key=binding_key,
            noticed=noticed,
            chat_id=self.settings["chat_id"],
            thread_id=thread_id,
            directory=shown_directory(identity.directory or "", home) if identity else None,
            command=identity.command if identity else None,
            lost=not noticed and self._is_lost(identity),
            silent=not noticed and self._is_silent(identity),
            time=None if gone_at is None else said_time(gone_at, self.clock().wall),
        )

    def _forget(self) -> None:
        self._steps += 1
        if self._steps % FORGET_EVERY == 0:
            self.stores["ingress"].forget_done(
                self.clock().wall - KEEP_DONE_MS, KEEP_NEWEST, self.settings["epoch"]
            )

    def describe(self) -> dict[str, Any]:
        """For status: the counts of rows, beside what the plan knows."""
        counts = self.stores["ingress"].counts()
        return {
            "pending": counts.pending,
            "retrying": counts.retrying,
            "queued": counts.queued,
            "dead": counts.dead,
            **super().describe(),
        }
