"""Tokens given in the environment: taken out of it at once, and kept in the memory of this process.

What is forked later shares this memory, and so do the actors that call Telegram; what is exec'ed inherits
the environment alone, and finds no token there. The kernel shows the environment that a process began with
as it lies in memory, and so of everything forked from it: there the token is written over. The configuration
may name such a variable as `$NAME`.
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
        if environment is os.environ and environment.get(name):
            _write_over(name)
        value = environment.pop(name, "").strip()
        if value:
            _taken[name] = value


def _write_over(name: str) -> None:
    """Blank the value where this process was given it; `os.environ` has a copy of its own."""
    import ctypes

    getenv = ctypes.CDLL(None).getenv
    getenv.restype, getenv.argtypes = ctypes.c_void_p, (ctypes.c_char_p,)
    place = getenv(os.fsencode(name))
    if place:
        ctypes.memset(place, ord("*"), len(ctypes.string_at(place)))


def keep(name: str, token: str) -> None:
    """Remember a token under a name, as if the environment had given it."""
    _taken[name] = token


def variables() -> Mapping[str, str]:
    """The environment as it was, with what was taken out of it."""
    return ChainMap(_taken, os.environ)
