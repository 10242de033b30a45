"""The Bot API methods about threads, which Telegram calls forum topics."""

from __future__ import annotations

from typing import Any

from actors.sandbox import refusals
from actors.sandbox.chat import PracticeChat, is_group
from actors.sandbox.errors import bad_request
from actors.sandbox.parameters import Parameters
from actors.sandbox.telegram_objects import forum_topic
from stores.practice_chat import Thread


def create_forum_topic(chat: PracticeChat, p: Parameters) -> dict[str, Any]:
    chat_id = chat.known_chat(p.chat_id())
    if not chat.has_topics(chat_id):
        raise bad_request("the chat is not a forum")
    name = refusals.clean_thread_name(p.text("name"))
    if not name:
        raise bad_request("name must be non-empty")
    color = p.integer("icon_color", refusals.ICON_COLORS[0])
    if color not in refusals.ICON_COLORS:
        color = refusals.ICON_COLORS[0]
    emoji_id = p.text("icon_custom_emoji_id") or None
    with chat.change():
        thread, _ = chat.open_thread(chat_id, chat.bot_id, name, color, emoji_id)
    return forum_topic(thread)


def edit_forum_topic(chat: PracticeChat, p: Parameters) -> bool:
    thread = _changeable(chat, p)
    raw = p.text("name")
    name = refusals.clean_thread_name(raw) if raw else None
    emoji_id = p.text("icon_custom_emoji_id") if p.has("icon_custom_emoji_id") else None
    if name is None and emoji_id is None:
        return True
    if name == "":
        raise bad_request("name must be non-empty")
    same_name = name is None or name == thread.name
    same_icon = emoji_id is None or emoji_id == (thread.icon_custom_emoji_id or "")
    if same_name and same_icon:
        raise bad_request("TOPIC_NOT_MODIFIED")
    with chat.change():
        chat.rename_thread(
            thread,
            chat.bot_id,
            None if same_name else name,
            None if same_icon else emoji_id,
        )
    return True


def delete_forum_topic(chat: PracticeChat, p: Parameters) -> bool:
    thread = _changeable(chat, p)
    with chat.change():
        chat.remove_thread(thread)
    return True


def close_or_reopen_forum_topic(chat: PracticeChat, p: Parameters) -> bool:
    """Only supergroups have that; where the bot may manage topics it goes on writing there."""
    if not is_group(chat.known_chat(p.chat_id())):
        raise bad_request("the chat is not a supergroup forum")
    _changeable(chat, p)
    return True


def _changeable(chat: PracticeChat, p: Parameters) -> Thread:
    chat_id = chat.known_chat(p.chat_id())
    asked = p.thread_id()
    thread = None if asked is None else chat.store.thread(asked)
    refusal = refusals.thread_change_refusal(chat.has_topics(chat_id), thread, chat_id)
    if refusal is not None:
        raise refusal
    assert thread is not None
    return thread
