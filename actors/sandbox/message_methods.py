"""The Bot API methods about messages: send, edit, delete, react, typing, answering a button."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from actors.sandbox import refusals
from actors.sandbox.chat import PracticeChat
from actors.sandbox.errors import bad_request
from actors.sandbox.keyboard import inline_keyboard, keyboard_refusal
from actors.sandbox.parameters import Parameters
from actors.sandbox.reactions import reaction_refusal
from actors.sandbox.text import Entity, parsed, too_long
from stores.practice_chat import Message

_MARKUP_UNREADABLE = "can't parse reply keyboard markup JSON object"
_ACTIONS = (
    "typing upload_photo record_video upload_video record_voice upload_voice upload_document "
    "choose_sticker find_location record_video_note upload_video_note"
).split()


def send_message(chat: PracticeChat, p: Parameters) -> dict[str, Any]:
    markup = _markup(p)
    text, entities = _content(p)
    chat_id = chat.known_chat(p.chat_id())
    thread_id = p.thread_id() if chat.has_topics(chat_id) else None
    if thread_id is not None:
        _raise(refusals.thread_refusal(chat.store.thread(thread_id), chat_id))
    reply_to_id = _reply_target(chat, p, chat_id)
    if too_long(text):
        raise bad_request("message is too long")
    _raise(keyboard_refusal(markup))
    with chat.change():
        message = chat.new_message(
            chat_id,
            chat.bot_id,
            thread_id,
            text=text,
            entities=entities,
            reply_markup=markup,
            reply_to_id=reply_to_id,
        )
    return chat.message_object(message)


def edit_message_text(chat: PracticeChat, p: Parameters) -> dict[str, Any]:
    markup = _markup(p)
    text, entities = _content(p)
    before = _editable(chat, p)
    if too_long(text):
        raise bad_request("message is too long")
    return _edited(chat, before, text=text, entities=entities, reply_markup=markup)


def edit_message_reply_markup(chat: PracticeChat, p: Parameters) -> dict[str, Any]:
    markup = _markup(p)
    return _edited(chat, _editable(chat, p), reply_markup=markup)


def delete_message(chat: PracticeChat, p: Parameters) -> bool:
    chat_id = chat.known_chat(p.chat_id())
    message = chat.store.message(p.message_id())
    _raise(refusals.delete_refusal(message, chat_id, chat.now_ms()))
    assert message is not None
    with chat.change():
        chat.put_message(replace(message, deleted_at=chat.now_ms()))
    return True


def delete_messages(chat: PracticeChat, p: Parameters) -> bool:
    """Those that can be; the others are skipped."""
    chat_id = chat.known_chat(p.chat_id())
    ids = p.json("message_ids", bad_request("can't parse message identifiers JSON object"))
    if not isinstance(ids, list) or not all(type(each) is int for each in ids):
        raise bad_request("message identifiers are not specified")
    if not 1 <= len(ids) <= 100:
        how_many = "too many message identifiers" if ids else "message identifiers are not"
        raise bad_request(f"{how_many} specified")
    now = chat.now_ms()
    with chat.change():
        for message_id in ids:
            message = chat.store.message(message_id)
            if refusals.delete_refusal(message, chat_id, now) is None and message is not None:
                chat.put_message(replace(message, deleted_at=now))
    return True


def set_message_reaction(chat: PracticeChat, p: Parameters) -> bool:
    given = p.json("reaction", bad_request("can't parse reaction types JSON object")) or []
    chat_id = chat.known_chat(p.chat_id())
    message = chat.store.message(p.message_id())
    if message is None or message.deleted_at is not None or message.chat_id != chat_id:
        raise bad_request("message to react not found")
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise bad_request("expected an Array of ReactionType")
    emoji = [str(each.get("emoji", "")) for each in given]
    _raise(reaction_refusal(emoji))
    kept = {who: what for who, what in message.reactions.items() if who != str(chat.bot_id)}
    if emoji:
        kept[str(chat.bot_id)] = emoji
    with chat.change():
        chat.put_message(replace(message, reactions=kept))
    return True


def send_chat_action(chat: PracticeChat, p: Parameters) -> bool:
    """True for any thread, also a deleted one: Telegram never looks at it here."""
    chat_id = chat.known_chat(p.chat_id())
    if p.text("action").lower() not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    chat.tell_now("typing", chat_id=chat_id, thread_id=p.thread_id())
    return True


def answer_callback_query(chat: PracticeChat, p: Parameters) -> bool:
    callback = chat.store.callback(p.text("callback_query_id"))
    text = p.text("text")
    _raise(refusals.answer_refusal(callback, text, chat.now_ms()))
    assert callback is not None
    answer = {"text": text, "show_alert": p.flag("show_alert")}
    with chat.change():
        chat.store.record_answer(callback.callback_id, answer, chat.now_ms())
        chat.announce("answer", callback_id=callback.callback_id, **answer)
    return True


def _raise(refusal: Exception | None) -> None:
    if refusal is not None:
        raise refusal


def _markup(p: Parameters) -> dict[str, Any]:
    return inline_keyboard(p.json("reply_markup", bad_request(_MARKUP_UNREADABLE)))


def _content(p: Parameters) -> tuple[str, list[Entity]]:
    given = p.json("entities", bad_request("can't parse entities: Can't parse JSON object"))
    return parsed(p.text("text"), p.text("parse_mode"), given)


def _reply_target(chat: PracticeChat, p: Parameters, chat_id: int) -> int | None:
    given = p.json("reply_parameters", bad_request("can't parse reply parameters JSON object"))
    if given is None:
        given = {
            "message_id": p.message_id("reply_to_message_id"),
            "allow_sending_without_reply": p.flag("allow_sending_without_reply"),
        }
    if not isinstance(given, dict):
        raise bad_request("object expected as reply parameters")
    message_id = given.get("message_id", 0)
    if type(message_id) is not int:
        raise bad_request('field "message_id" must be of type Number')
    if message_id <= 0:
        return None
    target = chat.store.message(message_id)
    elsewhere = str(given.get("chat_id", chat_id)) != str(chat_id)
    if target is None or target.deleted_at is not None or target.chat_id != chat_id or elsewhere:
        if given.get("allow_sending_without_reply") is True:
            return None
        raise bad_request("message to be replied not found")
    return message_id


def _editable(chat: PracticeChat, p: Parameters) -> Message:
    if not p.has("chat_id") and not p.has("message_id"):
        raise bad_request("message identifier is not specified")
    chat_id = chat.known_chat(p.chat_id())
    if p.message_id() <= 0:
        raise bad_request("MESSAGE_ID_INVALID")
    before = chat.store.message(p.message_id())
    _raise(refusals.edit_refusal(before, chat_id, chat.bot_id))
    assert before is not None
    return before


def _edited(chat: PracticeChat, before: Message, **changes: Any) -> dict[str, Any]:
    after = replace(before, **changes)
    # Stored and sent JSON must compare alike, whatever the order of the keys.
    after = replace(after, entities=json.loads(json.dumps(after.entities)))
    _raise(keyboard_refusal(after.reply_markup))
    _raise(refusals.not_modified_refusal(before, after))
    after = replace(after, edited_at=chat.now_ms())
    with chat.change():
        chat.put_message(after)
    return chat.message_object(after)
