"""The practice chat's memory: people, threads, messages, waiting updates and pressed buttons.

Owned by the one practice server of a home, in a file of its own. Whoever changes several things at
once (a message and the update about it) does so inside `change()`, so a restart finds all or
nothing of it. Message and update ids only rise, also when this file is lost: they start from the
seconds since 2026, and no chat writes faster than a message a second for long.

Times are milliseconds of the wall clock, passed in by the caller. It decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, Column, Index, MetaData, Row, String, Table, Text
from sqlalchemy import bindparam, delete, func, insert, select, update

from stores.database import Database, upsert

_FIRST_IDS_FROM_S = 1_767_225_600  # 2026-01-01
_LOWEST_ID = 100  # 1 means "General" in a forum
# Far apart, so that one kind is never taken for another by luck.
_FIRST_ID = {"message": 0, "update": 500_000_000}

metadata = MetaData()

settings = Table(
    "settings",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)
people = Table(
    "people",
    metadata,
    Column("user_id", BigInteger, primary_key=True, autoincrement=False),
    Column("first_name", String(64), nullable=False),
)
threads = Table(
    "threads",
    metadata,
    Column("thread_id", BigInteger, primary_key=True, autoincrement=False),
    Column("chat_id", BigInteger, nullable=False),
    Column("name", String(128), nullable=False),
    Column("icon_color", BigInteger, nullable=False),
    Column("icon_custom_emoji_id", String(64)),
    Column("created_at", BigInteger, nullable=False),
    Column("deleted_at", BigInteger),
)
messages = Table(
    "messages",
    metadata,
    Column("message_id", BigInteger, primary_key=True, autoincrement=False),
    Column("chat_id", BigInteger, nullable=False),
    Column("thread_id", BigInteger),
    Column("from_id", BigInteger, nullable=False),
    Column("sent_at", BigInteger, nullable=False),
    Column("edited_at", BigInteger),
    Column("deleted_at", BigInteger),
    Column("text", Text),
    Column("entities", Text, nullable=False),
    Column("reply_markup", Text, nullable=False),
    Column("reply_to_id", BigInteger),
    Column("service", Text, nullable=False),
    Column("reactions", Text, nullable=False),
    Index("messages_by_thread", "chat_id", "thread_id", "message_id"),
)
updates = Table(
    "updates",
    metadata,
    Column("update_id", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(32), nullable=False),
    Column("body", Text, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)
callbacks = Table(
    "callbacks",
    metadata,
    Column("callback_id", String(32), primary_key=True),
    Column("message_id", BigInteger, nullable=False),
    Column("from_id", BigInteger, nullable=False),
    Column("data", Text, nullable=False),
    Column("pressed_at", BigInteger, nullable=False),
    Column("answered_at", BigInteger),
    Column("answer", Text, nullable=False),
)


# Built once: building a statement takes several times as long as running it.
_ADD = {table: insert(table) for table in (people, threads, messages, updates, callbacks)}
_SETTING = select(settings.c.value).where(settings.c.name == bindparam("setting"))
_PEOPLE = select(people).order_by(people.c.user_id)
_PERSON = select(people).where(people.c.user_id == bindparam("person"))
_THREADS = select(threads).order_by(threads.c.thread_id)
_THREAD = select(threads).where(threads.c.thread_id == bindparam("thread"))
_MESSAGES = select(messages).order_by(messages.c.message_id)
_MESSAGE = select(messages).where(messages.c.message_id == bindparam("message"))
_STILL_WAITS = updates.c.expires_at > bindparam("now")
_UPDATES = select(updates).where(_STILL_WAITS).order_by(updates.c.update_id)
_UPDATE_IDS = select(updates.c.update_id).where(_STILL_WAITS).order_by(updates.c.update_id)
_GONE = (updates.c.update_id < bindparam("below")) | (updates.c.expires_at <= bindparam("now"))
_COUNT_GONE = select(func.count()).select_from(updates).where(_GONE)
_FORGET_GONE = delete(updates).where(_GONE)


@dataclass(frozen=True, slots=True)
class Person:
    user_id: int
    first_name: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of somebody's chat; its id is that of the message that announced it."""

    thread_id: int
    chat_id: int
    name: str
    icon_color: int
    icon_custom_emoji_id: str | None
    created_at: int
    deleted_at: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it stands now. `service` is e.g. {"forum_topic_created": {…}}, else empty."""

    message_id: int
    chat_id: int
    thread_id: int | None
    from_id: int
    sent_at: int
    text: str | None = None
    edited_at: int | None = None
    deleted_at: int | None = None
    entities: list[dict[str, Any]] = field(default_factory=list)
    reply_markup: dict[str, Any] = field(default_factory=dict)
    reply_to_id: int | None = None
    service: dict[str, Any] = field(default_factory=dict)
    # user id (as text) -> emoji
    reactions: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WaitingUpdate:
    """An update no poll has confirmed yet; `body` is what stands under its kind."""

    update_id: int
    kind: str
    body: dict[str, Any]
    expires_at: int


@dataclass(frozen=True, slots=True)
class Callback:
    """A pressed button; `answer` is what the bot said to it."""

    callback_id: str
    message_id: int
    from_id: int
    data: str
    pressed_at: int
    answered_at: int | None = None
    answer: dict[str, Any] = field(default_factory=dict)


class PracticeChatStore:
    """One file; used by one process."""

    def __init__(self, path: Path | str) -> None:
        self._database = Database(path, metadata, "practice")

    def open(self) -> None:
        self._database.open()

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def change(self) -> Iterator[None]:
        """Everything written inside becomes durable at its end, or nothing of it."""
        with self._database.transaction():
            yield

    # -- settings and ids ----------------------------------------------------------------------

    def setting(self, name: str, default: Any = None) -> Any:
        with self._database.glance() as view:
            value = view.execute(_SETTING, {"setting": name}).scalar()
        return default if value is None else json.loads(value)

    def remember_setting(self, name: str, value: Any) -> None:
        with self._database.transaction() as change:
            upsert(change, settings, {"name": name}, {"value": json.dumps(value)})

    def settings_named(self, prefix: str) -> dict[str, Any]:
        """Every setting whose name begins so."""
        with self._database.glance() as view:
            rows = view.execute(
                select(settings.c.name, settings.c.value).where(
                    settings.c.name.startswith(prefix, autoescape=True)
                )
            ).all()
        return {name: json.loads(value) for name, value in rows}

    def forget_setting(self, name: str) -> None:
        with self._database.transaction() as change:
            change.execute(delete(settings).where(settings.c.name == name))

    def take_id(self, kind: str, now: int) -> int:
        """The next id of a kind ("message", "update"); never given out twice."""
        with self._database.transaction():
            first = _FIRST_ID[kind] + max(_LOWEST_ID, now // 1000 - _FIRST_IDS_FROM_S)
            taken = int(self.setting(f"next {kind}", first))
            self.remember_setting(f"next {kind}", taken + 1)
        return taken

    # -- people and threads --------------------------------------------------------------------

    def person(self, user_id: int) -> Person | None:
        with self._database.glance() as view:
            row = view.execute(_PERSON, {"person": user_id}).first()
        return None if row is None else Person(*row)

    def add_person(self, person: Person) -> None:
        with self._database.transaction() as change:
            change.execute(_ADD[people], asdict(person))

    def people(self) -> list[Person]:
        with self._database.glance() as view:
            rows = view.execute(_PEOPLE).all()
        return [Person(*row) for row in rows]

    def add_thread(self, thread: Thread) -> None:
        with self._database.transaction() as change:
            change.execute(_ADD[threads], asdict(thread))

    def thread(self, thread_id: int) -> Thread | None:
        """Also a deleted one."""
        with self._database.glance() as view:
            row = view.execute(_THREAD, {"thread": thread_id}).first()
        return None if row is None else Thread(*row)

    def threads(self) -> list[Thread]:
        with self._database.glance() as view:
            rows = view.execute(_THREADS).all()
        return [Thread(*row) for row in rows]

    def change_thread(self, thread_id: int, name: str, icon_custom_emoji_id: str | None) -> None:
        with self._database.transaction() as change:
            change.execute(
                update(threads)
                .where(threads.c.thread_id == thread_id)
                .values(name=name, icon_custom_emoji_id=icon_custom_emoji_id)
            )

    def delete_thread(self, thread_id: int, now: int) -> None:
        """Mark the thread and every message in it deleted; ids are never used again."""
        with self._database.transaction() as change:
            change.execute(
                update(threads).where(threads.c.thread_id == thread_id).values(deleted_at=now)
            )
            change.execute(
                update(messages)
                .where(messages.c.thread_id == thread_id, messages.c.deleted_at.is_(None))
                .values(deleted_at=now)
            )

    # -- messages ------------------------------------------------------------------------------

    def add_message(self, message: Message) -> None:
        with self._database.transaction() as change:
            change.execute(_ADD[messages], _columns(message))

    def message(self, message_id: int) -> Message | None:
        """Also a deleted one."""
        with self._database.glance() as view:
            row = view.execute(_MESSAGE, {"message": message_id}).first()
        return None if row is None else _record(Message, row)

    def put_message(self, message: Message) -> None:
        """Replace a message by its newer state."""
        with self._database.transaction() as change:
            change.execute(
                update(messages)
                .where(messages.c.message_id == message.message_id)
                .values(**_columns(message))
            )

    def messages(self) -> list[Message]:
        """All of them, oldest first, with the deleted ones."""
        with self._database.glance() as view:
            rows = view.execute(_MESSAGES).all()
        return [_record(Message, row) for row in rows]

    def newest_messages(
        self, chat_id: int, thread_id: int | None, limit: int
    ) -> list[Message]:
        """The last messages still there in one thread, or outside any, oldest first."""
        with self._database.glance() as view:
            rows = view.execute(
                select(messages)
                .where(
                    messages.c.chat_id == chat_id,
                    messages.c.thread_id.is_(None)
                    if thread_id is None
                    else messages.c.thread_id == thread_id,
                    messages.c.deleted_at.is_(None),
                )
                .order_by(messages.c.message_id.desc())
                .limit(limit)
            ).all()
        return [_record(Message, row) for row in reversed(rows)]

    # -- updates -------------------------------------------------------------------------------

    def add_update(self, waiting: WaitingUpdate) -> None:
        with self._database.transaction() as change:
            change.execute(_ADD[updates], _columns(waiting))

    def updates(self, now: int, limit: int | None = None) -> list[WaitingUpdate]:
        """What waits and is not too old, in order."""
        query = _UPDATES if limit is None else _UPDATES.limit(limit)
        with self._database.glance() as view:
            rows = view.execute(query, {"now": now}).all()
        return [_record(WaitingUpdate, row) for row in rows]

    def update_ids(self, now: int) -> list[int]:
        with self._database.glance() as view:
            return list(view.execute(_UPDATE_IDS, {"now": now}).scalars())

    def forget_updates(self, below: int, now: int) -> int:
        """Drop those with a lower id, and those too old; tell how many went."""
        which = {"below": below, "now": now}
        with self._database.glance() as view:
            count = view.execute(_COUNT_GONE, which).scalar()
        if count:
            with self._database.transaction() as change:
                change.execute(_FORGET_GONE, which)
        return int(count or 0)

    def forget_all_updates(self) -> None:
        with self._database.transaction() as change:
            change.execute(delete(updates))

    # -- buttons -------------------------------------------------------------------------------

    def add_callback(self, callback: Callback) -> None:
        with self._database.transaction() as change:
            change.execute(_ADD[callbacks], _columns(callback))

    def callback(self, callback_id: str) -> Callback | None:
        with self._database.glance() as view:
            row = view.execute(
                select(callbacks).where(callbacks.c.callback_id == callback_id)
            ).first()
        return None if row is None else _record(Callback, row)

    def callbacks(self) -> list[Callback]:
        with self._database.glance() as view:
            rows = view.execute(
                select(callbacks).order_by(callbacks.c.pressed_at, callbacks.c.callback_id)
            ).all()
        return [_record(Callback, row) for row in rows]

    def record_answer(self, callback_id: str, answer: dict[str, Any], now: int) -> None:
        with self._database.transaction() as change:
            change.execute(
                update(callbacks)
                .where(callbacks.c.callback_id == callback_id)
                .values(answered_at=now, answer=json.dumps(answer))
            )


_JSON_COLUMNS = ("entities", "reply_markup", "service", "reactions", "body", "answer")


def _columns(record: Any) -> dict[str, Any]:
    values = {column.name: getattr(record, column.name) for column in fields(record)}
    return {
        name: json.dumps(value) if name in _JSON_COLUMNS else value
        for name, value in values.items()
    }


def _record(kind: Any, row: Row[Any]) -> Any:
    values = {str(name): value for name, value in row._mapping.items()}
    return kind(
        **{
            name: json.loads(value) if name in _JSON_COLUMNS else value
            for name, value in values.items()
        }
    )
