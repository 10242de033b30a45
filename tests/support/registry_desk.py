"""The plan of the FollowerRegistry without its actor: requests in, effects out, and short ways to both."""

from collections.abc import Mapping
from typing import Any

from actors.plans.bus_request import Asked, BusRequest
from actors.plans.effects import Effects, Now, Perform, Reply, Send, Write
from actors.plans.follower_registry import FollowerRegistryPlan
from messages.bus import (
    Ack,
    CallApi,
    Heartbeat,
    Register,
    Registration,
    delivery_id,
)
from messages.bus_protocol import OURS
from messages.envelope import Envelope
from messages.follower_mutation import MutationFinished
from messages.follower_registry import ForwardUpdate, OpenEndpoint
from messages.telegram_gateway import TelegramRefused

NOW = Now(wall=1_000, boot=5_000)
LATER = Now(wall=9_000, boot=13_000)
SECRET = "s" * 43
SETTINGS: Mapping[str, Any] = {
    "owner": {"pid": 10, "instance_id": "10:1"}, "epoch": 3, "cleanup": False,
    "chat_id": 1, "owner_id": 77,
}


def said(body: Any, in_reply_to: str | None = None) -> Envelope:
    """An envelope of a peer in the tree."""
    return Envelope(body=body, message_id="m1", key="follower_registry", in_reply_to=in_reply_to)


def registration(instance: str = "11:1", **fields: Any) -> Registration:
    """A registration of ours, changed as told."""
    plain: dict[str, Any] = {
        "instance_id": instance, "connected_at_ms": 1, "profile_key": f"manual:{instance}",
        "thread_name": "api", "pid": int(instance.split(":")[0]), "registration_generation": "g1",
        "protocol": OURS,
    }
    return Registration(**{**plain, **fields})


def asks(
    plan: FollowerRegistryPlan,
    envelope: Any,
    *,
    connection: int = 1,
    owner: str | None = None,
    now: Now = NOW,
) -> Any:
    """One request on a connection."""
    request = BusRequest(Asked("key", envelope.request_id), connection, None, envelope)
    return plan.on_bus_request(request, owner, now)


def register(**more: Any) -> Register:
    """A register request."""
    return Register(request_id="g1", auth=more.pop("auth", SECRET), registration=registration(**more))


def acks(effects: Effects) -> list[Ack]:
    """The answers given."""
    return [e.arguments["ack"] for e in effects if isinstance(e, Perform) and e.operation == "reply"]


def sends(effects: Effects, kind: str) -> list[Send]:
    """What is sent of this kind."""
    return [e for e in effects if isinstance(e, Send) and e.body.KIND == kind]


def target(thread_id: int = 5, slot: str = "A") -> MutationFinished:
    """A thread, given."""
    given = {"chat_id": 1, "thread_id": thread_id, "slot": slot, "thread_name": "api", "reused": True}
    return MutationFinished(target=given)


def opened() -> FollowerRegistryPlan:
    """A plan whose endpoint is open to all."""
    plan = FollowerRegistryPlan(settings=SETTINGS, secret=SECRET)
    return plan.on_open_endpoint(said(OpenEndpoint()), NOW)[0]


def registered(
    plan: FollowerRegistryPlan, instance: str = "11:1", thread_id: int = 5, slot: str = "A",
    connection: int = 1, **fields: Any,
) -> FollowerRegistryPlan:
    """The plan with one more follower."""
    request = register(instance=instance, **fields)
    plan, effects = asks(plan, request, connection=connection)
    (command,) = sends(effects, "MutateFollower")
    plan, effects = plan.on_mutation_finished(said(target(thread_id, slot), command.message_id), NOW)
    assert acks(effects)[0].ok
    return plan


def beat(instance: str = "11:1", generation: str | None = "g1") -> Heartbeat:
    """A heartbeat."""
    return Heartbeat(
        request_id="h", auth=SECRET, instance_id=instance, registration_generation=generation, sent_at_ms=1
    )


def call(method: str = "sendMessage", **body: Any) -> CallApi:
    """A call in the follower's own thread."""
    args = [method, {"chat_id": 1, "message_thread_id": 5, **body}]
    return CallApi(
        request_id="c1", auth=SECRET, instance_id="11:1", registration_generation="g1", method="call",
        args=args, sent_at_ms=1,
    )


def calling(envelope: CallApi) -> tuple[FollowerRegistryPlan, str]:
    """A plan with this call under way, and the id of the command."""
    plan, effects = asks(registered(opened()), envelope)
    (command,) = sends(effects, "CallTelegram")
    assert command.message_id
    return plan, command.message_id


GONE = TelegramRefused(
    outcome="rejected", description="Bad Request: message thread not found", error_code=400
)
"""What Telegram says of a call to a thread that was deleted."""

UPDATE = ForwardUpdate(
    binding_key="manual:11:1", update_id=7, forward_kind="leader.forwardMessage", carrier={"text": "x"}
)
RECEIPT = {
    "deliveryId": delivery_id("leader.forwardMessage", "manual:11:1", 7), "sourceUpdateId": 7,
}


def performed(effects: Effects, operation: str) -> list[Perform]:
    """What is done of this."""
    return [e for e in effects if isinstance(e, Perform) and e.operation == operation]


def writes(effects: Effects, method: str) -> list[Mapping[str, Any]]:
    """The arguments of what is written so."""
    return [e.arguments for e in effects if isinstance(e, Write) and e.method == method]


def replies(effects: Effects) -> list[Any]:
    """The bodies of the answers to commands of the tree."""
    return [e.body for e in effects if isinstance(e, Reply)]
