"""The front door: what is said to the bot itself, before it is anybody's: `/start`, codes, strangers.

The right code makes its sender the owner; `/start` of the owner is greeted, and so are `/help` and `/status`
outside of every thread, where they are nobody's; everybody else is told once a
day that the bot is private, with their own id. Nothing that is dealt with here goes to a thread.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.delivery import Content, command_of
from actors.plans.effects import Effects, Notify, Now, Send, Write
from actors.plans.pairing import Worth, chosen_chat, said, worth
from actors.plans.routing import Routed, message_of
from messages.leader import OwnerPaired
from messages.owner_texts import (
    CODE_NEEDS_TOPICS,
    CODE_WRONG,
    GREETING,
    GREETING_NOBODY,
    PRIVATE_BOT,
)
from messages.telegram_gateway import CallTelegram

REFUSE_EVERY_MS = 24 * 3_600_000
SAY_DEADLINE_MS = 60_000
"""Longer than a call may wait in the budget and then for its answer."""


@dataclasses.dataclass(frozen=True)
class FrontDoor:
    """The rows it decides by; within a batch it carries on what it decided itself."""

    epoch: int
    owner_id: int
    pairing: Any = None
    refused: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """When strangers were told last."""
    thread_names: tuple[str, ...] = ()

    def receive(
        self, place: Routed, update: Mapping[str, Any], now: Now
    ) -> tuple["FrontDoor", Routed, Effects]:
        """Take what is for the bot itself; all else goes on as it was routed."""
        if place.reason in ("not-ours", "own-service-message"):
            return self, place, ()
        message = message_of(update)
        heard = said(message.get("text")) if place.kind == "message" else said(None)
        if heard.code is not None and place.from_id is not None:
            door, reason, effects = self._try_code(heard.code, message, place, now)
            if reason:
                return door, _settled(place, reason), effects
        if place.reason == "stranger":
            door, effects = self._refuse(place, now)
            return door, place, effects
        asks = (heard.is_start and place.fate != "held") or (place.fate == "chooser" and _asks_the_bot(message))
        if asks:
            return self, _settled(place, "start"), self._greet(place, message)
        return self, place, ()

    # -- codes ----------------------------------------------------------------------------------

    def _try_code(
        self, code: str, message: Mapping[str, Any], place: Routed, now: Now
    ) -> tuple["FrontDoor", str, Effects]:
        chat, sender = message.get("chat") or {}, message.get("from") or {}
        if sender.get("is_bot") or message.get("sender_chat"):
            return self, "", ()
        match worth(code, chat, self.pairing, now.wall):
            case Worth.RIGHT:
                return self._pair(chat, sender, now)
            case Worth.NO_TOPICS:
                return self, "code", (_say(place, CODE_NEEDS_TOPICS),)
            case Worth.WRONG if place.from_id != self.owner_id:
                return self._count(place)
        # Of the owner it is most likely a message like any other.
        return self, "", ()

    def _pair(
        self, chat: Mapping[str, Any], sender: Mapping[str, Any], now: Now
    ) -> tuple["FrontDoor", str, Effects]:
        owner_id, name = int(sender["id"]), str(sender.get("first_name") or "")
        chat_id = chosen_chat(chat, owner_id, self.pairing.wanted_chat_id)
        arguments = {
            "code": self.pairing.code,
            "owner_id": owner_id,
            "owner_name": name,
            "chat_id": chat_id,
            "epoch": self.epoch,
            "now": now.wall,
        }
        door = dataclasses.replace(
            self, pairing=dataclasses.replace(self.pairing, owner_id=owner_id)
        )
        paired = OwnerPaired(
            owner_id=owner_id, owner_name=name, chat_id=chat_id, told_in=int(chat["id"])
        )
        return door, "code", (
            Write("pairing", "record_paired", arguments),
            Send("leader", paired),
            Notify("inbox.paired", {"user_id": owner_id, "chat_id": chat_id}, "WARNING"),
        )

    def _count(self, place: Routed) -> tuple["FrontDoor", str, Effects]:
        pairing = dataclasses.replace(self.pairing, tries=self.pairing.tries + 1)
        counted = Write(
            "pairing", "count_try", {"code": self.pairing.code, "epoch": self.epoch}
        )
        noted = Notify("inbox.code_wrong", {"user_id": place.from_id}, "WARNING")
        effects: Effects = (counted, noted)
        if place.chat_id == place.from_id:
            effects = (*effects, _say(place, CODE_WRONG))
        return dataclasses.replace(self, pairing=pairing), "wrong-code", effects

    # -- people ---------------------------------------------------------------------------------

    def _refuse(self, place: Routed, now: Now) -> tuple["FrontDoor", Effects]:
        stranger = place.from_id
        noted = Notify("inbox.stranger", {"user_id": stranger, "kind": place.kind}, "WARNING")
        told = self.refused.get(stranger or 0)
        silent = told is not None and now.wall - told < REFUSE_EVERY_MS
        private = place.kind in ("message", "edited_message") and place.chat_id == stranger
        if stranger is None or silent or not private:
            return self, (noted,)
        door = dataclasses.replace(self, refused={**self.refused, stranger: now.wall})
        arguments = {
            "user_id": stranger,
            "forget_before": now.wall - REFUSE_EVERY_MS,
            "epoch": self.epoch,
            "now": now.wall,
        }
        return door, (
            Write("refusals", "record", arguments),
            noted,
            _say(place, PRIVATE_BOT.format(user_id=stranger)),
        )

    def _greet(self, place: Routed, message: Mapping[str, Any]) -> Effects:
        sender = message.get("from") or {}
        name = str(sender.get("first_name") or "").strip()
        text = GREETING_NOBODY
        if self.thread_names:
            text = GREETING.format(threads=", ".join(self.thread_names))
        return (_say(place, f"Hello {name}. {text}" if name else text),)


def _asks_the_bot(message: Mapping[str, Any]) -> bool:
    text = message.get("text")
    return isinstance(text, str) and command_of(text) in (Content.HELP, Content.STATUS)


def _settled(place: Routed, reason: str) -> Routed:
    return dataclasses.replace(place, fate="done", reason=reason, binding_key=None)


def _say(place: Routed, text: str) -> Send:
    """Answer where it was said, without anything that would wait for its outcome."""
    params: dict[str, Any] = {"chat_id": place.chat_id, "text": text}
    if place.thread_id is not None:
        params["message_thread_id"] = place.thread_id
    call = CallTelegram(method="sendMessage", params=params, priority="control")
    return Send("telegram_gateway", call, f"door/{place.update_id}", SAY_DEADLINE_MS, False)
