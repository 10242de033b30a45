"""The follower of an instance: its registration with whoever leads, and its thread through it.

`serve` is one connection's life: register, beat, answer forwards. Whoever runs it (the instance)
watches the lease and cancels it when the leader it speaks to is none any more. Decisions are those
of `FollowerPlan`. It never touches Thespian or Telegram.

Promises: an update is acknowledged only after the session journalled it; a send that may have
happened is told as such and never made again here; a call made while nobody leads is refused before
anything is written.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from actors.bus_client import BusClient, BusLost
from actors.clock import system_now, until_next
from actors.event_log import log_event
from actors.faults import fault
from actors.plans.call_result import RETRY_SAFE
from actors.plans.effects import Now
from actors.plans.follower import (
    CALL_WITHIN_MS,
    HEARTBEAT_EVERY_MS,
    HEARTBEAT_WITHIN_MS,
    JOURNAL_KINDS,
    LEAVE_WITHIN_MS,
    LOST_REGISTRATION,
    REGISTER_WITHIN_MS,
    CallEnd,
    FollowerPlan,
    Refused,
    journal_carrier,
)
from actors.thread import CallRefused, CommitUnknown, LeaderUnavailable
from messages.bus import Ack, CallApi, ConveyWish, Forward, ReplaceFollowerTarget
from messages.bus_texts import M
from messages.kind import MessageInvalid

Admit = Callable[[str, str, int, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]

NEVER_CALLED = frozenset({"getUpdates", "deleteWebhook", "setWebhook", "logOut", "close"})
"""The leader's alone; refused here already."""


async def _no_wish(wish: str, delivery_id: str | None) -> str:
    return M.NOT_HANDLED


class RegistrationRefused(Exception):
    """The leader answered, and gave no thread; the text is its own."""


class EndpointUnreachable(Exception):
    """Nobody listens where the lease says."""


class Follower:
    """This process's end of the bus."""

    def __init__(
        self, plan: FollowerPlan, admit: Admit, clock: Callable[[], Now] = system_now
    ) -> None:
        self.plan = plan
        self._admit = admit
        self._clock = clock
        self.on_roster: Callable[[FollowerPlan], None] = lambda plan: None
        """Called after each heartbeat with what it told about the others."""

        self.on_wish: Callable[[str, str | None], Awaitable[str]] = _no_wish
        """Called with an operator's wish and what it is about; returns why not, empty when it is done."""

        self._requests = 0
        self._client: BusClient | None = None
        self._secret = ""
        self._has_left = False

    async def serve(self, endpoint: str, secret: str, on_registered: Callable[[], None]) -> None:
        """Register and stay registered until the connection or the registration is lost.

        Raises EndpointUnreachable and RegistrationRefused. Cancelling it drops the connection.
        """
        if self._has_left:
            # Registering would give it a new thread in place of the one that it gave up.
            await asyncio.Event().wait()
        try:
            client = await BusClient.connect(endpoint, self._on_request)
        except OSError as failure:
            raise EndpointUnreachable(str(failure)) from None
        self._client, self._secret = client, secret
        try:
            await self._register(client)
            on_registered()
            await self._beat(client)
        except BusLost:
            log_event("follower.connection_lost", "WARNING")
        finally:
            self.plan = self.plan.on_lost()
            self._client = None
            await client.close()

    async def call(self, method: str, body: Mapping[str, Any]) -> Any:
        """Make one Bot API call through the leader; raises the errors of `actors.thread`."""
        client, plan = self._client, self.plan
        if client is None or not plan.is_registered:
            raise LeaderUnavailable("this process is not registered")
        if method in NEVER_CALLED:
            raise CallRefused(M.API_NOT_ALLOWED)
        request = CallApi(
            request_id=self._next_id(),
            auth=self._secret,
            instance_id=plan.instance_id,
            registration_generation=plan.generation,
            method="call",
            args=[method, dict(body)],
            sent_at_ms=self._clock().wall,
        )
        try:
            ack = await client.request(request, CALL_WITHIN_MS)
        except MessageInvalid as invalid:
            raise CallRefused(str(invalid)) from None
        except BusLost as lost:
            if lost.written and method not in RETRY_SAFE:
                raise CommitUnknown(method) from None
            raise LeaderUnavailable(str(lost)) from None
        return self._called(method, ack, plan)

    async def leave(self) -> None:
        """Give the thread up: it is deleted; raises the errors of `actors.thread`.

        From the request on this process registers no more, unless it was refused.
        """
        client, plan = self._client, self.plan
        if client is None or not plan.is_registered:
            raise LeaderUnavailable("this process is not registered")
        request = plan.disconnect(self._next_id(), self._secret, self._clock().wall)
        self._has_left = True
        try:
            ack = await client.request(request, LEAVE_WITHIN_MS)
        except BusLost as lost:
            self._has_left = lost.written
            if lost.written:
                # The intent is on record by now, or the thread simply stays.
                raise CommitUnknown("disconnect") from None
            raise LeaderUnavailable(str(lost)) from None
        if not ack.ok:
            self._has_left = False
            raise CallRefused(ack.message or M.HANDLER_FAILED)

    def _called(self, method: str, ack: Ack, plan: FollowerPlan) -> Any:
        if not ack.ok and ack.message in LOST_REGISTRATION and self._client is not None:
            # The leader does not know us any more: register again, at once.
            self._client.drop()
        match self.plan.call_end(ack, method in RETRY_SAFE, plan.target):
            case CallEnd.DONE:
                return ack.result
            case CallEnd.NOT_SENT:
                raise LeaderUnavailable(ack.message or M.API_FAILED)
            case CallEnd.UNKNOWN:
                raise CommitUnknown(method)
        raise CallRefused(ack.message or M.API_FAILED)

    # -- one connection's life ------------------------------------------------------------------

    async def _register(self, client: BusClient) -> None:
        generation = self._next_id()
        request = self.plan.register(generation, self._secret, self._clock().wall)
        ack = await client.request(request, REGISTER_WITHIN_MS)
        self.plan, verdict = self.plan.on_register_answered(ack, generation)
        if isinstance(verdict, Refused):
            log_event("follower.refused", "WARNING", text=verdict.text)
            raise RegistrationRefused(verdict.text)
        log_event("follower.registered", slot=self.plan.slot, thread=self.plan.thread_name)

    async def _beat(self, client: BusClient) -> None:
        closed = asyncio.create_task(client.closed.wait())
        try:
            while not closed.done() and await self._beat_once(client):
                await asyncio.wait({closed}, timeout=until_next(HEARTBEAT_EVERY_MS / 1_000))
        finally:
            closed.cancel()

    async def _beat_once(self, client: BusClient) -> bool:
        """Send one heartbeat; whether the registration still stands."""
        request = self.plan.heartbeat(self._next_id(), self._secret, self._clock().wall)
        ack = await client.request(request, HEARTBEAT_WITHIN_MS)
        self.plan, stands = self.plan.on_heartbeat_answered(ack)
        if stands:
            self.on_roster(self.plan)
        else:
            log_event("follower.heartbeat_refused", "WARNING", text=ack.message)
        return stands

    # -- what the leader sends ------------------------------------------------------------------

    async def _on_request(self, envelope: Any) -> Ack:
        refusal = self.plan.refusal(envelope, self._secret)
        if refusal is not None:
            log_event("follower.request_refused", "WARNING", kind=envelope.KIND, text=refusal)
            return Ack(request_id=envelope.request_id, ok=False, message=refusal)
        if isinstance(envelope, ReplaceFollowerTarget):
            self.plan = self.plan.on_target_replaced(envelope)
            log_event("follower.target_replaced", target=envelope.target.key)
            return Ack(request_id=envelope.request_id, ok=True)
        if isinstance(envelope, ConveyWish):
            refusal = await self.on_wish(envelope.wish, envelope.delivery_id)
            log_event("follower.wish", wish=envelope.wish, refusal=refusal)
            return Ack(request_id=envelope.request_id, ok=not refusal, message=refusal or None)
        return await self._journal(envelope)

    async def _journal(self, envelope: Forward) -> Ack:
        delivery = envelope.delivery
        try:
            await self._admit(
                JOURNAL_KINDS[envelope.KIND],
                delivery.delivery_id,
                delivery.source_update_id,
                journal_carrier(envelope),
            )
            fault("follower.after-journal")
        except asyncio.CancelledError:
            raise
        except Exception as failure:
            # Not taken: the leader keeps it and tries again.
            log_event(
                "follower.not_journalled",
                "ERROR",
                exception=True,
                update_id=delivery.source_update_id,
            )
            text = str(failure) or M.ADMISSION_FAILED
            return Ack(request_id=envelope.request_id, ok=False, message=text[:1_000])
        return Ack(request_id=envelope.request_id, ok=True, result=delivery.receipt())

    def _next_id(self) -> str:
        self._requests += 1
        return f"{self.plan.instance_id}:{self._requests}"
