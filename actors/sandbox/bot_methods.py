"""The Bot API methods about the bot itself: who it is, its commands, its webhook; and the table.

`METHODS` holds every method but getUpdates, which waits and so belongs to `UpdateQueue`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from actors.sandbox import message_methods, topic_methods
from actors.sandbox.chat import PracticeChat
from actors.sandbox.errors import bad_request
from actors.sandbox.parameters import Parameters
from actors.sandbox.refusals import checked_commands

GET_UPDATES = "getUpdates"
SET_WEBHOOK = "setWebhook"
COMMANDS_PREFIX = "commands "

_SCOPES = (
    "default",
    "all_private_chats",
    "all_group_chats",
    "all_chat_administrators",
    "chat",
    "chat_administrators",
    "chat_member",
)


def get_me(chat: PracticeChat, p: Parameters) -> dict[str, Any]:
    return {
        **chat.bot(),
        "can_join_groups": False,
        "can_read_all_group_messages": False,
        "supports_guest_queries": False,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": chat.threaded_mode,
        "allows_users_to_create_topics": True,
        "can_manage_bots": False,
    }


def get_chat(chat: PracticeChat, p: Parameters) -> dict[str, Any]:
    return {
        **chat.place(chat.known_chat(p.chat_id())),
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": {
            "unlimited_gifts": False,
            "limited_gifts": False,
            "unique_gifts": False,
            "premium_subscription": False,
            "gifts_from_channels": False,
        },
    }


def set_my_commands(chat: PracticeChat, p: Parameters) -> bool:
    given = p.json("commands", bad_request("can't parse commands JSON object"))
    commands = checked_commands(given)
    scope, language = _commands_scope(p)
    menu = {"scope": scope, "language_code": language, "commands": commands}
    with chat.change():
        chat.store.remember_setting(_setting_name(scope, language), menu)
        chat.announce("changed")
    return True


def get_my_commands(chat: PracticeChat, p: Parameters) -> list[dict[str, str]]:
    menu = chat.store.setting(_setting_name(*_commands_scope(p)))
    return list(menu["commands"]) if menu else []


def delete_my_commands(chat: PracticeChat, p: Parameters) -> bool:
    with chat.change():
        chat.store.forget_setting(_setting_name(*_commands_scope(p)))
        chat.announce("changed")
    return True


def set_webhook(chat: PracticeChat, p: Parameters) -> bool:
    """Nothing is ever delivered to it; it only keeps getUpdates from working, as there."""
    url = p.text("url").strip()
    if url and not url.lower().startswith("https://"):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    return _webhook(chat, p, url)


def delete_webhook(chat: PracticeChat, p: Parameters) -> bool:
    return _webhook(chat, p, "")


def get_webhook_info(chat: PracticeChat, p: Parameters) -> dict[str, Any]:
    info: dict[str, Any] = {
        "url": chat.webhook_url,
        "has_custom_certificate": False,
        "pending_update_count": len(chat.store.update_ids(chat.now_ms())),
    }
    if info["url"]:
        info["max_connections"] = 40
    allowed = chat.store.setting("allowed updates")
    if allowed is not None:
        info["allowed_updates"] = allowed
    return info


def _webhook(chat: PracticeChat, p: Parameters, url: str) -> bool:
    with chat.change():
        if p.flag("drop_pending_updates"):
            chat.store.forget_all_updates()
        if url != chat.webhook_url:
            chat.store.remember_setting("webhook", url)
    return True


def _commands_scope(p: Parameters) -> tuple[dict[str, Any], str]:
    scope = p.json("scope", bad_request("can't parse BotCommandScope JSON object"))
    if scope is None:
        scope = {"type": "default"}
    if not isinstance(scope, dict) or scope.get("type") not in _SCOPES:
        raise bad_request("can't parse BotCommandScope: Unsupported type specified")
    language = p.text("language_code")
    if language and not re.fullmatch(r"[a-z]{2}", language):
        raise bad_request("invalid language code specified")
    return {name: scope[name] for name in ("type", "chat_id", "user_id") if name in scope}, language


def _setting_name(scope: dict[str, Any], language: str) -> str:
    digest = hashlib.sha256(json.dumps([scope, language], sort_keys=True).encode()).hexdigest()
    return f"{COMMANDS_PREFIX}{digest[:16]}"


METHODS: dict[str, Callable[[PracticeChat, Parameters], Any]] = {
    "getMe": get_me,
    "getChat": get_chat,
    "setMyCommands": set_my_commands,
    "getMyCommands": get_my_commands,
    "deleteMyCommands": delete_my_commands,
    SET_WEBHOOK: set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": get_webhook_info,
    "sendMessage": message_methods.send_message,
    "editMessageText": message_methods.edit_message_text,
    "editMessageReplyMarkup": message_methods.edit_message_reply_markup,
    "deleteMessage": message_methods.delete_message,
    "deleteMessages": message_methods.delete_messages,
    "setMessageReaction": message_methods.set_message_reaction,
    "sendChatAction": message_methods.send_chat_action,
    "answerCallbackQuery": message_methods.answer_callback_query,
    "createForumTopic": topic_methods.create_forum_topic,
    "editForumTopic": topic_methods.edit_forum_topic,
    "deleteForumTopic": topic_methods.delete_forum_topic,
    "closeForumTopic": topic_methods.close_or_reopen_forum_topic,
    "reopenForumTopic": topic_methods.close_or_reopen_forum_topic,
}

# Method names are read in any case and shown in one.
SPELLINGS = {name.lower(): name for name in (GET_UPDATES, *METHODS)}
