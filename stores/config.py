"""The configuration: which bots this home knows, in `config.json`, closed to other users.

It is the only file that holds a token, or `$NAME` for one that lives in the environment. A file
that cannot be understood is never touched: the error names it and says why. What other versions
or people wrote beside our fields stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marshmallow import INCLUDE, Schema, ValidationError, fields, validate

from stores.errors import ConfigMalformed
from stores.private_files import file_lock, make_private_directory, replace_private_file
from stores.token_variables import variables

_TOKEN = r"\A(\$[A-Za-z_][A-Za-z0-9_]*|[0-9]{1,20}:[A-Za-z0-9_-]{1,128})\Z"
_NAME = r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,31}\Z"
_ROOT = r"\Ahttps?://[^\s/?#]+[^\s?#]*\Z"


class _BotSchema(Schema):
    class Meta:
        unknown = INCLUDE

    token = fields.String(
        required=True,
        validate=validate.Regexp(_TOKEN, error="Not a bot token."),
        metadata={"description": "the bot token, or $NAME of the environment variable with it"},
    )
    api_root = fields.String(
        allow_none=True,
        validate=validate.Regexp(_ROOT, error="Not an http(s) address."),
        metadata={"description": "another Bot API server; absent: Telegram's"},
    )
    owner = fields.Integer(
        allow_none=True,
        strict=True,
        validate=validate.Range(min=1),
        metadata={"description": "the paired user; absent: nobody"},
    )
    chat = fields.Integer(
        allow_none=True,
        strict=True,
        metadata={"description": "a forum supergroup; absent: the owner's private chat"},
    )


class _ConfigSchema(Schema):
    class Meta:
        unknown = INCLUDE

    bots = fields.Dict(
        keys=fields.String(validate=validate.Regexp(_NAME, error="Not a bot name.")),
        values=fields.Nested(_BotSchema),
    )
    default_bot = fields.String(allow_none=True)


_SCHEMA = _ConfigSchema()


@dataclass(frozen=True, slots=True)
class BotConfig:
    """One bot as configured; the token never shows in a text made of it."""

    name: str
    token: str = field(repr=False)
    api_root: str | None = None
    owner_id: int | None = None
    chat_id: int | None = None

    def resolved_token(self, environment: Mapping[str, str] | None = None) -> str | None:
        """The token itself, or what the variable it names holds; None when that is not set."""
        if not self.token.startswith("$"):
            return self.token
        known = variables() if environment is None else environment
        return known.get(self.token[1:]) or None


class Config:
    """The file. Every method reads it anew; several processes may write it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def bots(self) -> Mapping[str, BotConfig]:
        """Every bot by its name."""
        known = self._read().get("bots", {})
        return {name: _bot(name, stored) for name, stored in known.items()}

    def bot(self, name: str | None = None) -> BotConfig | None:
        """The bot of this name; without one, the default, or the only one there is."""
        content = self._read()
        known = content.get("bots", {})
        if name is None:
            name = content.get("default_bot")
        if name is None and len(known) == 1:
            name = next(iter(known))
        return _bot(name, known[name]) if name is not None and name in known else None

    def token_variables(self) -> tuple[str, ...]:
        """The environment variables that are named in place of a token."""
        return tuple(bot.token[1:] for bot in self.bots().values() if bot.token.startswith("$"))

    def remember_bot(self, bot: BotConfig, make_default: bool = False) -> None:
        """Add or replace a bot; what is not known of it is left out."""
        values = {
            "token": bot.token,
            "api_root": bot.api_root,
            "owner": bot.owner_id,
            "chat": bot.chat_id,
        }

        def change(content: dict[str, Any]) -> None:
            stored = content.setdefault("bots", {}).setdefault(bot.name, {})
            for key, value in values.items():
                if value is None:
                    stored.pop(key, None)
                else:
                    stored[key] = value
            if make_default:
                content["default_bot"] = bot.name

        self._change(change)

    def forget_bot(self, name: str) -> None:
        """Remove a bot and its token."""

        def change(content: dict[str, Any]) -> None:
            content.get("bots", {}).pop(name, None)
            if content.get("default_bot") == name:
                del content["default_bot"]

        self._change(change)

    def _change(self, change: Callable[[dict[str, Any]], None]) -> None:
        make_private_directory(self.path.parent)
        with file_lock(self.path.with_name(self.path.name + ".lock")):
            before = self._read()
            content = json.loads(json.dumps(before))
            change(content)
            self._validate(content)
            if content != before:
                text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
                replace_private_file(self.path, text.encode())

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise self._malformed(problem.strerror or "it cannot be read") from problem
        except json.JSONDecodeError as problem:
            # Not chained: the error holds the whole document, and the document the token.
            raise self._malformed(f"{problem.msg} in line {problem.lineno}") from None
        except (ValueError, RecursionError):
            raise self._malformed("it is not JSON text") from None
        return self._validate(content)

    def _validate(self, content: Any) -> dict[str, Any]:
        if not isinstance(content, dict):
            raise self._malformed("it is not an object")
        try:
            _SCHEMA.load(content)
        except ValidationError as problem:
            raise self._malformed(_first_reason(problem.messages)) from None
        return content

    def _malformed(self, reason: str) -> ConfigMalformed:
        return ConfigMalformed(f"{self.path}: {reason.rstrip('.')}.")


def _bot(name: str, stored: Mapping[str, Any]) -> BotConfig:
    return BotConfig(
        name,
        stored["token"],
        stored.get("api_root"),
        stored.get("owner"),
        stored.get("chat"),
    )


def _first_reason(messages: Any, place: str = "") -> str:
    """Where and why, of the first thing wrong; marshmallow's messages quote no values of ours."""
    if isinstance(messages, Mapping):
        key, inner = next(iter(messages.items()))
        if key in ("key", "value"):
            # How marshmallow calls the two sides of an entry; no place in the file.
            return _first_reason(inner, place)
        # A token that slipped to the place of a name must not be shown either.
        shown = str(key) if re.match(_NAME, str(key)) else "(a name)"
        return _first_reason(inner, f"{place}.{shown}" if place else shown)
    text = messages[0] if isinstance(messages, list) else str(messages)
    return f"{place}: {text}"
