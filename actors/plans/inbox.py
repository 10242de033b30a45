"""What the Inbox decides: where updates belong, who gets one next, and what happens to the rest.

Rows live in `ingress.db`; this state holds only what is under way. One update at a time goes to a
binding, in order of arrival; a failed one waits its turn again and lets the others pass.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.absences import NOTICE_GRACE_MS, WELCOME_WITHIN_MS, Absent, Welcome, notice, welcome
from actors.plans.choosing import ask_which, asked_about, choice_of, settle_choice
from actors.plans.effects import Effects, Notify, Now, Reply, Send, WakeAfter, Write
from actors.plans.front_door import FrontDoor
from actors.plans.routing import FORWARD_KINDS, Known, Routed, created_topic, route
from actors.plans.telegram_verdict import Meaning, verdict
from messages.follower_registry import DescribeFollowers, ForwardUpdate
from messages.inbox import (
    AdmissionRefused,
    CursorFetched,
    SettledByHand,
    UpdatesAdmitted,
)
from messages.target_provisioner import TopicCreatedSeen

FORWARD_DEADLINE_MS = 40_000
"""A relay waits 30 s for its follower; this is longer, so that its failure arrives as an answer."""
RETRY_BASE_MS, RETRY_CAP_MS = 1_000, 60_000
LOOK_AGAIN_MS = 5_000


ID_SEQUENCE_MS = 6 * 24 * 3_600_000
"""After a week without an update Telegram goes on with any number, a lower one as well."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reachable:
    """A live follower as the inbox sees it."""

    thread_name: str
    slot: str


def offset_from(cursor: int | None, received_ms: int | None, now_wall: int) -> int | None:
    """The cursor while it says where polling goes on; None once the next update may have any id.

    `received_ms` is when the update at the cursor came. Telegram keeps no update for that long, so
    polling without an offset brings nothing again.
    """
    is_in_sequence = received_ms is not None and now_wall - received_ms < ID_SEQUENCE_MS
    return cursor if is_in_sequence else None


@dataclasses.dataclass(frozen=True, slots=True)
class AdmissionFacts:
    """Rows read for a batch: where polling goes on, ids that are stored, what routing may know, chooser rows by id."""

    cursor: int | None
    known: Known
    choices: Mapping[int, Any]
    stored: frozenset[int] = frozenset()
    pairing: Any = None
    refused: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """When the strangers among the senders were told last that the bot is private."""


@dataclasses.dataclass(frozen=True)
class InboxPlan:
    """State: who can be reached, what is under way, who was told what."""

    epoch: int
    reachable: Mapping[str, Reachable] = dataclasses.field(default_factory=dict)
    under_way: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    asking: frozenset[int] = frozenset()
    unheard: frozenset[int] = frozenset()
    """The updates whose question did not go out; the others of `asking` may still be on their way."""
    absent_since: Mapping[str, int] = dataclasses.field(default_factory=dict)
    gone_at: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """When a process was seen to go, on the wall clock; it may only have changed its connection."""
    welcome: Welcome | None = None
    """That the leading instance itself came back, until its thread is told."""
    tries: int = 0

    # -- intake ---------------------------------------------------------------------------------

    def on_configured(
        self,
        bot_id: int,
        token_fingerprint: str,
        gone_at: Mapping[str, int],
        back: Welcome | None,
        now: Now,
    ) -> tuple["InboxPlan", Effects]:
        """Bind the offset to its bot; ask who is there, the registry reports later arrivals by itself.

        `gone_at` tells of the leader before this one, `back` what the own thread is to be told.
        """
        identity = {
            "bot_id": bot_id,
            "token_fingerprint": token_fingerprint,
            "epoch": self.epoch,
        }
        return dataclasses.replace(self, gone_at=gone_at, welcome=back), (
            Write("ingress", "bind_identity", identity),
            Send("follower_registry", DescribeFollowers(), deadline_ms=60_000),
            WakeAfter("look_again", LOOK_AGAIN_MS),
            # Whoever died with the leader before this one has been away for long enough then.
            WakeAfter("missed", NOTICE_GRACE_MS),
        )

    def on_fetch_cursor(
        self, envelope: Any, cursor: int | None, now: Now
    ) -> tuple["InboxPlan", Effects]:
        """Tell the poller where to go on."""
        return self, (Reply(envelope.message_id, CursorFetched(cursor=cursor)),)

    def on_admit_updates(
        self, envelope: Any, facts: AdmissionFacts, now: Now
    ) -> tuple["InboxPlan", Effects]:
        """Journal a batch with its cursor, then deal with what needs no follower."""
        updates = envelope.body.updates
        disorder = _disorder(updates)
        if disorder:
            refused = AdmissionRefused(reason="disorder", text=disorder)
            return self, (Reply(envelope.message_id, refused),)
        # What is stored stays as it is, even if it comes again with other content.
        fresh = [
            update
            for update in updates
            if update["update_id"] not in facts.stored
            and (facts.cursor is None or update["update_id"] > facts.cursor)
        ]
        cursor = max([u["update_id"] for u in updates] + [facts.cursor or 0])
        routed, at_the_door = self._received(fresh, facts, now)
        effects: list[Any] = list(at_the_door)
        if fresh:
            arguments = {"batch": routed, "cursor": cursor, "epoch": self.epoch, "now": now.wall}
            effects.append(Write("ingress", "admit", arguments))
        plan = self._welcoming()
        for place, update in routed:
            plan, more = plan._after_admission(place, update, facts, now)
            effects += more
        effects.append(Reply(envelope.message_id, UpdatesAdmitted(cursor=cursor)))
        return plan, tuple(effects)

    def _received(
        self, fresh: list[Any], facts: AdmissionFacts, now: Now
    ) -> tuple[list[tuple[Routed, Any]], Effects]:
        """Where each belongs, after what is for the bot itself was taken out."""
        names = sorted(live.thread_name for live in self.reachable.values())
        door = FrontDoor(
            self.epoch, facts.known.owner_id, facts.pairing, facts.refused, tuple(names)
        )
        routed: list[tuple[Routed, Any]] = []
        effects: list[Any] = []
        for update in fresh:
            door, place, more = door.receive(route(update, facts.known), update, now)
            routed.append((place, update))
            effects += more
        return routed, tuple(effects)

    def _after_admission(
        self, place: Routed, update: Mapping[str, Any], facts: AdmissionFacts, now: Now
    ) -> tuple["InboxPlan", Effects]:
        if place.reason == "choice":
            choice = choice_of(update)
            row = facts.choices.get(choice.update_id) if choice else None
            return self, settle_choice(update, choice, row, self.reachable, self.epoch)
        if place.reason == "own-service-message":
            created = created_topic(update, facts.known.bot_id)
            if created is not None:
                chat_id, thread_id, name = created
                seen = TopicCreatedSeen(chat_id=chat_id, thread_id=thread_id, name=name)
                return self, (Send("target_provisioner", seen),)
        return self, ()

    # -- what operators decide -------------------------------------------------------------------

    def on_settle_by_hand(
        self, envelope: Any, is_dead: bool, now: Now
    ) -> tuple["InboxPlan", Effects]:
        """Try an update again that was given up, or drop it."""
        asked = envelope.body
        answer = Reply(envelope.message_id, SettledByHand(found=is_dead))
        if not is_dead:
            return self, (answer,)
        arguments = {"update_id": asked.update_id, "epoch": self.epoch, "now": now.wall}
        method = "revive" if asked.choice == "retry" else "settle_done"
        return self, (Write("ingress", method, arguments), answer, WakeAfter("retry", 1))

    # -- who is there ---------------------------------------------------------------------------

    def on_followers_described(self, envelope: Any, now: Now) -> tuple["InboxPlan", Effects]:
        """The registry's whole list replaces ours."""
        reachable = {
            follower["binding_key"]: Reachable(follower["thread_name"], follower["slot"])
            for follower in envelope.body.followers
            if follower["connected"]
        }
        if reachable == self.reachable:
            return self, ()
        return dataclasses.replace(self, reachable=reachable), ()

    def on_follower_registered(self, envelope: Any, now: Now) -> tuple["InboxPlan", Effects]:
        """A binding can be reached: what waits for it goes out."""
        said = envelope.body
        reachable = dict(self.reachable)
        reachable[said.binding_key] = Reachable(said.thread_name, said.slot)
        plan = dataclasses.replace(
            self,
            reachable=reachable,
            absent_since=_without(self.absent_since, said.binding_key),
            gone_at=_without(self.gone_at, said.binding_key),
        )
        forget = {"binding_key": said.binding_key, "epoch": self.epoch}
        effects: list[Any] = [Write("ingress", "forget_notice", forget)]
        if self.welcome is not None and self.welcome.binding_key == said.binding_key:
            effects.append(WakeAfter("welcome", WELCOME_WITHIN_MS))
        return plan, tuple(effects)

    def on_follower_unreachable(self, envelope: Any, now: Now) -> tuple["InboxPlan", Effects]:
        """Nobody is there: messages wait without limit and without counting as attempts."""
        key = envelope.body.binding_key
        if envelope.body.closed:
            return self._closed(key, now)
        gone_at = {key: now.wall, **self.gone_at}
        plan = dataclasses.replace(self._without(key), gone_at=gone_at)
        return plan, (WakeAfter("missed", NOTICE_GRACE_MS),)

    def _closed(self, key: str, now: Now) -> tuple["InboxPlan", Effects]:
        """The thread is deleted: what waits there is dropped, as its owner was told before they agreed."""
        arguments = {"binding_key": key, "epoch": self.epoch, "now": now.wall}
        drop = Write("ingress", "drop_waiting", arguments)
        return self._without(key), (drop, Notify("inbox.thread_closed", {"binding_key": key}))

    def on_ownerless(self, binding_key: str, now: Now) -> tuple["InboxPlan", Effects]:
        """Its thread was deleted by itself, or nobody heard of it: whose is what still waits there?"""
        arguments = {"binding_key": binding_key, "epoch": self.epoch, "now": now.wall}
        noted = Notify("inbox.ownerless", {"binding_key": binding_key}, "WARNING")
        return self, (Write("ingress", "ask_about_waiting", arguments), noted)

    def _without(self, binding_key: str) -> "InboxPlan":
        return dataclasses.replace(self, reachable=_without(self.reachable, binding_key))

    def on_wakeup_look_again(self, missed: bool, now: Now) -> tuple["InboxPlan", Effects]:
        """Compare with the registry while somebody is missed: a report may have been lost with an actor."""
        again = WakeAfter("look_again", LOOK_AGAIN_MS)
        if not missed:
            return self, (again,)
        return self, (
            Send("follower_registry", DescribeFollowers(), deadline_ms=LOOK_AGAIN_MS),
            again,
        )

    # -- forwarding -----------------------------------------------------------------------------

    def on_due(self, rows: tuple[Any, ...], now: Now) -> tuple["InboxPlan", Effects]:
        """Send the oldest due row of every reachable binding that has none under way."""
        busy = {row.binding_key for row in self.under_way.values()}
        under_way, tries = dict(self.under_way), self.tries
        sends: list[Any] = []
        for row in rows:
            if row.binding_key in busy or row.binding_key not in self.reachable:
                continue
            if self.welcome is not None and self.welcome.binding_key == row.binding_key:
                # Its thread is told first that its process is back.
                continue
            busy.add(row.binding_key)
            # A try of its own: under the same id the registry would repeat its earlier answer.
            command_id = f"forward/{row.update_id}/{now.boot}.{tries}"
            tries += 1
            under_way[command_id] = row
            forward = ForwardUpdate(
                binding_key=row.binding_key,
                update_id=row.update_id,
                forward_kind=FORWARD_KINDS[row.kind],
                carrier=row.carrier,
            )
            sends.append(
                Send("follower_registry", forward, command_id, deadline_ms=FORWARD_DEADLINE_MS)
            )
        return dataclasses.replace(self, under_way=under_way, tries=tries), tuple(sends)

    def on_update_forwarded(self, envelope: Any, now: Now) -> tuple["InboxPlan", Effects]:
        """The exact receipt came back: the row is settled."""
        plan, row = self._landed(envelope.in_reply_to)
        if row is None:
            return plan, ()
        arguments = {"update_id": row.update_id, "epoch": self.epoch, "now": now.wall}
        return plan, (Write("ingress", "settle_done", arguments),)

    def on_forward_failed(self, envelope: Any, now: Now) -> tuple["InboxPlan", Effects]:
        """Not taken: an absent recipient waits, anything else is tried again later."""
        plan, row = self._landed(envelope.in_reply_to)
        if row is None:
            return plan, ()
        return plan._not_taken(row, envelope.body.failure_class, now)

    def on_unanswered(self, unanswered: Any, now: Now) -> tuple["InboxPlan", Effects]:
        """The registry said nothing: the row is still ours."""
        plan, row = self._landed(unanswered.command_id)
        if row is not None:
            return plan._not_taken(row, "transport-failed", now)
        return plan._call_lost(unanswered.command_id), ()

    def on_command_failed(self, envelope: Any, now: Now) -> tuple["InboxPlan", Effects]:
        """A peer could not do it for reasons of its own."""
        plan, row = self._landed(envelope.in_reply_to)
        if row is not None:
            return plan._not_taken(row, "transport-failed", now)
        return plan._call_lost(envelope.in_reply_to), ()

    def _landed(self, command_id: str | None) -> tuple["InboxPlan", Any]:
        under_way = dict(self.under_way)
        row = under_way.pop(command_id or "", None)
        return dataclasses.replace(self, under_way=under_way), row

    def _not_taken(self, row: Any, failure_class: str, now: Now) -> tuple["InboxPlan", Effects]:
        if failure_class == "recipient-absent":
            return self._without(row.binding_key), ()
        delay = min(RETRY_CAP_MS, RETRY_BASE_MS * 2**row.attempts)
        arguments = {
            "update_id": row.update_id,
            "failure_class": failure_class,
            "next_retry_ms": now.wall + delay,
            "epoch": self.epoch,
            "now": now.wall,
        }
        fields = {
            "update_id": row.update_id,
            "failure_class": failure_class,
            "attempt": row.attempts + 1,
        }
        return self, (
            Write("ingress", "settle_retry", arguments),
            Notify("inbox.forward_rejected", fields, "WARNING"),
            WakeAfter("retry", delay),
        )

    def on_wakeup_retry(self, now: Now) -> tuple["InboxPlan", Effects]:
        """Something may be due again; the pump that follows every step finds it."""
        return self, ()

    # -- the unrouted and the absent ------------------------------------------------------------

    def on_unasked(self, rows: tuple[Any, ...], now: Now) -> tuple["InboxPlan", Effects]:
        """Ask the owner about messages that belong to no thread of ours, one question each."""
        new = [row for row in rows if row.update_id not in self.asking]
        if not new or not self.reachable:
            return self, ()
        asking = self.asking | {row.update_id for row in new}
        sends = tuple(ask_which(row, self.reachable, now) for row in new)
        return dataclasses.replace(self, asking=asking), sends

    def on_telegram_answered(self, envelope: Any, now: Now) -> tuple["InboxPlan", Effects]:
        """A question or a notice was sent."""
        asked = asked_about(envelope.in_reply_to)
        if asked is None:
            return self, ()
        arguments = {"update_id": asked, "epoch": self.epoch, "now": now.wall}
        plan = dataclasses.replace(self, asking=self.asking - {asked})
        return plan, (Write("ingress", "mark_asked", arguments),)

    def on_telegram_refused(self, envelope: Any, now: Now) -> tuple["InboxPlan", Effects]:
        """A question did not go out: it is asked again with the next look."""
        outcome = envelope.body.outcome
        noted = Notify("inbox.call_refused", {"outcome": outcome, "id": envelope.in_reply_to})
        asked = asked_about(envelope.in_reply_to)
        if asked is not None and verdict(envelope.body).meaning is Meaning.DELETED:
            outside = {"update_id": asked, "epoch": self.epoch, "now": now.wall}
            return self._call_lost(envelope.in_reply_to), (Write("ingress", "ask_outside", outside), noted)
        if outcome == "commit-unknown":
            plan, effects = self.on_telegram_answered(envelope, now)
            return plan, (*effects, noted)
        unheard = self.unheard if asked is None else self.unheard | {asked}
        plan = dataclasses.replace(self, unheard=unheard)
        return plan, (noted, WakeAfter("forget_asking", LOOK_AGAIN_MS))

    def on_wakeup_forget_asking(self, now: Now) -> tuple["InboxPlan", Effects]:
        """Questions that did not go out may be asked again now."""
        return dataclasses.replace(self, asking=self.asking - self.unheard, unheard=frozenset()), ()

    def _call_lost(self, command_id: str | None) -> "InboxPlan":
        asked = asked_about(command_id)
        if asked is None:
            return self
        return dataclasses.replace(self, asking=self.asking - {asked})

    def on_absent(self, absent: tuple[Absent, ...], now: Now) -> tuple["InboxPlan", Effects]:
        """Tell the owner once a thread that nobody is there, after the grace of a short restart."""
        since = {
            one.binding_key: self.absent_since.get(one.binding_key, now.boot)
            for one in absent
            if not one.noticed and one.binding_key not in self.reachable
        }
        effects: list[Any] = []
        for one in absent:
            if one.binding_key not in since:
                continue
            if now.boot - since[one.binding_key] >= NOTICE_GRACE_MS:
                del since[one.binding_key]
                effects += notice(one, self.epoch, now)
        if since:
            soonest = min(since.values()) + NOTICE_GRACE_MS - now.boot
            effects.append(WakeAfter("retry", max(soonest, 1)))
        return dataclasses.replace(self, absent_since=since), tuple(effects)

    def on_wakeup_missed(self, dead: tuple[Absent, ...], now: Now) -> tuple["InboxPlan", Effects]:
        """Whoever is proven dead, was away for the grace, and is not back: its thread is told."""
        lost = [one for one in dead if not one.noticed and one.binding_key not in self.reachable]
        effects: list[Any] = []
        soonest = None
        for one in lost:
            left = self.gone_at.get(one.binding_key, 0) + NOTICE_GRACE_MS - now.wall
            if 0 < left <= NOTICE_GRACE_MS:
                soonest = min(left, soonest or left)
            else:
                effects += notice(one, self.epoch, now)
        if soonest is not None:
            effects.append(WakeAfter("missed", soonest))
        return self, tuple(effects)

    # -- the own thread -------------------------------------------------------------------------

    def _welcoming(self) -> "InboxPlan":
        if self.welcome is None or self.welcome.binding_key not in self.reachable:
            return self
        return dataclasses.replace(self, welcome=dataclasses.replace(self.welcome, due=True))

    def on_wakeup_welcome(self, now: Now) -> tuple["InboxPlan", Effects]:
        """Nothing came so far: no longer is waited for it."""
        return self._welcoming(), ()

    def on_welcome_due(self, waiting: int, now: Now) -> tuple["InboxPlan", Effects]:
        """It is known what waited for the own process."""
        if self.welcome is None:
            return self, ()
        said = welcome(self.welcome, waiting, now)
        return dataclasses.replace(self, welcome=None), (said,)

    def describe(self, now: Now) -> dict[str, Any]:
        """For status: how many are reachable and under way; the counts of rows are read beside."""
        return {"reachable": len(self.reachable), "under_way": len(self.under_way)}


def _without(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


def _disorder(updates: list[Mapping[str, Any]]) -> str:
    last = -1
    for update in updates:
        update_id = update.get("update_id")
        if not isinstance(update_id, int) or not 0 <= update_id < 2**63:
            return "an update id is missing or no natural number"
        if update_id <= last:
            return "update ids do not rise"
        last = update_id
    return ""
