"""The calls that wait for Telegram, and which of them may go: the rate budget of every chat.

Finals go before control answers before edits before typing. What is cheap leaves part of each burst to the
others, and is shed first: a typing sign that cannot go at once, an edit that a newer one of the same message
replaces, edits beyond a long queue. Finals and control answers are never shed; they wait until their
deadline. All times are boot milliseconds.
"""

import dataclasses
from collections.abc import Mapping

from actors.plans.rate_budget import LOCAL, OVERALL, Budget, rate_of
from actors.plans.waiting_call import Lane, WaitingCall

CONNECTIONS = 8
"""Calls under way at once, and the connections that the transport keeps for them."""
CHEAP_CONNECTIONS = 4
LONG_QUEUE = 16
"""With so many calls of a chat waiting, its further edits are shed."""
TYPING_EVERY_MS = 2_000
REMEMBERED_TYPING = 256

_RESERVED_PART = {"edit": 4, "typing": 2}
"""One part in so many of a burst is left to what matters more."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pumped:
    """What one look at the queue brought; `look_again` is the instant of the next, if time can help."""

    going: tuple[WaitingCall, ...] = ()
    shed: tuple[WaitingCall, ...] = ()
    over: tuple[WaitingCall, ...] = ()
    look_again: int | None = None


@dataclasses.dataclass(frozen=True)
class CallQueue:
    """State: what waits in order, what is under way, what is left of each budget."""

    local: bool = False
    waiting: tuple[WaitingCall, ...] = ()
    under_way: Mapping[str, WaitingCall] = dataclasses.field(default_factory=dict)
    budgets: Mapping[str, Budget] = dataclasses.field(default_factory=dict)
    overall: Budget | None = None
    paused: Mapping[str, int] = dataclasses.field(default_factory=dict)
    typed: Mapping[Lane, int] = dataclasses.field(default_factory=dict)

    def accept(self, call: WaitingCall, now: int) -> tuple["CallQueue", tuple[WaitingCall, ...]]:
        """Take a new call; also returns what is shed for it, which may be the call itself."""
        old = tuple(waiting for waiting in self.waiting if call.supersedes(waiting))
        if call.priority == "edit":
            if old:
                # It takes the old one's turn, or a fast stream would push itself back for ever.
                call = dataclasses.replace(call, number=old[0].number)
            elif sum(waiting.chat == call.chat for waiting in self.waiting) >= LONG_QUEUE:
                return self, (call,)
        if call.priority == "typing":
            recent = {lane: at for lane, at in self.typed.items() if at + TYPING_EVERY_MS > now}
            if call.lane in recent or len(recent) >= REMEMBERED_TYPING:
                return self, (call,)
            self = dataclasses.replace(self, typed={**recent, call.lane: now})
        kept = tuple(waiting for waiting in self.waiting if waiting not in old)
        return dataclasses.replace(self, waiting=kept).put(call), old

    def put(self, call: WaitingCall) -> "CallQueue":
        """Queue a call in its order; one that was tried before keeps its turn."""
        waiting = sorted([*self.waiting, call], key=lambda each: each.order)
        return dataclasses.replace(self, waiting=tuple(waiting))

    def end(self, call_id: str) -> tuple["CallQueue", WaitingCall | None]:
        """A call is no longer under way."""
        under_way = dict(self.under_way)
        call = under_way.pop(call_id, None)
        return dataclasses.replace(self, under_way=under_way), call

    def pause(self, chat: str, until: int) -> "CallQueue":
        """Let nothing go to this chat for a while."""
        until = max(until, self.paused.get(chat, 0))
        return dataclasses.replace(self, paused={**self.paused, chat: until})

    def is_outdated(self, call: WaitingCall) -> bool:
        """Whether another try of this cheap call would only be in the way."""
        newer = any(each.supersedes(call) for each in self.waiting)
        return call.priority == "typing" or (call.priority == "edit" and newer)

    def pump(self, now: int) -> tuple["CallQueue", Pumped]:
        """Let go what may go, in order; nothing passes an earlier call of its lane."""
        queue = self._refilled(now)
        waiting: list[WaitingCall] = []
        going: list[WaitingCall] = []
        shed: list[WaitingCall] = []
        over: list[WaitingCall] = []
        look_again: list[int] = []
        busy = {call.lane for call in self.under_way.values()}
        for call in self.waiting:
            if call.is_over(now):
                over.append(call)
                continue
            free = (not call.lane or call.lane not in busy) and queue._has_connection(call)
            goes_at = queue._goes_at(call, now)
            if free and goes_at <= now:
                queue = queue._go(call, now)
                going.append(call)
            elif call.priority == "typing":
                shed.append(call)
                continue
            else:
                waiting.append(call)
                look_again += [goes_at] if free else []
                look_again += [] if call.gives_up_at is None else [call.gives_up_at]
            busy.add(call.lane)
        queue = dataclasses.replace(queue, waiting=tuple(waiting))
        next_look = min(look_again, default=None)
        return queue, Pumped(tuple(going), tuple(shed), tuple(over), next_look)

    def _refilled(self, now: int) -> "CallQueue":
        """Without pauses that are over and without budgets that are full again."""
        return dataclasses.replace(
            self,
            paused={chat: until for chat, until in self.paused.items() if until > now},
            budgets={chat: left for chat, left in self.budgets.items() if not left.is_full(now)},
        )

    def _budget(self, chat: str) -> Budget:
        return self.budgets.get(chat) or Budget(rate_of(chat, self.local))

    @property
    def _overall(self) -> Budget:
        return self.overall or Budget(LOCAL if self.local else OVERALL)

    def _has_connection(self, call: WaitingCall) -> bool:
        if len(self.under_way) >= CONNECTIONS:
            return False
        cheap = sum(each.is_cheap for each in self.under_way.values())
        return not call.is_cheap or cheap < CHEAP_CONNECTIONS

    def _goes_at(self, call: WaitingCall, now: int) -> int:
        waits = [_wait(call, self._overall, now)]
        if call.chat:
            waits.append(_wait(call, self._budget(call.chat), now))
        return max(call.not_before, self.paused.get(call.chat, 0), now + max(waits))

    def _go(self, call: WaitingCall, now: int) -> "CallQueue":
        budgets = dict(self.budgets)
        if call.chat:
            budgets[call.chat] = self._budget(call.chat).take(now)
        tried = dataclasses.replace(call, attempts=call.attempts + 1)
        return dataclasses.replace(
            self,
            under_way={**self.under_way, call.call_id: tried},
            budgets=budgets,
            overall=self._overall.take(now),
        )


def _wait(call: WaitingCall, budget: Budget, now: int) -> int:
    part = _RESERVED_PART.get(call.priority)
    return budget.wait_ms(now, budget.rate.burst // part if part else 0)
