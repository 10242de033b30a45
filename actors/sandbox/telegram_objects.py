"""Our records in Telegram's spelling."""

from __future__ import annotations

from typing import Any

from stores.practice_chat import Message, Thread


def message(record: Message, sender: dict[str, Any], chat: dict[str, Any]) -> dict[str, Any]:
    """A Message without the one it replies to."""
    shown: dict[str, Any] = {
        "message_id": record.message_id,
        "from": sender,
        "chat": chat,
        "date": record.sent_at // 1000,
    }
    if record.thread_id is not None:
        shown["message_thread_id"] = record.thread_id
        shown["is_topic_message"] = True
    if record.edited_at is not None:
        shown["edit_date"] = record.edited_at // 1000
    if record.text is not None:
        shown["text"] = record.text
    if record.entities:
        shown["entities"] = record.entities
    if record.reply_markup:
        shown["reply_markup"] = record.reply_markup
    shown.update(record.service)
    return shown


def inaccessible_message(message_id: int, chat: dict[str, Any]) -> dict[str, Any]:
    """What is left of a deleted message in a callback query: no thread either."""
    return {"chat": chat, "message_id": message_id, "date": 0}


def forum_topic(thread: Thread) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "message_thread_id": thread.thread_id,
        "name": thread.name,
        "icon_color": thread.icon_color,
    }
    if thread.icon_custom_emoji_id:
        shown["icon_custom_emoji_id"] = thread.icon_custom_emoji_id
    return shown


def thread_created(thread: Thread) -> dict[str, Any]:
    """The service part of the message that announces a thread."""
    created = forum_topic(thread)
    del created["message_thread_id"]
    return {"forum_topic_created": created}


def reactions(emoji: list[str]) -> list[dict[str, str]]:
    return [{"type": "emoji", "emoji": each} for each in emoji]
