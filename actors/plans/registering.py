"""How a follower becomes registered: checked, given its thread by its mutation, entered, announced."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.bus_request import BusRequest, Waiting
from actors.plans.effects import Effects, Notify, Now, Perform, Send, Write
from actors.plans.place import place
from actors.plans.roster import Follower, Pulse
from messages.bus import Ack, AckError, Registration, Target
from messages.bus_protocol import OURS, agreed, compatibility
from messages.bus_texts import INCOMPATIBLE_PROTOCOL, M
from messages.follower_registry import FollowerRegistered, OwnFollowerRegistered


def binding_of(registration: Registration) -> str:
    """The durable key of a registration; one without any is durable for its process only."""
    return registration.profile_key or f"manual:{registration.instance_id}"


def begin(
    plan: Any, request: BusRequest, registration: Registration, now: Now
) -> tuple[Any, Effects]:
    """Check a registration and queue it with the follower's mutation."""
    ours = agreed(OURS, registration.protocol)
    reason = compatibility(OURS, registration.protocol)
    if reason is not None:
        text = M.INCOMPATIBLE.format(reason=reason.value)
        error = AckError(code=INCOMPATIBLE_PROTOCOL)
        return plan, plan.refused(request.asked, text, error, protocol=ours)
    if not registration.registration_generation:
        return plan, plan.refused(request.asked, M.GENERATION_REQUIRED, protocol=ours)
    own = _is_own(plan.settings["owner"], registration, request.peer_pid)
    if not own and not plan.open:
        return plan, plan.refused(request.asked, M.NOT_OPEN_YET, protocol=ours)
    waiting = Waiting(
        purpose="register",
        asked=request.asked,
        connection=request.connection,
        registration=registration,
    )
    arguments = {
        "binding_key": binding_of(registration),
        "instance_id": registration.instance_id,
        "thread_name": registration.thread_name or _generated_name(registration),
        # Every follower is of this machine and this user: the socket admits nobody else.
        "place": place(
            registration.cwd or "",
            plan.settings.get("user_home", ""),
            plan.settings.get("host", ""),
        ),
        "carried_slot": registration.slot,
        "own": own,
    }
    command_id = f"register/{registration.instance_id}/{registration.registration_generation}"
    return plan.mutate("register", arguments, command_id, waiting, now)


def refuse(plan: Any, waiting: Waiting, text: str) -> tuple[Any, Effects]:
    """No thread could be had: the follower is told why, and our protocol with it."""
    registration = waiting.registration
    if registration is None or waiting.asked is None:
        return plan, ()
    ours = agreed(OURS, registration.protocol)
    return plan, plan.refused(waiting.asked, text or M.TARGET_FAILED, protocol=ours)


def finish(
    plan: Any, waiting: Waiting, target: Mapping[str, Any], now: Now
) -> tuple[Any, Effects]:
    """The thread is recorded: enter the follower, answer it, and tell who waits for it."""
    registration, asked = waiting.registration, waiting.asked
    if registration is None or asked is None:
        return plan, ()
    follower = _entered(plan, waiting, registration, target, now)
    plan = dataclasses.replace(
        plan,
        roster=plan.roster.enter(follower),
        slices=plan.slices.fresh(("target-bindings",), "follower-register", now.wall),
    )
    result = {
        "chatId": follower.target.chat_id,
        "slot": follower.slot,
        "threadName": follower.thread_name,
    }
    if follower.target.thread_id is not None:
        result["threadId"] = follower.target.thread_id
    ack = Ack(
        request_id=asked.request_id,
        ok=True,
        result=result,
        protocol=agreed(OURS, registration.protocol),
    )
    known = FollowerRegistered(
        binding_key=follower.binding_key,
        thread_name=follower.thread_name,
        slot=follower.slot,
        instance_id=follower.instance_id,
    )
    noted = {
        "instance_id": follower.instance_id,
        "slot": follower.slot,
        "own": follower.own,
    }
    own: Effects = (Send("leader", OwnFollowerRegistered()),) if follower.own else ()
    rebind = {
        "binding_key": follower.binding_key,
        "instance_id": follower.instance_id,
        "generation": follower.generation,
        "epoch": plan.settings["epoch"],
        "now": now.wall,
    }
    return plan, (
        # What this binding sent before is its own again, whichever process stands behind it.
        Write("message_ownership", "rebind", rebind),
        Perform("reply", asked.request_id, {"asked": asked, "ack": ack}),
        Send("inbox", known),
        Notify("registry.registered", noted),
        *own,
    )


def _entered(
    plan: Any, waiting: Waiting, registration: Registration, target: Mapping[str, Any], now: Now
) -> Follower:
    protocol = registration.protocol
    return Follower(
        instance_id=registration.instance_id,
        binding_key=binding_of(registration),
        generation=registration.registration_generation or "",
        pid=registration.pid,
        birth=registration.process_birth_id,
        slot=target["slot"],
        thread_name=target["thread_name"],
        target=Target(chat_id=target["chat_id"], thread_id=target.get("thread_id")),
        # Taken after the thread was made, so that a slow Telegram makes nobody stale.
        connected_at=now.boot,
        pulse=Pulse(now.boot),
        capabilities=protocol.capabilities if protocol else (),
        connection=None if registration.bus_socket_path else waiting.connection,
        socket_path=registration.bus_socket_path,
        build=protocol.runtime_build if protocol else "",
        own=registration.instance_id == plan.settings["owner"]["instance_id"],
    )


def _is_own(owner: Mapping[str, Any], registration: Registration, peer_pid: int | None) -> bool:
    same_process = peer_pid is None or peer_pid == owner["pid"]
    return registration.instance_id == owner["instance_id"] and same_process


def _generated_name(registration: Registration) -> str:
    directory = (registration.cwd or "").rstrip("/").rpartition("/")[2]
    return directory[:128] or f"process {registration.pid or registration.instance_id}"[:128]
