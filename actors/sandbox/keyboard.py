"""The keyboard under a message: what is accepted, what is kept, and how the rest is refused."""

from __future__ import annotations

import json
from typing import Any

from actors.sandbox.errors import bad_request

MOST_BUTTONS = 100
LONGEST_CALLBACK_BYTES = 64
LONGEST_MARKUP_BYTES = 10_240

_OTHER_KEYBOARDS = ("keyboard", "remove_keyboard", "force_reply")
_ACTIONS = (
    "url",
    "callback_data",
    "web_app",
    "login_url",
    "switch_inline_query",
    "switch_inline_query_current_chat",
    "switch_inline_query_chosen_chat",
    "copy_text",
    "callback_game",
    "pay",
)


def inline_keyboard(markup: Any) -> dict[str, Any]:
    """The inline keyboard in a decoded `reply_markup`; empty when there is none.

    The keyboards that replace a person's own one are accepted and leave no trace in a message.
    """
    if markup is None:
        return {}
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    if "inline_keyboard" not in markup:
        if markup and not any(name in markup for name in _OTHER_KEYBOARDS):
            raise bad_request("object expected as reply markup")
        return {}
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list):
        raise bad_request('field "inline_keyboard" must be of type Array')
    if not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" must be an Array of Arrays')
    kept = [[_button(button) for button in row] for row in rows if row]
    return {"inline_keyboard": kept} if kept else {}


def _button(button: Any) -> dict[str, Any]:
    if not isinstance(button, dict):
        raise _unparsable("expected an Object")
    if not isinstance(button.get("text"), str):
        raise _unparsable('Can\'t find field "text"')
    actions = [name for name in _ACTIONS if name in button]
    if not actions:
        raise _unparsable("Text buttons are unallowed in the inline keyboard")
    for name in ("url", "callback_data"):
        if name in button and not isinstance(button[name], str):
            raise _unparsable(f'Field "{name}" must be of type String')
    return {name: button[name] for name in ("text", *actions[:1])}


def _unparsable(reason: str) -> Exception:
    return bad_request(f"can't parse inline keyboard button: {reason}")


def keyboard_refusal(markup: dict[str, Any]) -> Exception | None:
    """What Telegram's servers still refuse after the keyboard could be read."""
    buttons = [button for row in markup.get("inline_keyboard", []) for button in row]
    if len(buttons) > MOST_BUTTONS or len(json.dumps(markup)) > LONGEST_MARKUP_BYTES:
        return bad_request("reply markup is too long")
    for button in buttons:
        if not button["text"].strip():
            return bad_request("inline keyboard button text must be non-empty")
        data = button.get("callback_data")
        if data is not None and not 0 < len(data.encode()) <= LONGEST_CALLBACK_BYTES:
            return bad_request("BUTTON_DATA_INVALID")
        url = button.get("url")
        if url is not None and not url.lower().startswith(("http://", "https://", "tg://")):
            return bad_request("BUTTON_URL_INVALID")
    return None
