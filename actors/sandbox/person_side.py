"""What people do in the practice chat: write, press, react, edit, and open and close threads.

Used by the control side and the page alike. Everybody but the owner is a stranger, known from the
first thing they do, with a private chat of their own.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

from actors.sandbox import refusals, telegram_objects
from actors.sandbox.chat import CALLBACK_KEPT_FOR_MS, OWNER, PracticeChat
from actors.sandbox.errors import BotApiError
from actors.sandbox.keyboard import LONGEST_CALLBACK_BYTES
from actors.sandbox.text import command_entities, too_long, trimmed
from stores.practice_chat import Callback, Message, Person, Thread


class Impossible(Exception):
    """Nobody could do this in the chat; the message says why."""


class PersonSide:
    def __init__(self, chat: PracticeChat) -> None:
        self._chat = chat
        self._store = chat.store

    def write(
        self,
        text: str,
        thread_id: int | None,
        from_id: int,
        reply_to_id: int | None = None,
        group_id: int | None = None,
    ) -> dict[str, Any]:
        """A message to the bot or in a group, in a thread or outside any."""
        text = _written(text)
        chat_id = from_id if group_id is None else self._known_group(group_id)
        if thread_id is not None:
            self._live_thread(thread_id, chat_id)
        if reply_to_id is not None:
            self._live_message(reply_to_id)
        with self._chat.change():
            self._meet(from_id)
            message = self._chat.new_message(
                chat_id,
                from_id,
                thread_id,
                text=text,
                entities=command_entities(text),
                reply_to_id=reply_to_id,
            )
            update_id = self._chat.queue_message(message)
        return {
            "message_id": message.message_id,
            "update_id": update_id,
            "chat_id": chat_id,
            "thread_id": thread_id,
            "date": message.sent_at // 1000,
        }

    def edit(self, message_id: int, text: str, from_id: int) -> dict[str, Any]:
        """Another text for a message of one's own."""
        text = _written(text)
        before = self._live_message(message_id)
        if before.from_id != from_id or before.service:
            raise Impossible(f"Message {message_id} was not written by {from_id}.")
        if before.text == text:
            raise Impossible(f"Message {message_id} has this text already.")
        after = replace(
            before, text=text, entities=command_entities(text), edited_at=self._chat.now_ms()
        )
        with self._chat.change():
            self._chat.put_message(after)
            update_id = self._chat.queue("edited_message", self._chat.message_object(after))
        return {"message_id": message_id, "update_id": update_id}

    def press(self, message_id: int, data: str, from_id: int) -> dict[str, Any]:
        """A button under a message of the bot; a forged one may carry any data."""
        if not 0 < len(data.encode()) <= LONGEST_CALLBACK_BYTES:
            raise Impossible("The data of a button has 1 to 64 bytes.")
        message = self._store.message(message_id)
        if message is None or message.from_id != self._chat.bot_id:
            raise Impossible(f"Message {message_id} is none of the bot's.")
        now = self._chat.now_ms()
        callback_id = str(10**17 + secrets.randbelow(9 * 10**17))
        if message.deleted_at is None:
            shown = self._chat.message_object(message)
        else:
            chat = self._chat.place(message.chat_id)
            shown = telegram_objects.inaccessible_message(message_id, chat)
        with self._chat.change():
            self._meet(from_id)
            self._store.add_callback(Callback(callback_id, message_id, from_id, data, now))
            body = {
                "id": callback_id,
                "from": self._chat.user(from_id),
                "message": shown,
                "chat_instance": str(7_000_000_000_000 + message.chat_id),
                "data": data,
            }
            update_id = self._chat.queue("callback_query", body, CALLBACK_KEPT_FOR_MS)
        return {"callback_id": callback_id, "update_id": update_id, "message_id": message_id}

    def react(self, message_id: int, emoji: list[str], from_id: int) -> dict[str, Any]:
        """The reactions of one person to a message, in place of the earlier ones."""
        message = self._live_message(message_id)
        before = message.reactions.get(str(from_id), [])
        kept = {who: what for who, what in message.reactions.items() if who != str(from_id)}
        if emoji:
            kept[str(from_id)] = emoji
        with self._chat.change():
            self._meet(from_id)
            self._chat.put_message(replace(message, reactions=kept))
            body = {
                "chat": self._chat.place(message.chat_id),
                "message_id": message_id,
                "user": self._chat.user(from_id),
                "date": self._chat.now_ms() // 1000,
                "old_reaction": telegram_objects.reactions(before),
                "new_reaction": telegram_objects.reactions(emoji),
            }
            update_id = self._chat.queue("message_reaction", body)
        return {"message_id": message_id, "update_id": update_id}

    def open_thread(self, name: str, from_id: int = OWNER.user_id) -> dict[str, Any]:
        self._wants_topics(from_id)
        name = _named(name)
        with self._chat.change():
            self._meet(from_id)
            thread, update_id = self._chat.open_thread(
                from_id, from_id, name, refusals.ICON_COLORS[0]
            )
        return {"thread_id": thread.thread_id, "name": name, "update_id": update_id}

    def rename_thread(
        self, thread_id: int, name: str, from_id: int = OWNER.user_id
    ) -> dict[str, Any]:
        name = _named(name)
        thread = self._live_thread(thread_id, from_id)
        if thread.name == name:
            raise Impossible(f"Thread {thread_id} has this name already.")
        with self._chat.change():
            update_id = self._chat.rename_thread(thread, from_id, name)
        return {"thread_id": thread_id, "name": name, "update_id": update_id}

    def delete_thread(self, thread_id: int, from_id: int = OWNER.user_id) -> dict[str, Any]:
        thread = self._live_thread(thread_id, from_id)
        with self._chat.change():
            self._chat.remove_thread(thread)
        return {"thread_id": thread_id}

    def _meet(self, user_id: int) -> None:
        if self._store.person(user_id) is None:
            self._store.add_person(Person(user_id, f"User {user_id}"))

    def _known_group(self, group_id: int) -> int:
        try:
            return self._chat.known_chat(group_id)
        except BotApiError:
            raise Impossible(f"There is no group {group_id}.") from None

    def _wants_topics(self, chat_id: int) -> None:
        if not self._chat.has_topics(chat_id):
            raise Impossible("Threaded Mode is off, so there are no threads.")

    def _live_thread(self, thread_id: int, chat_id: int) -> Thread:
        self._wants_topics(chat_id)
        thread = self._store.thread(thread_id)
        if thread is None or not refusals.is_thread_of(thread, chat_id):
            raise Impossible(f"There is no thread {thread_id} in the chat of {chat_id}.")
        return thread

    def _live_message(self, message_id: int) -> Message:
        message = self._store.message(message_id)
        if message is None or message.deleted_at is not None:
            raise Impossible(f"There is no message {message_id}.")
        return message


def _written(text: str) -> str:
    text, _ = trimmed(text.replace("\r", ""), [])
    if not text:
        raise Impossible("A message needs a text.")
    if too_long(text):
        raise Impossible("A message has at most 4096 characters.")
    return text


def _named(name: str) -> str:
    name = refusals.clean_thread_name(name)
    if not name:
        raise Impossible("A thread needs a name.")
    return name
