"""What the TelegramGateway decides: what the end of each call means, and who is told.

Every call but getUpdates passes here; `actors.plans.call_queue` says which goes when. One `retry_after`
stops exactly its chat. A call that may have happened is repeated only where repeating does no harm, and a
message that Telegram showed in another thread than asked for is taken back.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.call_queue import CallQueue
from actors.plans.call_result import RETRY_SAFE, CallResult, Ending, is_news
from actors.plans.effects import Effects, Notify, Now, Perform, Reply, Send, WakeAfter
from actors.plans.waiting_call import WaitingCall
from messages.leader import EpochLost
from messages.telegram_gateway import (
    TelegramAnswered,
    TelegramRefused,
    TokenAccepted,
    TokenRefused,
)

ATTEMPTS = 3
"""Tries of a method that may be repeated."""
RETRY_MS = 500
FLOODS = 5
"""So many 429 in a row are the answer."""
LATE_MS = 250
"""How soon a call is tried again that found our own lease unrefreshed; the Leader looks at it."""
EPOCH_LOST_EVERY_MS = 1_000

_SENT_ELSEWHERE = "message thread not found: sent elsewhere"
_BROKEN = CallResult(Ending.UNCLEAR, description="The call failed in the middle.")


@dataclasses.dataclass(frozen=True)
class TelegramGatewayPlan:
    """State: the queue, messages being taken back by the call that does it, what status tells."""

    queue: CallQueue = CallQueue()
    key: str = "telegram_gateway"
    strays: Mapping[str, WaitingCall] = dataclasses.field(default_factory=dict)
    wake_at: int | None = None
    token_refused: bool = False
    refused_as: str = ""
    epoch_lost_at: int | None = None
    accepted: int = 0
    calls: int = 0
    refused: int = 0
    last_error: str = ""

    def on_call_telegram(self, envelope: Any, now: Now) -> tuple["TelegramGatewayPlan", Effects]:
        """Take a call; it goes at once if it can."""
        asked = envelope.body
        call = WaitingCall(
            call_id=envelope.message_id,
            command_id=envelope.message_id,
            method=asked.method,
            params=asked.params,
            priority=asked.priority,
            number=self.accepted,
            deadline=envelope.deadline,
        )
        queue, shed = self.queue.accept(call, now.boot)
        plan = dataclasses.replace(self, queue=queue, accepted=self.accepted + 1)
        plan, effects = plan._pump(now)
        return plan, (*map(_shed, shed), *effects)

    def on_wakeup_pump(self, now: Now) -> tuple["TelegramGatewayPlan", Effects]:
        """Some waiting call may go now, or its time is over."""
        return dataclasses.replace(self, wake_at=None)._pump(now)

    def on_performed_call(
        self, call_id: str, value: Any, now: Now
    ) -> tuple["TelegramGatewayPlan", Effects]:
        """A call ended; its answer goes out, or it has another try."""
        queue, call = self.queue.end(call_id)
        if call is None:
            return self, ()
        value = value if isinstance(value, CallResult) else _BROKEN
        plan, effects = dataclasses.replace(self, queue=queue)._ended(call, value, now)
        plan, more = plan._pump(now)
        return plan, (*effects, *more)

    def describe(self, now: Now) -> dict[str, Any]:
        """For `status`: counts and states, no texts."""
        paused = {chat: until - now.boot for chat, until in self.queue.paused.items()}
        return {
            "calls": self.calls,
            "refused": self.refused,
            "waiting": len(self.queue.waiting),
            "under_way": len(self.queue.under_way),
            "paused_chats": [
                {"chat": chat, "for_ms": left} for chat, left in paused.items() if left > 0
            ],
            "token": "refused" if self.token_refused else "ok",
            "last_error": self.last_error,
        }

    def _pump(self, now: Now) -> tuple["TelegramGatewayPlan", Effects]:
        queue, pumped = self.queue.pump(now.boot)
        plan = dataclasses.replace(self, queue=queue, calls=self.calls + len(pumped.going))
        performs = tuple(
            Perform("call", call.call_id, {"method": call.method, "params": call.params})
            for call in pumped.going
        )
        over = tuple(_out_of_time(call, queue, now) for call in pumped.over)
        effects: Effects = (*performs, *map(_shed, pumped.shed), *over)
        at = pumped.look_again
        # Wakeups cannot be cancelled, so one is asked for only when it is earlier than the last.
        if at is None or (self.wake_at is not None and now.boot < self.wake_at <= at):
            return plan, effects
        at = max(at, now.boot + 1)
        woken = WakeAfter("pump", at - now.boot)
        return dataclasses.replace(plan, wake_at=at), (*effects, woken)

    # -- how it ended ---------------------------------------------------------------------------

    def _ended(
        self, call: WaitingCall, value: CallResult, now: Now
    ) -> tuple["TelegramGatewayPlan", Effects]:
        match value.ending:
            case Ending.ANSWERED:
                return self._answered(call, value)
            case Ending.REJECTED if _is_unmodified(call, value):
                return self._finish(call, TelegramAnswered(result=True))
            case Ending.REJECTED:
                return self._refuse(call, "rejected", value)
            case Ending.FLOOD:
                return self._flooded(call, value, now)
            case Ending.UNAUTHORIZED:
                return self._unauthorized(call, value)
            case Ending.LATE:
                plan, told = self._tell_epoch_lost(now)
                untried = dataclasses.replace(call, attempts=call.attempts - 1)
                return plan._again(untried, value, now.boot + LATE_MS), told
            case Ending.DEPOSED:
                plan, told = self._tell_epoch_lost(now)
                plan, effects = plan._refuse(call, "fenced", value)
                return plan, (*told, *effects)
        if self.queue.is_outdated(call):
            return self._finish(call, _SHED)
        if call.method in RETRY_SAFE and call.attempts < ATTEMPTS:
            at = now.boot + RETRY_MS * 2 ** (call.attempts - 1)
            return self._again(call, value, at), ()
        unsent = value.ending is Ending.UNSENT
        return self._refuse(call, "unavailable" if unsent else "commit-unknown", value)

    def _answered(
        self, call: WaitingCall, value: CallResult
    ) -> tuple["TelegramGatewayPlan", Effects]:
        accepted: Effects = (Send("leader", TokenAccepted()),) if self.token_refused else ()
        plan = dataclasses.replace(self, token_refused=False)
        strayed = _strayed(call, value.result)
        if strayed:
            plan, effects = plan._take_back(call, strayed)
        else:
            plan, effects = plan._finish(call, TelegramAnswered(result=value.result))
        return plan, (*accepted, *effects)

    def _take_back(
        self, call: WaitingCall, message_ids: tuple[int, ...]
    ) -> tuple["TelegramGatewayPlan", Effects]:
        """The thread is gone and the message was shown elsewhere: it must not stay there."""
        which: dict[str, Any] = {"message_ids": list(message_ids)}
        if len(message_ids) == 1:
            which = {"message_id": message_ids[0]}
        removal = WaitingCall(
            call_id=f"{call.call_id}/stray",
            command_id=None,
            method="deleteMessage" if "message_id" in which else "deleteMessages",
            params={"chat_id": call.params["chat_id"], **which},
            priority="control",
            number=self.accepted,
        )
        plan = dataclasses.replace(
            self,
            queue=self.queue.put(removal),
            strays={**self.strays, removal.call_id: call},
            accepted=self.accepted + 1,
        )
        fields = {"method": call.method, "chat": call.chat, "thread": call.thread}
        return plan, (Notify("gateway.sent_elsewhere", fields, "WARNING"),)

    def _flooded(
        self, call: WaitingCall, value: CallResult, now: Now
    ) -> tuple["TelegramGatewayPlan", Effects]:
        """Telegram wants this chat left alone for a while; nothing of the call happened."""
        until = now.boot + 1_000 * max(value.retry_after or 1, 1)
        plan = dataclasses.replace(self, queue=self.queue.pause(call.chat, until))
        fields = {"method": call.method, "chat": call.chat, "retry_after": value.retry_after}
        noted = Notify("gateway.flood", fields, "WARNING")
        if plan.queue.is_outdated(call):
            plan, effects = plan._finish(call, _SHED)
        elif call.floods + 1 >= FLOODS:
            plan, effects = plan._refuse(call, "rejected", value)
        else:
            untried = dataclasses.replace(
                call, floods=call.floods + 1, attempts=call.attempts - 1
            )
            plan, effects = plan._again(untried, value, until), ()
        return plan, (noted, *effects)

    def _unauthorized(
        self, call: WaitingCall, value: CallResult
    ) -> tuple["TelegramGatewayPlan", Effects]:
        told: Effects = (Send("leader", TokenRefused(description=value.description)),)
        if not is_news(value, self.token_refused, self.refused_as):
            told = ()
        plan, effects = self._refuse(call, "unauthorized", value)
        plan = dataclasses.replace(plan, token_refused=True, refused_as=value.description)
        return plan, (*told, *effects)

    def _again(self, call: WaitingCall, value: CallResult, at: int) -> "TelegramGatewayPlan":
        again = dataclasses.replace(call, not_before=at)
        plan = dataclasses.replace(self, queue=self.queue.put(again))
        return plan._remember(call, value)

    def _tell_epoch_lost(self, now: Now) -> tuple["TelegramGatewayPlan", Effects]:
        last = self.epoch_lost_at
        if last is not None and now.boot < last + EPOCH_LOST_EVERY_MS:
            return self, ()
        plan = dataclasses.replace(self, epoch_lost_at=now.boot)
        return plan, (Send("leader", EpochLost(where=self.key)),)

    # -- what is told ---------------------------------------------------------------------------

    def _refuse(
        self, call: WaitingCall, outcome: str, value: CallResult
    ) -> tuple["TelegramGatewayPlan", Effects]:
        body = TelegramRefused(
            outcome=outcome,
            description=value.description,
            error_code=value.error_code,
            retry_after=value.retry_after,
        )
        plan = dataclasses.replace(self, refused=self.refused + 1)
        return plan._remember(call, value)._finish(call, body)

    def _remember(self, call: WaitingCall, value: CallResult) -> "TelegramGatewayPlan":
        text = f"{call.method} {value.ending.value} {value.error_code or ''}".rstrip()
        return dataclasses.replace(self, last_error=text)

    def _finish(
        self, call: WaitingCall, body: Any
    ) -> tuple["TelegramGatewayPlan", Effects]:
        if call.command_id is not None:
            return self, (Reply(call.command_id, body),)
        # Taken back or not, the message is not where it was meant to be.
        strays = dict(self.strays)
        meant = strays.pop(call.call_id)
        plan = dataclasses.replace(self, strays=strays, last_error=_SENT_ELSEWHERE)
        return plan._finish(
            meant,
            TelegramRefused(outcome="rejected", description=_SENT_ELSEWHERE, error_code=400),
        )


_SHED = TelegramRefused(outcome="shed", description="Something more important went first.")


def _shed(call: WaitingCall) -> Reply:
    return Reply(call.call_id, _SHED)


def _out_of_time(call: WaitingCall, queue: CallQueue, now: Now) -> Reply:
    left = queue.paused.get(call.chat, now.boot) - now.boot
    body = TelegramRefused(
        outcome="unavailable",
        description="The time for this call was over while it waited.",
        retry_after=-(-left // 1_000) or None,
    )
    return Reply(call.call_id, body)


def _is_unmodified(call: WaitingCall, value: CallResult) -> bool:
    return call.method.startswith("edit") and "message is not modified" in value.description.lower()


def _strayed(call: WaitingCall, result: Any) -> tuple[int, ...]:
    """The messages of this result that are in another thread than the one asked for."""
    if not call.thread:
        return ()
    return tuple(
        message["message_id"]
        for message in (result if isinstance(result, list) else [result])
        if isinstance(message, dict)
        and "chat" in message
        and isinstance(message.get("message_id"), int)
        and str(message.get("message_thread_id")) != call.thread
    )
