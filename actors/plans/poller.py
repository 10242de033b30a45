"""What the Poller decides: when to ask Telegram for updates, and what every kind of failure costs.

An offset is confirmed by the getUpdates that carries it, so the next one goes out only when the inbox has
said that the batch before it survives power loss. Whatever is uncertain about the inbox ends in asking it for
its cursor again. A program elsewhere that polls the same bot is answered by backing off, never by spinning.
"""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any

from actors.plans.call_result import CallResult, Ending, is_news
from actors.plans.effects import Effects, Notify, Now, Perform, Reply, Send, WakeAfter
from actors.plans.election import PROOF_MS
from actors.plans.poll_proof import PollProof, conflict_cause
from messages.inbox import AdmitUpdates, FetchCursor
from messages.leader import EpochLost
from messages.poller import PollConflict, PollingStarted, PollingStopped
from messages.telegram_gateway import TokenAccepted, TokenRefused

LONG_POLL_S = 25
BUDGET_S = LONG_POLL_S + 10
"""A getUpdates without an answer is given up after this."""
LIMIT = 100
ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "message_reaction")
INBOX_DEADLINE_MS = 30_000
FIRST_FAILURE_MS, FAILURE_MS = 1_000, 3_000
CONFLICT_MS = (1_000, 1_000, 3_000, 5_000, 10_000, 20_000, 30_000)
TOKEN_MS = 5_000
"""How often a new token is looked for; the refused one is shown again far less often."""
QUIET_PROOFS = 7
"""Longer than the usual clients wait between their tries, which is up to half a minute."""
CURSOR_AGAIN_MS = 24 * 3_600_000
"""How often the inbox is asked anew while nothing comes: an offset does not hold for ever."""
LATE_MS = 250
"""How soon a poll is tried again that found our own lease unrefreshed; the Leader looks at it."""


class Phase(enum.StrEnum):
    """What the poller is at."""

    STARTING = "starting"  # the inbox was asked where to go on
    LONG_POLL = "long-poll"  # getUpdates is under way
    PERSISTING = "persisting"  # the inbox writes a batch
    RETRYING = "retrying"  # something failed; it goes on by itself
    CONFLICT = "conflict"  # something else reads this bot
    STOPPED = "stopped"


@dataclasses.dataclass(frozen=True)
class PollerPlan:
    """State: the phase, where polling goes on, and the failures in a row."""

    key: str = "poller"
    phase: Phase = Phase.STOPPED
    cursor: int | None = None
    knows_cursor: bool = False
    cursor_at: int = 0
    """When the cursor was told or moved."""
    batch: int | None = None
    turn: int = 0
    stops: tuple[str, ...] = ()
    conflicts: int = 0
    conflict_cause: str = ""
    conflict_at: int = 0
    quiet_ms: int = PROOF_MS * QUIET_PROOFS
    """So long after the last conflict a poll that is answered says that it is over."""
    proof: PollProof | None = None
    failures: int = 0
    token_refused: bool = False
    refused_as: str = ""
    responses: int = 0
    heard_at: int | None = None
    ended_at: int | None = None
    last_error: str = ""

    # -- start and stop -------------------------------------------------------------------------

    def on_start_polling(self, envelope: Any, now: Now) -> tuple["PollerPlan", Effects]:
        """Begin; a second start changes nothing."""
        started = Reply(envelope.message_id, PollingStarted())
        if self.phase is not Phase.STOPPED:
            return self, (started,)
        plan = dataclasses.replace(self, heard_at=now.boot, ended_at=now.boot)
        plan, effects = plan._fetch_cursor()
        return plan, (started, *effects)

    def on_stop_polling(self, envelope: Any, now: Now) -> tuple["PollerPlan", Effects]:
        """End; the answer comes when the request under way is off the connection."""
        plan = dataclasses.replace(
            self, phase=Phase.STOPPED, knows_cursor=False, stops=(*self.stops, envelope.message_id)
        )
        return plan, (Perform("abort", f"abort/{plan.turn}", {}),)

    def on_performed_abort(
        self, operation_id: str, value: Any, now: Now
    ) -> tuple["PollerPlan", Effects]:
        """Nothing is under way any more."""
        replies = tuple(Reply(command_id, PollingStopped()) for command_id in self.stops)
        return dataclasses.replace(self, stops=()), replies

    # -- the inbox ------------------------------------------------------------------------------

    def _fetch_cursor(self) -> tuple["PollerPlan", Effects]:
        plan = dataclasses.replace(
            self, phase=Phase.STARTING, knows_cursor=False, batch=None, turn=self.turn + 1
        )
        return plan, (Send("inbox", FetchCursor(), deadline_ms=INBOX_DEADLINE_MS),)

    def on_cursor_fetched(self, envelope: Any, now: Now) -> tuple["PollerPlan", Effects]:
        """Poll from there; without a cursor from the beginning: the inbox knows what is too old."""
        if self.phase is not Phase.STARTING:
            return self, ()
        cursor = envelope.body.cursor
        return dataclasses.replace(self, cursor=cursor, knows_cursor=True, cursor_at=now.boot)._poll()

    def on_updates_admitted(self, envelope: Any, now: Now) -> tuple["PollerPlan", Effects]:
        """The batch is safe: confirm it by the next poll."""
        if self.phase is not Phase.PERSISTING or envelope.body.cursor != self.batch:
            return self, ()
        return dataclasses.replace(
            self, cursor=self.batch, cursor_at=now.boot, batch=None, failures=0
        )._poll()

    def on_admission_refused(self, envelope: Any, now: Now) -> tuple["PollerPlan", Effects]:
        """Nothing was written and the offset stays: Telegram keeps the updates meanwhile."""
        return self._inbox_failed(f"admission {envelope.body.reason}")

    def on_command_failed(self, envelope: Any, now: Now) -> tuple["PollerPlan", Effects]:
        """The inbox could not do it."""
        return self._inbox_failed(f"inbox {envelope.body.reason}")

    def on_unanswered(self, unanswered: Any, now: Now) -> tuple["PollerPlan", Effects]:
        """The inbox did not answer; whether it wrote the batch is for its cursor to say."""
        return self._inbox_failed("inbox unanswered")

    def _inbox_failed(self, error: str) -> tuple["PollerPlan", Effects]:
        if self.phase not in (Phase.STARTING, Phase.PERSISTING):
            return self, ()
        plan = dataclasses.replace(self, knows_cursor=False, batch=None)
        return plan._wait(Phase.RETRYING, FAILURE_MS, error)

    # -- getUpdates -----------------------------------------------------------------------------

    def _poll(self) -> tuple["PollerPlan", Effects]:
        plan = dataclasses.replace(self, phase=Phase.LONG_POLL, turn=self.turn + 1)
        seconds = LONG_POLL_S
        if self.conflict_cause:
            # So that its end is noticed when it is due, and not a long poll later.
            seconds = min(seconds, max(1, self.quiet_ms // 1_000))
        params: dict[str, Any] = {
            "timeout": seconds,
            "limit": LIMIT,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        if self.cursor is not None:
            params["offset"] = self.cursor + 1
        arguments = {"params": params, "budget_s": BUDGET_S}
        return plan, (Perform("get_updates", str(plan.turn), arguments),)

    def on_performed_get_updates(
        self, operation_id: str, value: Any, now: Now
    ) -> tuple["PollerPlan", Effects]:
        """A poll ended."""
        if self.phase is not Phase.LONG_POLL or operation_id != str(self.turn):
            return self, ()
        plan = dataclasses.replace(self, ended_at=now.boot)
        if not isinstance(value, CallResult) or value.ending is not Ending.ANSWERED:
            return plan._failed(value, now)
        plan, effects = plan._heard(now)
        flaw = _flaw(value.result, self.cursor)
        if flaw:
            plan, more = plan._wait(Phase.RETRYING, FAILURE_MS, flaw)
        elif value.result:
            plan, more = plan._admit(value.result)
        else:
            plan = dataclasses.replace(plan, failures=0)
            is_old = now.boot - plan.cursor_at >= CURSOR_AGAIN_MS
            plan, more = plan._fetch_cursor() if is_old else plan._poll()
        return plan, (*effects, *more)

    def _heard(self, now: Now) -> tuple["PollerPlan", Effects]:
        effects: list[Any] = []
        cause = "" if self._is_quiet(now) else self.conflict_cause
        if self.conflict_cause and not cause:
            effects.append(Send("leader", PollConflict(cause="solved")))
        if self.token_refused:
            effects.append(Send("leader", TokenAccepted()))
        plan = dataclasses.replace(
            self,
            conflicts=0,
            conflict_cause=cause,
            token_refused=False,
            responses=self.responses + 1,
            heard_at=now.boot,
        )
        return plan, tuple(effects)

    def _is_quiet(self, now: Now) -> bool:
        """Whether a conflict is over: a program that was sent away takes its time to come again."""
        is_webhook = self.conflict_cause == "webhook"
        return is_webhook or now.boot - self.conflict_at >= self.quiet_ms

    def _admit(self, updates: list[dict[str, Any]]) -> tuple["PollerPlan", Effects]:
        batch = updates[-1]["update_id"]
        plan = dataclasses.replace(self, phase=Phase.PERSISTING, batch=batch)
        command = AdmitUpdates(updates=updates)
        return plan, (Send("inbox", command, deadline_ms=INBOX_DEADLINE_MS),)

    def _failed(self, value: Any, now: Now) -> tuple["PollerPlan", Effects]:
        value = value if isinstance(value, CallResult) else CallResult(Ending.UNCLEAR)
        error = f"getUpdates {value.ending.value} {value.error_code or ''}".rstrip()
        match value.ending:
            case Ending.REJECTED if value.error_code == 409:
                return self._conflict(value.description, error, now)
            case Ending.DEPOSED:
                plan = dataclasses.replace(self, phase=Phase.STOPPED, last_error=error)
                return plan, (Send("leader", EpochLost(where=self.key)),)
            case Ending.LATE:
                plan, effects = self._wait(Phase.RETRYING, LATE_MS, error)
                return plan, (Send("leader", EpochLost(where=self.key)), *effects)
            case Ending.UNAUTHORIZED:
                told: Effects = (Send("leader", TokenRefused(description=value.description)),)
                if not is_news(value, self.token_refused, self.refused_as):
                    told = ()
                plan, effects = self._wait(Phase.RETRYING, TOKEN_MS, error)
                plan = dataclasses.replace(
                    plan, token_refused=True, refused_as=value.description
                )
                return plan, (*told, *effects)
            case Ending.FLOOD:
                wait = 1_000 * max(value.retry_after or 1, 1)
                return self._wait(Phase.RETRYING, wait, error)
        wait = FAILURE_MS if self.failures else FIRST_FAILURE_MS
        return self._wait(Phase.RETRYING, wait, error)

    def _conflict(
        self, words: str, error: str, now: Now
    ) -> tuple["PollerPlan", Effects]:
        """Another program reads this bot, or a webhook does, which can be told from the words.

        A webhook is not ours, so it is not ours to delete: people are told, and may.
        """
        cause = conflict_cause(words)
        wait = CONFLICT_MS[min(self.conflicts, len(CONFLICT_MS) - 1)]
        told: Effects = (
            () if cause == self.conflict_cause else (Send("leader", PollConflict(cause=cause)),)
        )
        plan = dataclasses.replace(
            self,
            conflicts=self.conflicts + 1,
            conflict_cause=cause,
            conflict_at=now.boot,
            failures=0,
        )
        plan, effects = plan._wait(Phase.CONFLICT, wait, error)
        return plan, (*told, *effects)

    # -- before the first time ------------------------------------------------------------------

    def on_prove_polling(self, envelope: Any, now: Now) -> tuple["PollerPlan", Effects]:
        """Find out whether anybody else reads this bot."""
        return self._proving(*PollProof.of(envelope.message_id, envelope.body, now).poll(now))

    def on_performed_prove(
        self, operation_id: str, value: Any, now: Now
    ) -> tuple["PollerPlan", Effects]:
        """A poll of the proof ended."""
        if self.proof is None or not self.proof.awaits(operation_id):
            return self, ()
        return self._proving(*self.proof.ended(value, now))

    def on_wakeup_prove(self, now: Now) -> tuple["PollerPlan", Effects]:
        """Poll again for the proof."""
        return self._proving(*self.proof.poll(now)) if self.proof is not None else (self, ())

    def _proving(
        self, proof: PollProof | None, effects: Effects
    ) -> tuple["PollerPlan", Effects]:
        return dataclasses.replace(self, proof=proof), effects

    # -- waiting --------------------------------------------------------------------------------

    def _wait(self, phase: Phase, delay_ms: int, error: str) -> tuple["PollerPlan", Effects]:
        failures = self.failures + (phase is Phase.RETRYING)
        plan = dataclasses.replace(
            self, phase=phase, turn=self.turn + 1, failures=failures, last_error=error
        )
        fields = {"error": error, "wait_ms": delay_ms}
        noted = Notify("poller.waits", fields, "WARNING")
        return plan, (noted, WakeAfter("go_on", delay_ms))

    def on_wakeup_go_on(self, now: Now) -> tuple["PollerPlan", Effects]:
        """The wait is over."""
        if self.phase not in (Phase.RETRYING, Phase.CONFLICT):
            return self, ()
        return self._poll() if self.knows_cursor else self._fetch_cursor()

    # -- for status -----------------------------------------------------------------------------

    def describe(self, now: Now) -> Mapping[str, Any]:
        """Ages count from the start while nothing came.

        The first is Telegram's health, the second this process's: a poll that failed has ended too.
        """
        heard, ended = self.heard_at, self.ended_at
        return {
            "phase": self.phase.value,
            "last_response_age_ms": None if heard is None else now.boot - heard,
            "last_end_age_ms": None if ended is None else now.boot - ended,
            "cursor": self.cursor,
            "conflicts": self.conflicts,
            "responses": self.responses,
            "last_error": self.last_error,
        }


def _flaw(updates: Any, cursor: int | None) -> str:
    """What is wrong with a batch, empty when it may be admitted."""
    if not isinstance(updates, list) or not all(isinstance(each, dict) for each in updates):
        return "batch malformed"
    return "" if _rises(-1 if cursor is None else cursor, updates) else "batch disorder"


def _rises(last: int, updates: Sequence[Mapping[str, Any]]) -> bool:
    for update in updates:
        number = update.get("update_id")
        if not isinstance(number, int) or isinstance(number, bool) or number <= last:
            return False
        last = number
    return True
