"""The whole practice chat as one JSON object, for tests; and the part of it the page shows."""

from __future__ import annotations

from typing import Any

from actors.sandbox import telegram_objects
from actors.sandbox.bot_methods import COMMANDS_PREFIX
from actors.sandbox.chat import OWNER, PracticeChat
from stores.practice_chat import Callback, Message, Thread

MOST_SHOWN = 200


def chat_state(chat: PracticeChat) -> dict[str, Any]:
    """Everything there is, with what was deleted."""
    messages = chat.store.messages()
    by_thread: dict[int | None, list[dict[str, Any]]] = {}
    for message in messages:
        by_thread.setdefault(message.thread_id, []).append(_message(chat, message))
    threads = chat.store.threads()
    waiting = chat.store.updates(chat.now_ms())
    return {
        "bot": {**chat.bot(), "has_topics_enabled": chat.threaded_mode},
        "owner": _person(OWNER.user_id, OWNER.first_name),
        "people": [_person(each.user_id, each.first_name) for each in chat.store.people()],
        "threaded_mode": chat.threaded_mode,
        "threads": [
            {**_thread(thread), "messages": by_thread.get(thread.thread_id, [])}
            for thread in threads
        ],
        "messages_outside_threads": by_thread.get(None, []),
        "pending_updates": [
            {"update_id": each.update_id, each.kind: each.body} for each in waiting
        ],
        "offset": chat.offset,
        "allowed_updates": chat.allowed,
        "webhook": {"url": chat.webhook_url},
        "callbacks": [_callback(each) for each in chat.store.callbacks()],
        "commands": list(chat.store.settings_named(COMMANDS_PREFIX).values()),
        "counts": {
            "threads": sum(thread.deleted_at is None for thread in threads),
            "threads_deleted": sum(thread.deleted_at is not None for thread in threads),
            "messages": sum(message.deleted_at is None for message in messages),
            "messages_deleted": sum(message.deleted_at is not None for message in messages),
            "pending_updates": len(waiting),
        },
    }


def chat_view(chat: PracticeChat, thread_id: int | None) -> dict[str, Any]:
    """The owner's chat as the page shows it: live threads, and the end of the chosen one."""
    owner = OWNER.user_id
    threads = [
        thread
        for thread in chat.store.threads()
        if thread.chat_id == owner and thread.deleted_at is None
    ]
    listed: list[dict[str, Any]] = [
        _listed(chat, None, "No thread", 0),
        *(_listed(chat, t.thread_id, t.name, t.icon_color) for t in threads),
    ]
    chosen = chat.store.newest_messages(owner, thread_id, MOST_SHOWN)
    menus = chat.store.settings_named(COMMANDS_PREFIX).values()
    commands = {each["command"]: each for menu in menus for each in menu["commands"]}
    return {
        "bot": chat.bot(),
        "threaded_mode": chat.threaded_mode,
        "threads": listed,
        "thread_id": thread_id,
        "exists": any(each["thread_id"] == thread_id for each in listed),
        "messages": [_message(chat, message) for message in chosen],
        "commands": list(commands.values()),
    }


def _listed(chat: PracticeChat, thread_id: int | None, name: str, color: int) -> dict[str, Any]:
    newest = chat.store.newest_messages(OWNER.user_id, thread_id, 1)
    last = newest[0] if newest else None
    return {
        "thread_id": thread_id,
        "name": name,
        "icon_color": color,
        "last_id": last.message_id if last else 0,
        "last_text": (last.text or "")[:120] if last else "",
        "last_date": last.sent_at // 1000 if last else None,
        "last_from_bot": bool(last and last.from_id == chat.bot_id and not last.service),
    }


def _person(user_id: int, first_name: str) -> dict[str, Any]:
    return {"id": user_id, "first_name": first_name, "chat_id": user_id}


def _thread(thread: Thread) -> dict[str, Any]:
    return {
        "thread_id": thread.thread_id,
        "chat_id": thread.chat_id,
        "name": thread.name,
        "icon_color": thread.icon_color,
        "deleted": thread.deleted_at is not None,
        "created_at_ms": thread.created_at,
    }


def _message(chat: PracticeChat, message: Message) -> dict[str, Any]:
    """The Message of the Bot API, and what only the practice chat knows of it."""
    sender, place = chat.user(message.from_id), chat.place(message.chat_id)
    return {
        **telegram_objects.message(message, sender, place),
        "chat_id": message.chat_id,
        "thread_id": message.thread_id,
        "from_id": message.from_id,
        "from_bot": message.from_id == chat.bot_id,
        "sent_at_ms": message.sent_at,
        "edited_at_ms": message.edited_at,
        "text": message.text,
        "entities": message.entities,
        "reply_markup": message.reply_markup or None,
        "reply_to_message_id": message.reply_to_id,
        "service": message.service or None,
        "reactions": message.reactions,
        "deleted": message.deleted_at is not None,
    }


def _callback(callback: Callback) -> dict[str, Any]:
    return {
        "id": callback.callback_id,
        "message_id": callback.message_id,
        "from_id": callback.from_id,
        "data": callback.data,
        "pressed_at_ms": callback.pressed_at,
        "answered": callback.answered_at is not None,
        "answered_at_ms": callback.answered_at,
        **callback.answer,
    }
