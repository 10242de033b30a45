"""What Telegram would refuse, as pure functions: the facts in, the refusal or nothing out."""

from __future__ import annotations

from typing import Any

from actors.sandbox.errors import EDIT_NOT_MODIFIED, QUERY_TOO_OLD, bad_request
from stores.practice_chat import Callback, Message, Thread

LONGEST_THREAD_NAME = 128
DELETABLE_FOR_MS = 48 * 3600 * 1000
ANSWERABLE_FOR_MS = 150 * 1000
LONGEST_CALLBACK_ANSWER = 200
MOST_COMMANDS = 100
ICON_COLORS = (7322096, 16766590, 13338331, 9367192, 16749490, 16478047)


def clean_thread_name(name: str) -> str:
    """Blanks run together, and what is over 128 characters cut off without a word."""
    return " ".join(name.split())[:LONGEST_THREAD_NAME].rstrip()


def is_thread_of(thread: Thread | None, chat_id: int) -> bool:
    """Whether there is such a thread in that chat now."""
    return thread is not None and thread.chat_id == chat_id and thread.deleted_at is None


def thread_refusal(thread: Thread | None, chat_id: int) -> Exception | None:
    """Sending into a thread."""
    return None if is_thread_of(thread, chat_id) else bad_request("message thread not found")


def thread_change_refusal(
    has_topics: bool, thread: Thread | None, chat_id: int
) -> Exception | None:
    """Renaming or deleting a thread."""
    if not has_topics:
        return bad_request("the chat is not a forum")
    return None if is_thread_of(thread, chat_id) else bad_request("TOPIC_ID_INVALID")


def edit_refusal(
    message: Message | None, chat_id: int, bot_id: int, what: str = "edit"
) -> Exception | None:
    """Changing a message at all."""
    if message is None or message.deleted_at is not None or message.chat_id != chat_id:
        return bad_request(f"message to {what} not found")
    if message.from_id != bot_id or message.service:
        return bad_request("message can't be edited")
    return None


def not_modified_refusal(before: Message, after: Message) -> Exception | None:
    """An edit that changes nothing."""
    same = (before.text, before.entities, before.reply_markup) == (
        after.text,
        after.entities,
        after.reply_markup,
    )
    return bad_request(EDIT_NOT_MODIFIED) if same else None


def delete_refusal(message: Message | None, chat_id: int, now: int) -> Exception | None:
    if message is None or message.deleted_at is not None or message.chat_id != chat_id:
        return bad_request("message to delete not found")
    if "forum_topic_created" in message.service:
        return bad_request("message can't be deleted")
    if now - message.sent_at > DELETABLE_FOR_MS:
        return bad_request("message can't be deleted for everyone")
    return None


def answer_refusal(callback: Callback | None, text: str, now: int) -> Exception | None:
    """Answering a pressed button: in time, once, and shortly."""
    if (
        callback is None
        or callback.answered_at is not None
        or now - callback.pressed_at > ANSWERABLE_FOR_MS
    ):
        return bad_request(QUERY_TOO_OLD)
    return bad_request("MESSAGE_TOO_LONG") if len(text) > LONGEST_CALLBACK_ANSWER else None


def checked_commands(given: Any) -> list[dict[str, str]]:
    """The `commands` parameter of setMyCommands; raises the refusal."""
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(command, dict) for command in given):
        raise bad_request("expected an Array of BotCommand")
    if len(given) > MOST_COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    return [_checked_command(command) for command in given]


def _checked_command(command: dict[str, Any]) -> dict[str, str]:
    name, description = command.get("command"), command.get("description")
    if not isinstance(name, str) or not isinstance(description, str):
        raise bad_request("can't parse BotCommand: Can't find field \"command\"")
    name = name.removeprefix("/")
    if not name:
        raise bad_request("command must be non-empty")
    if len(name) > 32:
        raise bad_request("command length must not exceed 32")
    if not all(c.isascii() and (c.isdigit() or c.islower() or c == "_") for c in name):
        raise bad_request("BOT_COMMAND_INVALID")
    if not description.strip():
        raise bad_request("command description must be non-empty")
    if len(description) > 256:
        raise bad_request("command description length must not exceed 256")
    return {"command": name, "description": description}
