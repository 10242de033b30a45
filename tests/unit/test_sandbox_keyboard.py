"""Keyboards: what is kept of them and how they are refused."""

import pytest

from actors.sandbox.errors import BotApiError
from actors.sandbox.keyboard import inline_keyboard, keyboard_refusal


def keyboard(*buttons):
    return {"inline_keyboard": [list(buttons)]}


STOP = {"text": "Stop", "callback_data": "stop"}


@pytest.mark.parametrize(
    ("markup", "kept"),
    [
        (None, {}),
        ({}, {}),
        (keyboard(STOP), keyboard(STOP)),
        ({"inline_keyboard": [[], [STOP]]}, keyboard(STOP)),
        ({"inline_keyboard": []}, {}),
        ({"remove_keyboard": True}, {}),
        ({"keyboard": [["a"]]}, {}),
        (keyboard({**STOP, "unknown": 1}), keyboard(STOP)),
    ],
)
def test_what_is_kept(markup, kept):
    assert inline_keyboard(markup) == kept
    assert keyboard_refusal(kept) is None


@pytest.mark.parametrize(
    ("markup", "description"),
    [
        ([], "object expected as reply markup"),
        ({"x": 1}, "object expected as reply markup"),
        ({"inline_keyboard": 1}, 'field "inline_keyboard" must be of type Array'),
        ({"inline_keyboard": [1]}, 'field "inline_keyboard" must be an Array of Arrays'),
        (
            keyboard({"text": "a"}),
            "can't parse inline keyboard button: "
            "Text buttons are unallowed in the inline keyboard",
        ),
        (
            keyboard({"callback_data": "a"}),
            'can\'t parse inline keyboard button: Can\'t find field "text"',
        ),
        (
            keyboard({"text": "a", "callback_data": 1}),
            'can\'t parse inline keyboard button: Field "callback_data" must be of type String',
        ),
    ],
)
def test_what_cannot_be_read(markup, description):
    with pytest.raises(BotApiError) as refusal:
        inline_keyboard(markup)
    assert refusal.value.description == f"Bad Request: {description}"


@pytest.mark.parametrize(
    ("markup", "description"),
    [
        (keyboard({"text": "a", "callback_data": "é" * 32}), None),
        (keyboard({"text": "a", "callback_data": "é" * 32 + "x"}), "BUTTON_DATA_INVALID"),
        (keyboard({"text": "a", "callback_data": ""}), "BUTTON_DATA_INVALID"),
        (keyboard({"text": "a", "url": "javascript:x"}), "BUTTON_URL_INVALID"),
        (keyboard(*[STOP] * 100), None),
        (keyboard(*[STOP] * 101), "reply markup is too long"),
    ],
)
def test_what_the_servers_refuse(markup, description):
    refusal = keyboard_refusal(markup)
    assert (refusal and refusal.description) == (
        description and f"Bad Request: {description}"
    )
