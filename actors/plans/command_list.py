"""The menu of commands that Telegram shows beside the text field: who sees which, as calls.

The owner sees what works in a thread, in the one chat the bot serves. Everybody else sees how to
connect, and nothing that would not work for them.
"""

from typing import Any

from actors.plans.effects import Effects, Send
from messages.telegram_gateway import CallTelegram
from messages.texts import MENU, MENU_OF_STRANGERS

CALL_DEADLINE_MS = 20_000
MENU_CALL = "menu/"
"""How the ids of these calls begin."""


def menus(chat_id: int, owner_id: int) -> tuple[dict[str, Any], ...]:
    """The parameters of each setMyCommands."""
    scope: dict[str, Any] = {"type": "chat", "chat_id": chat_id}
    if chat_id < 0:
        # In a group the others read along, and the bot obeys one of them alone.
        scope = {"type": "chat_member", "chat_id": chat_id, "user_id": owner_id}
    return (
        {"commands": _commands(MENU_OF_STRANGERS), "scope": {"type": "default"}},
        {"commands": _commands(MENU), "scope": scope},
    )


def set_menus(chat_id: int, owner_id: int) -> Effects:
    """Set them all; one that fails is set by the next leader."""
    return tuple(
        Send(
            "telegram_gateway",
            CallTelegram(method="setMyCommands", params=params, priority="control"),
            f"{MENU_CALL}{number}",
            CALL_DEADLINE_MS,
            resend=False,
        )
        for number, params in enumerate(menus(chat_id, owner_id))
    )


def _commands(listed: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"command": name, "description": words} for name, words in listed]
