"""The FollowerRegistry: the live followers, and the bus endpoint they speak through.

It owns the roster (in memory) and the ownership of messages that followers send (in `bus.db`). Requests
pass the ledger before the plan sees them, so that a repeated one is carried out once. The endpoint lives in
the mailbox; only relays to followers with a socket of their own wait on the loop.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from actors.asyncio_actor import AsyncioActor
from actors.bus_endpoint import TOO_LONG, Arrived, BusEndpoint, Outgoing
from actors.bus_relay import BusRelay
from actors.effect_actor import HalfDone
from actors.event_log import log_event
from actors.faults import fault
from actors.loop_thread import Io, PerformFailed
from actors.plans.api_allowlist import own_message_of
from actors.plans.bus_request import Asked, BusRequest
from actors.plans.effects import Perform, Write
from actors.plans.follower_registry import FollowerRegistryPlan
from actors.plans.request_ledger import Heard, RequestLedger
from actors.supervision import MUTATION, Supervisor
from actors.tree_stores import open_bus
from messages.bus import INVALID_REQUEST_ID, Ack, AckError, CallApi, InvalidEnvelope, dump
from messages.bus_protocol import ProtocolIdentity
from messages.bus_texts import LEDGER_OVERLOADED, REQUEST_ID_COLLISION, M
from messages.kind import MessageInvalid
from stores.errors import Deposed, StoreError
from stores.home import Home
from stores.lease import Lease
from stores.message_ownership import MessageOwnership


def kind_of(request: BusRequest) -> str:
    """The kind of a request, for the log."""
    return getattr(request.envelope, "KIND", "other")


class FollowerRegistry(AsyncioActor, Supervisor):
    """The registry and its endpoint."""

    child_specs = (MUTATION,)

    def __init__(self) -> None:
        super().__init__()
        self.endpoint: Any = None
        self._ledger = RequestLedger()
        self._outgoing: dict[int, Outgoing] = {}

    def open_stores(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ownership of messages; the lease is only read, for the secret."""
        bus = open_bus(settings)
        return {"message_ownership": MessageOwnership(bus), "lease": Lease(bus)}

    def first_plan(self, settings: Mapping[str, Any]) -> FollowerRegistryPlan:
        """An empty roster behind the secret of this epoch."""
        return FollowerRegistryPlan(
            settings=settings, secret=self.stores["lease"].read().secret or ""
        )

    def make_io(self, settings: Mapping[str, Any]) -> Io:
        """What goes out to followers that listen themselves."""
        return BusRelay()

    def configured(self) -> None:
        """The endpoint is this process's own; nothing is bound until the Leader says so."""
        self.endpoint = BusEndpoint()
        super().configured()

    def closing(self) -> None:
        """Nobody is served any more."""
        if self.endpoint is not None:
            self.endpoint.close()
            self.endpoint = None
        super().closing()

    def watched(self) -> list[int]:
        """The endpoint, and the loop."""
        return super().watched() + ([self.endpoint.fileno] if self.endpoint is not None else [])

    def ready(self, filenos: list[int]) -> None:
        """Hear what peers said, and what relays brought."""
        if self.loop.fileno in filenos:
            super().ready(filenos)
        if self.endpoint.fileno in filenos:
            turn = self.endpoint.turn()
            # Each a step of its own.
            for arrived in turn.arrived:
                self._event("request", functools.partial(self._hear, arrived))
            for number in turn.ended:
                self._event("connection_closed", functools.partial(self._happened, "connection_closed", number))

    # -- rows that decisions need ---------------------------------------------------------------

    def read_listen_for_own(self, body: Any) -> str:
        """A path of its own for every life, so that an old socket never stands in the way."""
        home = Home(self.settings["home"])
        base = home.ensure_socket_directory(self.settings["bot_id"])
        return str(base.with_name(f"{base.stem}-{self.settings['epoch']}-{self.incarnation}.sock"))

    def read_bus_request(self, request: BusRequest) -> str | None:
        """The binding that owns the message a call is about."""
        if not isinstance(request.envelope, CallApi):
            return None
        message = own_message_of(request.envelope.method, request.envelope.args)
        if message is None:
            return None
        record = self.stores["message_ownership"].find(*message)
        return record.binding_key if record is not None else None

    # -- requests -------------------------------------------------------------------------------

    def _hear(self, arrived: Arrived) -> None:
        """The ledger hears of it before the plan does."""
        envelope = arrived.envelope
        if isinstance(envelope, InvalidEnvelope):
            text = M.LINE_TOO_LONG if envelope.reason == TOO_LONG else M.INVALID_ENVELOPE
            self._answer(arrived, Ack(request_id=INVALID_REQUEST_ID, ok=False, message=text))
            return
        sender = getattr(envelope, "sender", "other")
        key = (getattr(envelope, "auth", None) or "", sender, envelope.request_id)
        asked = Asked(key, envelope.request_id, arrived.connection)
        request = BusRequest(asked, arrived.connection, arrived.peer_pid, envelope)
        if isinstance(envelope, Ack):
            # A response: it settles a relay and is not a request to remember.
            self.step("on_bus_request", request, None)
            return
        heard, answer = self._ledger.hear(key, arrived.digest, arrived.connection)
        match heard:
            case Heard.NEW:
                self._carry_out_request(request)
            case Heard.SETTLED if answer is not None:
                self._say_answer((arrived.connection,), answer)
            case Heard.COLLISION:
                error = AckError(code=REQUEST_ID_COLLISION)
                self._refuse(arrived, M.REQUEST_ID_COLLISION, error)
            case Heard.OVERLOADED:
                self._refuse(arrived, M.LEDGER_OVERLOADED, AckError(code=LEDGER_OVERLOADED))

    def _carry_out_request(self, request: BusRequest) -> None:
        try:
            self.step("on_bus_request", request, self.read_bus_request(request))
        except Exception as failure:
            # Answered here and now: a request is never tried again behind its sender's back.
            log_event("registry.request_failed", "ERROR", exception=True, kind=kind_of(request))
            self._settle(
                request.asked,
                Ack(request_id=request.asked.request_id, ok=False, message=M.HANDLER_FAILED),
            )
            if isinstance(failure, (Deposed, HalfDone)):
                raise

    def _refuse(self, arrived: Arrived, text: str, error: AckError) -> None:
        request_id = getattr(arrived.envelope, "request_id", INVALID_REQUEST_ID)
        self._answer(
            arrived, Ack(request_id=request_id, ok=False, message=text, error=error)
        )

    def _answer(self, arrived: Arrived, ack: Ack) -> None:
        self._say_answer((arrived.connection,), dump(ack))

    def _write(self, writes: list[Write]) -> None:
        """All of them are about whose a message is, which is worth less than the answer to a call."""
        try:
            super()._write(writes)
        except Deposed:
            raise
        except StoreError:
            log_event("registry.ownership_not_recorded", "ERROR", exception=True)

    # -- effects --------------------------------------------------------------------------------

    def perform_beside(self, effect: Perform) -> None:
        """Turn envelopes into lines; answers go to everyone who asked the same."""
        match effect.operation:
            case "reply":
                if isinstance(effect.arguments["ack"].protocol, ProtocolIdentity):
                    fault("registry.before-ack")
                self._settle(effect.arguments["asked"], effect.arguments["ack"])
            case "push":
                connection = effect.arguments["connection"]
                self._outgoing_to(connection).lines.append(dump(effect.arguments["envelope"]))
            case "relay":
                arguments = dict(effect.arguments)
                arguments["line"] = dump(arguments.pop("envelope"))
                self.loop.submit("relay", effect.operation_id, arguments)
            case "listen":
                self._performed(effect, self.endpoint.listen)
            case "close_endpoint":
                self._performed(effect, self.endpoint.shut)
            case _:
                super().perform_beside(effect)

    def _performed(self, effect: Perform, work: Callable[..., Any]) -> None:
        """Done here and now; the plan hears of it when its step is over, as of what the loop did."""
        value: Any
        try:
            value = work(**effect.arguments)
        except OSError as failure:
            log_event("actor.io_failed", "ERROR", exception=True, operation=effect.operation)
            value = PerformFailed(text=f"{type(failure).__name__} in {effect.operation}")
        name = f"performed_{effect.operation}"
        self._event(name, functools.partial(self._happened, name, value, effect.operation_id))

    def _settle(self, asked: Asked, ack: Ack) -> None:
        try:
            line = dump(ack)
        except MessageInvalid:
            # A result that does not travel, such as one longer than a line.
            line = dump(Ack(request_id=asked.request_id, ok=False, message=M.API_FAILED))
        waiting = self._ledger.settle(asked.ledger_key, line)
        if waiting:
            self._say_answer(waiting, line)
        else:
            # What is not in the ledger, such as an ack that answers nothing, is told where it came from.
            self._outgoing_to(asked.connection).lines.append(line)

    def _say_answer(self, connections: Iterable[int], line: bytes) -> None:
        for connection in connections:
            outgoing = self._outgoing_to(connection)
            outgoing.lines.append(line)
            outgoing.answers += 1

    def _outgoing_to(self, connection: int) -> Outgoing:
        return self._outgoing.setdefault(connection, Outgoing())

    def handled(self) -> None:
        """One write to each peer for everything that it is told."""
        if self.endpoint is not None:
            outgoing, self._outgoing = self._outgoing, {}
            if outgoing:
                self.endpoint.say(outgoing)
            self.endpoint.listen_again()
