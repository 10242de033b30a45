"""The parameters of one Bot API call, read as leniently and as strictly as Telegram reads them.

Everything is text first, whether it came in the query, as a form or as JSON; numbers are read by
their leading digits, flags by a few words, and structures as JSON within the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.sandbox.errors import BotApiError, bad_request

_LEADING_NUMBER = re.compile(r"-?\d+")
_TRUE = ("true", "yes", "t", "y", "1")
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Parameters:
    values: Mapping[str, str]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Parameters:
        """From decoded JSON or a form. Absent and null are the same."""
        values = {name: _as_text(value) for name, value in given.items() if value is not None}
        for text in (*values, *values.values()):
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as problem:
                raise bad_request("strings must be encoded in UTF-8") from problem
        return cls(values)

    @classmethod
    def of_json(cls, body: bytes) -> dict[str, Any]:
        """The object in a JSON body."""
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as problem:
            raise bad_request("can't parse JSON object") from problem
        if not isinstance(found, dict):
            raise bad_request("object expected")
        return found

    def has(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str:
        return self.values.get(name, "")

    def integer(self, name: str, default: int, low: int = -_LARGEST, high: int = _LARGEST) -> int:
        """By the leading digits; without any it is 0; moved into the range."""
        text = self.text(name)
        if not text:
            return default
        found = _LEADING_NUMBER.match(text)
        return max(low, min(high, int(found[0][:20]) if found else 0))

    def flag(self, name: str) -> bool:
        return self.text(name).lower() in _TRUE

    def json(self, name: str, refusal: BotApiError) -> Any:
        """The structure in a parameter, None when it is absent or empty."""
        text = self.text(name)
        if not text:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise refusal from problem

    def message_id(self, name: str = "message_id") -> int:
        return self.integer(name, 0)

    def thread_id(self) -> int | None:
        """The thread asked for; as at Telegram, zero, a negative and no number mean none."""
        asked = self.integer("message_thread_id", 0)
        return asked if asked > 0 else None

    def chat_id(self) -> int:
        """The chat asked for; no practice chat has a public name."""
        text = self.text("chat_id").strip()
        if not text:
            raise bad_request("chat_id is empty")
        if not re.fullmatch(r"-?\d{1,19}", text):
            raise bad_request("chat not found")
        return int(text)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
