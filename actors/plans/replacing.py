"""The registry moves a follower to another thread: its old one is gone, as Telegram said of a call.

The provisioner makes sure and gives a new one; the follower is told of it and must agree before its entry is
changed; then the call is answered, so that its caller knows where to say the same again.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans import relaying
from actors.plans.api_allowlist import whole_number
from actors.plans.bus_request import Waiting
from actors.plans.effects import Effects, Notify, Write
from actors.plans.relays import REPLACE_DEADLINE_MS, Giver, Relay, answer_of
from actors.plans.roster import Follower
from messages.bus import AckError, ReplaceFollowerTarget, Target
from messages.bus_texts import STALE_TARGET, M

SUSPECT_SLICES = ("topic-state", "transport-health", "target-bindings")
ACTION = "topic-target-stale"


def begin(
    plan: Any, waiting: Waiting, holder: Follower, description: str, now: Any
) -> tuple[Any, Effects]:
    """A call found the thread of `holder` gone; that is mostly, but not always, its own caller."""
    thread_id = holder.target.thread_id
    asked = waiting.asked
    command_id = f"replace/{waiting.instance_id}/{asked.request_id if asked else ''}"
    arguments = {
        "binding_key": holder.binding_key,
        "instance_id": holder.instance_id,
        "thread_id": thread_id,
        "error": description[:1_000],
    }
    repairing = dataclasses.replace(
        waiting,
        purpose="replace",
        instance_id=holder.instance_id,
        generation=holder.generation,
        text=description,
    )
    slices = plan.slices.suspect(SUSPECT_SLICES, "stale-api-error", ACTION, now.wall)
    plan = dataclasses.replace(plan, slices=slices)
    plan, effects = plan.mutate("replace-target", arguments, command_id, repairing, now)
    forget = {
        "chat_id": holder.target.chat_id, "thread_id": thread_id, "epoch": plan.settings["epoch"],
    }
    noted = Notify(
        f"bus.{ACTION}", {"chatId": holder.target.chat_id, "threadId": thread_id}, "WARNING"
    )
    return plan, (Write("message_ownership", "forget_target", forget), noted, *effects)


def replaced(
    plan: Any, waiting: Waiting, target: Mapping[str, Any], now: Any
) -> tuple[Any, Effects]:
    """The thread was looked at: tell the follower if there is a new one, else answer the call."""
    follower = plan.roster.get(waiting.instance_id)
    new_thread = target.get("thread_id")
    if follower is None or new_thread is None or follower.generation != waiting.generation:
        return plan, answer(plan, waiting)
    if follower.target.thread_id == new_thread or not follower.reachable:
        # Another call found out first, or the thread is there after all, or nobody can be told.
        return plan, answer(plan, waiting)
    moved = Target(chat_id=target["chat_id"], thread_id=new_thread)
    asked = waiting.asked
    told_ = ReplaceFollowerTarget(
        request_id=f"replace-{asked.request_id if asked else follower.generation}"[:256],
        auth=plan.secret,
        recipient_instance_id=follower.instance_id,
        recipient_registration_generation=follower.generation,
        target=moved,
        old_target=follower.target,
        reason="thread-restore",
        sent_at_ms=now.wall,
    )
    relay = Relay(
        relay_id=told_.request_id,
        giver=Giver.REGISTRY,
        kind=told_.KIND,
        instance_id=follower.instance_id,
        generation=follower.generation,
        connection=follower.connection,
        deadline=now.boot + REPLACE_DEADLINE_MS,
        waiting=waiting,
        target=moved,
    )
    return relaying.send(plan, relay, follower, told_, now)


def told(plan: Any, relay: Relay, said: Any) -> tuple[Any, Effects]:
    """The follower heard of its new thread, or did not: only its yes moves its entry."""
    done, _ = answer_of(relay, said)
    if done and relay.target is not None and plan.is_current(relay.instance_id, relay.generation):
        plan = plan.retargeted(relay.instance_id, relay.target)
    return plan, () if relay.waiting is None else answer(plan, relay.waiting)


def failed(plan: Any, waiting: Waiting, text: str) -> tuple[Any, Effects]:
    """The thread could not be looked at: that is what the caller hears, not what Telegram said."""
    if waiting.asked is None:
        return plan, ()
    return plan, plan.refused(waiting.asked, text or M.TARGET_FAILED)


def answer(plan: Any, waiting: Waiting) -> Effects:
    """The call failed, in Telegram's words, because the thread that it named is gone."""
    if waiting.asked is None or waiting.call is None:
        return ()
    args = waiting.call.args
    body = args[1] if len(args) > 1 and isinstance(args[1], Mapping) else {}
    error = AckError(
        code=STALE_TARGET,
        chat_id=whole_number(body.get("chat_id")),
        thread_id=whole_number(body.get("message_thread_id")),
    )
    return plan.refused(waiting.asked, waiting.text or M.API_FAILED, error)
