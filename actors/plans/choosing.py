"""The chooser: a message that belongs to no thread of ours is kept until its owner says whose it is."""

import dataclasses
from collections.abc import Mapping
from textwrap import shorten
from typing import Any

from actors.plans.effects import Effects, Now, Send, Write
from actors.plans.routing import CHOICE_PREFIX
from messages.telegram_gateway import CallTelegram
from messages.texts import (
    BUTTON_DROP_IT,
    CHOICE_DROPPED,
    CHOICE_TOO_OLD,
    CHOOSE,
    CHOOSE_THREAD_GONE,
    CHOSEN,
)

DROP = "-"
CALL_DEADLINE_MS = 60_000
"""Longer than a call may wait in the budget and then for its answer."""
BUTTONS_A_ROW = 2
LONGEST_EXCERPT = 200


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A pressed button: for which update, and the slot chosen or `DROP`."""

    update_id: int
    slot: str
    callback_id: str
    chat_id: int
    chooser_message_id: int


def choice_of(update: Mapping[str, Any]) -> Choice | None:
    """Read a pressed chooser button; None when the data is malformed."""
    query = update.get("callback_query") or {}
    data = str(query.get("data", "")).removeprefix(CHOICE_PREFIX)
    number, _, slot = data.partition(":")
    message = query.get("message") or {}
    if not number.isdigit() or not slot:
        return None
    return Choice(
        update_id=int(number),
        slot=slot,
        callback_id=str(query.get("id", "")),
        chat_id=(message.get("chat") or {}).get("id", 0),
        chooser_message_id=message.get("message_id", 0),
    )


def asked_about(command_id: str | None) -> int | None:
    """The update that a question of ours was about; None for another command."""
    purpose, _, rest = (command_id or "").partition("/")
    return int(rest.partition("/")[0]) if purpose == "ask" else None


def ask_which(row: Any, reachable: Mapping[str, Any], now: Now) -> Send:
    """The question about one row, with a button for every live process."""
    buttons = [
        {"text": live.thread_name, "callback_data": f"{CHOICE_PREFIX}{row.update_id}:{live.slot}"}
        for live in sorted(reachable.values(), key=lambda live: live.slot)
    ]
    rows = [buttons[at:at + BUTTONS_A_ROW] for at in range(0, len(buttons), BUTTONS_A_ROW)]
    drop = {"text": BUTTON_DROP_IT, "callback_data": f"{CHOICE_PREFIX}{row.update_id}:{DROP}"}
    params: dict[str, Any] = {
        "chat_id": row.chat_id,
        "text": _question(row),
        "reply_markup": {"inline_keyboard": [*rows, [drop]]},
        "reply_parameters": {
            "message_id": row.message_id,
            "allow_sending_without_reply": True,
        },
    }
    if row.thread_id is not None:
        params["message_thread_id"] = row.thread_id
    call = CallTelegram(method="sendMessage", params=params, priority="control")
    return Send(
        "telegram_gateway", call, f"ask/{row.update_id}/{now.boot}", CALL_DEADLINE_MS, resend=False
    )


def _question(row: Any) -> str:
    """What is asked; a message that nobody can look at any more is quoted."""
    if row.reason != "thread-gone":
        return CHOOSE
    said = str(row.carrier.get("text") or row.carrier.get("caption") or "")
    return CHOOSE_THREAD_GONE.format(excerpt=shorten(said, LONGEST_EXCERPT, placeholder=" …") or "…")


def settle_choice(
    update: Mapping[str, Any],
    choice: Choice | None,
    row: Any,
    reachable: Mapping[str, Any],
    epoch: int,
) -> Effects:
    """Deliver or drop the kept message, once; every press is answered exactly once."""
    callback_id = str((update.get("callback_query") or {}).get("id", ""))
    target = next(
        (key for key, live in reachable.items() if choice and live.slot == choice.slot), None
    )
    if choice is None or row is None or row.state != "chooser":
        return (_answer(callback_id, CHOICE_TOO_OLD),)
    if choice.slot != DROP and target is None:
        return (_answer(callback_id, CHOICE_TOO_OLD),)
    if choice.slot == DROP:
        done = Write("ingress", "settle_done", {"update_id": row.update_id, "epoch": epoch})
        return (done, _answer(callback_id, None), _show(choice, CHOICE_DROPPED))
    arguments = {"update_id": row.update_id, "binding_key": target, "epoch": epoch}
    shown = CHOSEN.format(thread_name=reachable[target or ""].thread_name)
    return (
        Write("ingress", "assign", arguments),
        _answer(callback_id, None),
        _show(choice, shown),
    )


def _answer(callback_id: str, text: str | None) -> Send:
    params = {"callback_query_id": callback_id} | ({"text": text} if text else {})
    call = CallTelegram(method="answerCallbackQuery", params=params, priority="control")
    return Send("telegram_gateway", call, None, CALL_DEADLINE_MS, resend=False)


def _show(choice: Choice, text: str) -> Send:
    params = {
        "chat_id": choice.chat_id,
        "message_id": choice.chooser_message_id,
        "text": text,
    }
    call = CallTelegram(method="editMessageText", params=params, priority="control")
    return Send("telegram_gateway", call, None, CALL_DEADLINE_MS, resend=False)
