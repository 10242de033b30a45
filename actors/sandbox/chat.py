"""The practice chat itself: one bot, its owner, strangers, threads, and the updates about them.

What both sides build on. `methods_*` act for the bot, `PersonSide` for people; each of their
changes is one transaction, and the page and a waiting poll hear of it after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from actors.sandbox import telegram_objects
from actors.sandbox.credentials import OWNER_ID
from actors.sandbox.errors import bad_request
from stores.practice_chat import Message, Person, PracticeChatStore, Thread, WaitingUpdate

OWNER = Person(OWNER_ID, "You")
BOT_NAME = "Practice"
BOT_USERNAME = "switchboard_practice_bot"

KNOWN_UPDATES = (
    "message",
    "edited_message",
    "callback_query",
    "message_reaction",
    "message_reaction_count",
    "chat_member",
    "my_chat_member",
)
# Telegram sends these only when they are asked for by name.
DEFAULT_UPDATES = tuple(
    kind
    for kind in KNOWN_UPDATES
    if kind not in ("chat_member", "message_reaction", "message_reaction_count")
)
KEPT_FOR_MS = 24 * 3600 * 1000
CALLBACK_KEPT_FOR_MS = 150 * 1000

GROUP_PREFIX = "group "
HIGHEST_GROUP_ID = 10**12
"""Supergroups have the negative numbers below this one's."""

Event = dict[str, Any]


def is_group(chat_id: int) -> bool:
    """Whether several people write there."""
    return chat_id < 0


class PracticeChat:
    """One home's practice chat."""

    def __init__(
        self, store: PracticeChatStore, bot_id: int, now_ms: Callable[[], int]
    ) -> None:
        self.store = store
        self.bot_id = bot_id
        self.now_ms = now_ms
        self.on_update: Callable[[], None] = lambda: None
        self.on_event: Callable[[Event], None] = lambda event: None
        self._names: dict[int, str] = {}
        self._events: list[Event] = []
        self._woken = False
        with store.change():
            if store.person(OWNER.user_id) is None:
                store.add_person(OWNER)

    @contextmanager
    def change(self) -> Iterator[None]:
        """One transaction; nobody hears of it before it is durable, or of a failed one ever."""
        self._events, self._woken = [], False
        try:
            with self.store.change():
                yield
        except BaseException:
            self._events, self._woken = [], False
            raise
        events, woken = self._events, self._woken
        self._events, self._woken = [], False
        for event in events:
            self.on_event(event)
        if woken:
            self.on_update()

    def announce(self, kind: str, **details: Any) -> None:
        """Tell the page, after the change around this."""
        self._events.append({"kind": kind, **details})

    def tell_now(self, kind: str, **details: Any) -> None:
        """Tell the page something that leaves no trace, such as typing."""
        self.on_event({"kind": kind, **details})

    # -- settings ------------------------------------------------------------------------------

    @property
    def threaded_mode(self) -> bool:
        return bool(self.store.setting("threaded mode", True))

    def set_threaded_mode(self, on: bool) -> None:
        with self.change():
            self.store.remember_setting("threaded mode", on)
            self.announce("changed")

    @property
    def webhook_url(self) -> str:
        return str(self.store.setting("webhook", ""))

    @property
    def offset(self) -> int:
        """Every update below it was confirmed."""
        return int(self.store.setting("confirmed offset", 0))

    def confirm_updates(self, below: int) -> None:
        """Forget what was confirmed, and what is too old."""
        with self.store.change():
            self.store.forget_updates(below, self.now_ms())
            if below > self.offset:
                self.store.remember_setting("confirmed offset", below)

    @property
    def allowed(self) -> list[str]:
        return list(self.store.setting("allowed updates", list(DEFAULT_UPDATES)))

    def allow_updates(self, kinds: list[str]) -> None:
        if kinds != self.allowed:
            self.store.remember_setting("allowed updates", kinds)

    # -- who and where -------------------------------------------------------------------------

    def bot(self) -> dict[str, Any]:
        """The bot as the sender of messages."""
        return {
            "id": self.bot_id,
            "is_bot": True,
            "first_name": BOT_NAME,
            "username": BOT_USERNAME,
        }

    def user(self, user_id: int) -> dict[str, Any]:
        if user_id == self.bot_id:
            return self.bot()
        name = self._names.get(user_id)
        if name is None:
            person = self.store.person(user_id)
            if person is None:
                name = f"User {user_id}"
            else:
                # A name never changes, and a state with many messages asks for it often.
                name = self._names[user_id] = person.first_name
        return {"id": user_id, "is_bot": False, "first_name": name, "language_code": "en"}

    def place(self, chat_id: int) -> dict[str, Any]:
        """Somebody's private chat, or a group, as the Bot API shows it."""
        if is_group(chat_id):
            title = self.store.setting(f"{GROUP_PREFIX}{chat_id}", "")
            return {"id": chat_id, "title": title, "type": "supergroup", "is_forum": True}
        return {
            "id": chat_id,
            "first_name": self.user(chat_id)["first_name"],
            "type": "private",
        }

    def known_chat(self, chat_id: int) -> int:
        """The chat, if that person ever wrote to the bot, or the bot is in that group."""
        if is_group(chat_id):
            is_known = self.store.setting(f"{GROUP_PREFIX}{chat_id}") is not None
        else:
            is_known = self.store.person(chat_id) is not None
        if not is_known:
            raise bad_request("chat not found")
        return chat_id

    def has_topics(self, chat_id: int) -> bool:
        """Private chats have them by a switch of the bot's, groups by one of their own."""
        return is_group(chat_id) or self.threaded_mode

    def open_group(self, title: str) -> int:
        """A group with topics, in which the bot may manage them."""
        with self.change():
            chat_id = -(HIGHEST_GROUP_ID + self.store.take_id("message", self.now_ms()))
            self.store.remember_setting(f"{GROUP_PREFIX}{chat_id}", title)
        return chat_id

    # -- making messages and updates; only inside `change()` -----------------------------------

    def new_message(
        self, chat_id: int, from_id: int, thread_id: int | None, **rest: Any
    ) -> Message:
        now = self.now_ms()
        message = Message(
            message_id=self.store.take_id("message", now),
            chat_id=chat_id,
            thread_id=thread_id,
            from_id=from_id,
            sent_at=now,
            **rest,
        )
        self.store.add_message(message)
        self.announce("changed", thread_id=thread_id, chat_id=chat_id)
        return message

    def put_message(self, message: Message) -> None:
        self.store.put_message(message)
        self.announce("changed", thread_id=message.thread_id, chat_id=message.chat_id)

    def open_thread(
        self, chat_id: int, by: int, name: str, color: int, emoji_id: str | None = None
    ) -> tuple[Thread, int | None]:
        """A new thread, the message that announces it, and the update about that message."""
        now = self.now_ms()
        thread_id = self.store.take_id("message", now)
        thread = Thread(thread_id, chat_id, name, color, emoji_id, created_at=now)
        self.store.add_thread(thread)
        created = telegram_objects.thread_created(thread)
        message = Message(thread_id, chat_id, thread_id, by, now, service=created)
        self.store.add_message(message)
        self.announce("changed", thread_id=thread_id, chat_id=chat_id)
        return thread, self.queue_message(message)

    def rename_thread(
        self, thread: Thread, by: int, name: str | None, emoji_id: str | None = None
    ) -> int | None:
        """The thread's new name or icon, and the update about it. None leaves a part alone."""
        self.store.change_thread(
            thread.thread_id,
            thread.name if name is None else name,
            thread.icon_custom_emoji_id if emoji_id is None else emoji_id or None,
        )
        edited = {
            key: value
            for key, value in (("name", name), ("icon_custom_emoji_id", emoji_id))
            if value is not None
        }
        message = self.new_message(
            thread.chat_id, by, thread.thread_id, service={"forum_topic_edited": edited}
        )
        return self.queue_message(message)

    def remove_thread(self, thread: Thread) -> None:
        """Nobody gets an update about it; Telegram sends none."""
        self.store.delete_thread(thread.thread_id, self.now_ms())
        self.announce("changed", thread_id=thread.thread_id, chat_id=thread.chat_id)

    def message_object(self, message: Message) -> dict[str, Any]:
        """The Message as the Bot API shows it, with the message it replies to."""
        reply = None
        reply_to_id = message.reply_to_id
        if reply_to_id is None and is_group(message.chat_id) and not message.service:
            # What is written in a topic of a group answers the message that opened it.
            reply_to_id = message.thread_id
        if reply_to_id is not None:
            reply = self.store.message(reply_to_id)
        shown = telegram_objects.message(
            message, self.user(message.from_id), self.place(message.chat_id)
        )
        if reply is not None and reply.deleted_at is None:
            shown["reply_to_message"] = telegram_objects.message(
                replace(reply, reply_to_id=None, reply_markup={}),
                self.user(reply.from_id),
                self.place(reply.chat_id),
            )
        return shown

    def queue_message(self, message: Message) -> int | None:
        return self.queue("message", self.message_object(message))

    def queue(self, kind: str, body: dict[str, Any], kept_for: int = KEPT_FOR_MS) -> int | None:
        """The id of the new update; None when the bot has not asked for this kind."""
        if kind not in self.allowed:
            return None
        now = self.now_ms()
        update_id = self.store.take_id("update", now)
        self.store.add_update(WaitingUpdate(update_id, kind, body, now + kept_for))
        self._woken = True
        return update_id
