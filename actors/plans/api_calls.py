"""The registry's API calls: what a follower wants from Telegram, and what it is told of the outcome.

A call that may have happened is never repeated. A thread that Telegram says is gone is repaired before
the follower hears of it, so that it can say the same in its new thread.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans import replacing
from actors.plans.api_allowlist import (
    allows,
    is_stale_evidence,
    priority_of,
    sent_messages,
    whole_number,
    without_markers,
)
from actors.plans.bus_request import Waiting
from actors.plans.call_result import RETRY_SAFE
from actors.plans.effects import Effects, Send, Write
from messages.bus import AckError, Target
from messages.bus_texts import COMMIT_UNKNOWN, M
from messages.telegram_gateway import CallTelegram

CALL_DEADLINE_MS = 29_000
"""A little less than the follower waits, so that it hears our answer rather than nothing."""

_NOT_SENT = frozenset({"unavailable", "fenced", "unauthorized"})
"""Outcomes of which the follower hears a text of its own: it may say the same again."""


def begin(
    plan: Any, request: Any, follower: Any, message_owner: str | None
) -> tuple[Any, Effects]:
    """Check the allowlist and pass the call to the gateway."""
    call = request.envelope
    owns_it = message_owner is not None and message_owner == follower.binding_key
    if not allows(call.method, call.args, follower.target, owns_it):
        return plan, plan.refused(request.asked, M.API_NOT_ALLOWED)
    if call.method != "call":
        # Uploads and downloads need files to travel, which comes with attachments.
        return plan, plan.refused(request.asked, M.API_UNAVAILABLE)
    name, body = call.args[0], call.args[1] if len(call.args) > 1 else {}
    command_id = f"api/{follower.instance_id}/{request.asked.request_id}"
    waiting = Waiting(
        purpose="call",
        asked=request.asked,
        connection=request.connection,
        call=call,
        instance_id=follower.instance_id,
        generation=follower.generation,
    )
    command = CallTelegram(
        method=name, params=dict(without_markers(body)), priority=priority_of(name)
    )
    send = Send(
        "telegram_gateway", command, command_id, CALL_DEADLINE_MS, resend=name in RETRY_SAFE
    )
    return plan.expecting(command_id, waiting), (send,)


def done(plan: Any, waiting: Any, envelope: Any, now: Any) -> tuple[Any, Effects]:
    """It happened: record whose messages these are, then tell the follower."""
    name, body = _name_and_body(waiting)
    follower = plan.roster.get(waiting.instance_id)
    made = sent_messages(name, body, envelope.body.result, follower.target) if follower else ()
    writes = tuple(
        Write(
            "message_ownership",
            "record",
            {
                "chat_id": chat_id,
                "message_id": message_id,
                "binding_key": follower.binding_key,
                "thread_id": thread_id,
                "instance_id": follower.instance_id,
                "generation": follower.generation,
                "epoch": plan.settings["epoch"],
                "now": now.wall,
            },
        )
        for chat_id, message_id, thread_id in made
    )
    return plan, (*writes, *plan.acked(waiting.asked, envelope.body.result))


def refused(plan: Any, waiting: Any, envelope: Any, now: Any) -> tuple[Any, Effects]:
    """It did not happen, or nobody knows."""
    said = envelope.body
    name, body = _name_and_body(waiting)
    if said.outcome == "commit-unknown":
        return plan, _commit_unknown(plan, waiting, said.description)
    if said.outcome in _NOT_SENT:
        return plan, plan.refused(waiting.asked, M.API_UNAVAILABLE)
    chat_id = whole_number(body.get("chat_id"))
    thread_id = whole_number(body.get("message_thread_id"))
    if (
        chat_id is not None
        and thread_id is not None
        and said.outcome == "rejected"
        and is_stale_evidence(said.description, said.error_code)
    ):
        holder = plan.roster.by_target(Target(chat_id=chat_id, thread_id=thread_id))
        if holder is not None:
            return replacing.begin(plan, waiting, holder, said.description, now)
        told = dataclasses.replace(waiting, text=said.description)
        return plan, replacing.answer(plan, told)
    return plan, plan.refused(waiting.asked, said.description or M.API_FAILED)


def unanswered(plan: Any, waiting: Any, lost: Any) -> tuple[Any, Effects]:
    """The gateway said nothing: a send may have happened, anything else is only a failure."""
    name, _ = _name_and_body(waiting)
    if name in RETRY_SAFE:
        return plan, plan.refused(waiting.asked, M.API_FAILED)
    return plan, _commit_unknown(plan, waiting, M.API_FAILED)


def failed(plan: Any, waiting: Any, text: str) -> tuple[Any, Effects]:
    """The gateway could not take the call at all, so nothing was sent."""
    return plan, plan.refused(waiting.asked, text or M.API_FAILED)


def _commit_unknown(plan: Any, waiting: Any, text: str) -> Effects:
    name, _ = _name_and_body(waiting)
    error = AckError(code=COMMIT_UNKNOWN, method=name)
    return plan.refused(waiting.asked, text or M.API_FAILED, error)


def _name_and_body(waiting: Any) -> tuple[str, Mapping[str, Any]]:
    args = waiting.call.args
    body = args[1] if len(args) > 1 and isinstance(args[1], Mapping) else {}
    return args[0], body
