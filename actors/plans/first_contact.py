"""How a leader begins with a bot that it may not have, or that has no owner yet.

    bot identified ──► proven that nobody else reads it ──► paired ──► served
                           │ somebody does                    │
                           ▼                                  ▼
                       yields                    polls until somebody sends the code

A home that has led the bot before skips the proof, one whose bot has an owner the pairing. When the owner
was told, this tree ends in order and keeps the lease: the next one serves the new owner.
"""

import dataclasses
from typing import Any

from actors.plans.effects import Effects, Now, Send, WakeAfter
from actors.plans.election import PROOF_MS
from messages.leader import OwnerPaired
from messages.owner_texts import PAIRED
from messages.poller import PollingContested, ProvePolling, StartPolling
from messages.telegram_gateway import CallTelegram

PROVE_AGAIN_MS = 5_000
PROOF_DEADLINE_MS = 20_000
"""So much longer than the proof itself its answer may take."""
START_DEADLINE_MS = 15_000
TOLD_DEADLINE_MS = 10_000
PAIRED_CALL = "paired/"
PROVE_CALL = "prove/"


def begin(plan: Any, now: Now) -> tuple[Any, Effects]:
    """The bot is known: prove that nobody else reads it, unless that is known too."""
    settings = plan.settings
    if plan.led_before or settings.get("practice") or settings.get("proven"):
        return go_on(plan)
    return prove(plan, now)


def prove(plan: Any, now: Now) -> tuple[Any, Effects]:
    """Let the poller find out."""
    for_ms = plan.settings.get("proof_ms", PROOF_MS)
    ask = Send(
        "poller",
        ProvePolling(for_ms=for_ms),
        f"{PROVE_CALL}{now.boot}",
        for_ms + PROOF_DEADLINE_MS,
        resend=False,
    )
    return plan.at(plan.phases.PROVING), (ask,)


def contested(plan: Any, said: PollingContested) -> tuple[Any, Effects]:
    """Somebody is there, or it cannot be found out."""
    match said.cause:
        case "foreign-poller":
            return plan.end("foreign-poller", "")
        case "unauthorized":
            return plan.end("token-refused", said.text)
        case "webhook":
            plan = dataclasses.replace(plan, poller_conflict="webhook")
            told = plan.report("poll-conflict", {"cause": "webhook"})
        case _:
            told = plan.report("unreachable", {})
    return plan, (told, WakeAfter("prove", PROVE_AGAIN_MS))


def proven(plan: Any) -> tuple[Any, Effects]:
    """Nobody else reads it; main need not have it proven again."""
    told: Effects = (plan.report("proven", {}),)
    if plan.poller_conflict:
        plan = dataclasses.replace(plan, poller_conflict="")
        told = (*told, plan.report("poll-conflict", {"cause": "solved"}))
    plan, effects = go_on(plan)
    return plan, (*told, *effects)


def go_on(plan: Any) -> tuple[Any, Effects]:
    """Serve the owner of the bot, or find one."""
    if not plan.settings.get("pairing"):
        return plan.replay()
    plan = plan.at(plan.phases.PAIRING)
    return plan, (*poll(plan), plan.report("pairing", {}))


def poll(plan: Any) -> Effects:
    """Poll; the first time, and when the poller was replaced."""
    incarnation = plan.supervision.incarnation("poller")
    return (Send("poller", StartPolling(), f"poll/{incarnation}", START_DEADLINE_MS),)


def tell_owner(plan: Any, paired: OwnerPaired, now: Now) -> tuple[Any, Effects]:
    """The code was sent: tell the new owner before this tree ends."""
    params = {"chat_id": paired.told_in, "text": PAIRED}
    call = CallTelegram(method="sendMessage", params=params, priority="control")
    told = Send("telegram_gateway", call, f"{PAIRED_CALL}{now.boot}", TOLD_DEADLINE_MS, False)
    return dataclasses.replace(plan, paired=paired), (told,)
