"""Tokens given in the environment: taken out of it at once, and kept in the memory of this process.

What is forked later shares this memory, and so do the actors that call Telegram; what is exec'ed inherits
the environment alone, and finds no token there. The configuration may name such a variable as `$NAME`.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping

GIVEN = "TELEGRAM_BOT_TOKEN"
"""The variable that gives a token without any configuration."""

_taken: dict[str, str] = {}


def take(environment: MutableMapping[str, str], names: Iterable[str]) -> None:
    """Move these variables out of the environment."""
    for name in names:
        value = environment.pop(name, "").strip()
        if value:
            _taken[name] = value


def keep(name: str, token: str) -> None:
    """Remember a token under a name, as if the environment had given it."""
    _taken[name] = token


def variables() -> Mapping[str, str]:
    """The environment as it was, with what was taken out of it."""
    return ChainMap(_taken, os.environ)
