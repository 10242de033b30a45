"""The queue of updates as getUpdates shows it: offsets, limits, long polls and who may poll.

The decisions are pure functions; `UpdateQueue` waits. One thing differs from Telegram on purpose:
every older poll gets its 409 at once, not the second one within three seconds later, so that the
times in the list of calls are true.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from actors.sandbox.chat import DEFAULT_UPDATES, KNOWN_UPDATES, PracticeChat
from actors.sandbox.errors import (
    BotApiError,
    bad_request,
    other_poll,
    restarting,
    webhook_is_active,
    webhook_was_set,
)
from actors.sandbox.parameters import Parameters
from stores.practice_chat import WaitingUpdate

LONGEST_POLL_S = 50
MOST_UPDATES = 100
LARGEST_ANSWER = 1 << 22
# A reader that asks again for the same without taking anything gets little, and slowly.
_HASTY_MS = 500
_BUSY_MS = 3_000
_BUSY_TIMEOUT_S = 3


@dataclass(frozen=True, slots=True)
class PollTerms:
    offset: int
    limit: int
    timeout_s: int


@dataclass(frozen=True, slots=True)
class EarlierPoll:
    offset: int
    began_at: int


def poll_terms(
    offset: int, limit: int, timeout_s: int, earlier: EarlierPoll | None, now: int
) -> PollTerms:
    """What a poll gets of what it asked for."""
    limit = max(1, min(MOST_UPDATES, limit))
    timeout_s = max(0, min(LONGEST_POLL_S, timeout_s))
    if earlier is not None and earlier.offset == offset:
        since = now - earlier.began_at
        if since < _BUSY_MS:
            timeout_s = max(timeout_s, _BUSY_TIMEOUT_S)
        if since < _HASTY_MS:
            limit = 1
    return PollTerms(offset, limit, timeout_s)


def confirmed_below(offset: int, waiting: Sequence[int]) -> int:
    """Updates with a lower id than this are confirmed; `waiting` are the ids in the queue."""
    if offset > 0:
        return offset
    if offset == 0 or len(waiting) <= -offset:
        return 0
    return waiting[offset]


def answer_of(waiting: Sequence[WaitingUpdate]) -> list[dict[str, Any]]:
    """The updates of one answer, cut at about 4 MiB; never cut to nothing."""
    answer: list[dict[str, Any]] = []
    size = 0
    for each in waiting:
        update = {"update_id": each.update_id, each.kind: each.body}
        size += len(json.dumps(update))
        if answer and size > LARGEST_ANSWER:
            break
        answer.append(update)
    return answer


def allowed_updates(given: Any) -> list[str]:
    """What a list in `allowed_updates` means; one without a known name means the default."""
    if not isinstance(given, list):
        raise bad_request("can't parse allowed_updates: expected an Array of String")
    known = [name for name in KNOWN_UPDATES if name in given]
    return known or list(DEFAULT_UPDATES)


class UpdateQueue:
    """At most one poll waits; the newer one sends the older one away."""

    def __init__(self, chat: PracticeChat, now_ms: Callable[[], int]) -> None:
        self._chat = chat
        self._now_ms = now_ms
        self._earlier: EarlierPoll | None = None
        self._waiting: asyncio.Future[None] | None = None
        chat.on_update = self._wake

    async def poll(self, parameters: Parameters) -> list[dict[str, Any]]:
        """One getUpdates."""
        if self._chat.webhook_url:
            raise webhook_is_active()
        self.remember_allowed(parameters)
        now = self._now_ms()
        terms = poll_terms(
            parameters.integer("offset", 0),
            parameters.integer("limit", MOST_UPDATES, 1, MOST_UPDATES),
            parameters.integer("timeout", 0, 0, LONGEST_POLL_S),
            self._earlier,
            now,
        )
        self._earlier = EarlierPoll(terms.offset, now)
        self._send_away(other_poll())
        self._chat.confirm_updates(
            confirmed_below(terms.offset, self._chat.store.update_ids(now))
        )
        return await self._next(terms)

    async def _next(self, terms: PollTerms) -> list[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        until = loop.time() + terms.timeout_s
        while True:
            waiting = self._chat.store.updates(self._now_ms(), terms.limit)
            # An offset ahead of the queue waits for its update and takes no earlier one.
            waiting = [each for each in waiting if each.update_id >= terms.offset]
            left = until - loop.time()
            if waiting or left <= 0:
                return answer_of(waiting)
            future: asyncio.Future[None] = loop.create_future()
            self._waiting = future
            try:
                await asyncio.wait_for(future, left)
            except TimeoutError:
                return []
            finally:
                if self._waiting is future:
                    self._waiting = None

    def remember_allowed(self, parameters: Parameters) -> None:
        """Kept until a later call names others; leaving it out changes nothing."""
        given = parameters.json(
            "allowed_updates", bad_request("can't parse allowed_updates JSON object")
        )
        if given is not None:
            self._chat.allow_updates(allowed_updates(given))

    def webhook_set(self) -> None:
        self._send_away(webhook_was_set())

    def end(self) -> None:
        """The server ends."""
        self._send_away(restarting())

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _send_away(self, refusal: BotApiError) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(refusal)
        self._waiting = None
