"""What the control side accepts: one schema a request, and how a bad one is explained."""

from __future__ import annotations

import json
from typing import Any

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from actors.sandbox.chat import OWNER

_LARGEST_ID = 2**52
_ID = validate.Range(min=1, max=_LARGEST_ID)
_LONGEST_BODY_TEXT = 16_384


class BadRequest(Exception):
    """A sentence for whoever sent it."""


class _FromSomebody(Schema):
    from_id = fields.Integer(
        strict=True,
        load_default=OWNER.user_id,
        validate=_ID,
        metadata={"description": "user id of the writer; absent means the owner"},
    )


class WriteRequest(_FromSomebody):
    text = fields.String(required=True, validate=validate.Length(1, _LONGEST_BODY_TEXT))
    thread_id = fields.Integer(
        strict=True,
        allow_none=True,
        load_default=None,
        validate=_ID,
        metadata={"description": "absent means outside any thread"},
    )
    reply_to_id = fields.Integer(
        strict=True, allow_none=True, load_default=None, validate=_ID
    )
    group_id = fields.Integer(
        strict=True,
        allow_none=True,
        load_default=None,
        validate=validate.Range(min=-_LARGEST_ID, max=-1),
        metadata={"description": "absent means the private chat of the writer"},
    )


class GroupRequest(Schema):
    title = fields.String(required=True, validate=validate.Length(1, 128))


class PressRequest(_FromSomebody):
    message_id = fields.Integer(strict=True, required=True, validate=_ID)
    data = fields.String(required=True, validate=validate.Length(1, 64))


class Emoji(fields.Field[list[str]]):
    """One emoji, several, or null for none."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[str]:
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or len(found) > 3:
            raise ValidationError("Not an emoji, a list of at most three, or null.")
        if not all(isinstance(each, str) and 0 < len(each) <= 16 for each in found):
            raise ValidationError("Not an emoji, a list of at most three, or null.")
        return found


class ReactRequest(_FromSomebody):
    message_id = fields.Integer(strict=True, required=True, validate=_ID)
    emoji = Emoji(required=True, allow_none=True)


class EditRequest(_FromSomebody):
    message_id = fields.Integer(strict=True, required=True, validate=_ID)
    text = fields.String(required=True, validate=validate.Length(1, _LONGEST_BODY_TEXT))


class ThreadRequest(_FromSomebody):
    op = fields.String(
        required=True,
        validate=validate.OneOf(
            ("create", "delete", "rename", "threaded_mode_on", "threaded_mode_off")
        ),
    )
    thread_id = fields.Integer(strict=True, load_default=None, validate=_ID)
    name = fields.String(load_default=None, validate=validate.Length(1, 1024))

    @validates_schema
    def _belong_together(self, data: dict[str, Any], **kwargs: Any) -> None:
        if data["op"] in ("delete", "rename") and data.get("thread_id") is None:
            raise ValidationError(f"{data['op']} needs it.", "thread_id")
        if data["op"] in ("create", "rename") and data.get("name") is None:
            raise ValidationError(f"{data['op']} needs it.", "name")


class FaultRequest(Schema):
    method = fields.String(required=True, validate=validate.Length(1, 64))
    times = fields.Integer(strict=True, load_default=1, validate=validate.Range(1, 10_000))
    error_code = fields.Integer(
        strict=True, load_default=None, validate=validate.Range(400, 599)
    )
    description = fields.String(load_default=None, validate=validate.Length(1, 1024))
    retry_after = fields.Integer(
        strict=True, load_default=None, validate=validate.Range(0, 86_400)
    )
    delay_ms = fields.Integer(
        strict=True, load_default=0, validate=validate.Range(0, 120_000)
    )
    drop = fields.String(load_default=None, validate=validate.OneOf(("before", "after")))

    @validates_schema
    def _does_something(self, data: dict[str, Any], **kwargs: Any) -> None:
        if data.get("drop") == "after" and (data.get("error_code") or data.get("retry_after")):
            raise ValidationError('"after" does the call, so it takes no error.', "drop")
        if not any(
            data.get(name) not in (None, 0)
            for name in ("error_code", "retry_after", "delay_ms", "drop")
        ):
            raise ValidationError("One of error_code, retry_after, delay_ms, drop is needed.")


def loaded(schema: Schema, body: bytes) -> dict[str, Any]:
    """The checked request in a JSON body; raises the sentence that says what is wrong."""
    try:
        given = json.loads(body)
        json.dumps(given, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as problem:
        raise BadRequest("The body must be a JSON object.") from problem
    if not isinstance(given, dict):
        raise BadRequest("The body must be a JSON object.")
    try:
        return dict(schema.load(given))
    except ValidationError as problem:
        raise BadRequest(_sentence(problem.normalized_messages())) from problem


def _sentence(messages: dict[str, Any]) -> str:
    parts = []
    for name, reasons in messages.items():
        if isinstance(reasons, dict):
            reasons = [_sentence(reasons)]
        text = " ".join(str(reason) for reason in reasons)
        parts.append(text if name == "_schema" else f"{name}: {text}")
    return " ".join(parts)
