"""The FollowerRegistry: the live followers, and the bus endpoint they speak through.

It owns the roster (in memory) and the ownership of messages that followers send (in `bus.db`). Requests
pass the ledger before the plan sees them, so that a repeated one is carried out once.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from actors.asyncio_actor import AsyncioActor
from actors.base import HalfDone
from actors.bus_endpoint import TOO_LONG, Arrived, BusEndpoint, Outgoing
from actors.event_log import log_event
from actors.faults import fault
from actors.loop_thread import Io
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
        self._ledger = RequestLedger()
        self._outgoing: dict[int, Outgoing] = {}
        self._is_batch_done = False

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
        """The socket."""
        return BusEndpoint(self.emit)

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

    def _happened(self, name: str, value: Any, *operation_id: str) -> None:
        if name == "requests":
            self._is_batch_done = True
            for arrived in value:
                # Each a step of its own; the ledger hears of it before the plan does.
                self._event("request", functools.partial(self._hear, arrived))
        else:
            super()._happened(name, value, *operation_id)

    def _hear(self, arrived: Arrived) -> None:
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
            case _:
                super().perform_beside(effect)

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
        """One way to the loop for everything that is to be written."""
        if (self._outgoing or self._is_batch_done) and not self.loop.is_closed:
            said = {"outgoing": self._outgoing, "is_done": self._is_batch_done}
            self._outgoing, self._is_batch_done = {}, False
            self.loop.tell("answer", said)
