"""Who is who in a practice chat: its owner, the key of its control side and page, and its bot's token.

Each secret is made once per home and kept in its own 0600 file; neither is ever an argument or a variable
of the environment.
"""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Callable
from pathlib import Path

from actors.sandbox.failure import PracticeChatFailed
from stores.private_files import FILE_MODE, file_lock, replace_private_file

OWNER_ID = 1001
"""The user whom its bot obeys: whoever opens the page."""

_TOKEN = re.compile(r"(\d{9,10}):[A-Za-z0-9_-]{35}")
_KEY = re.compile(r"[A-Za-z0-9_-]{16,128}")
_TOKEN_LETTERS = string.ascii_letters + string.digits + "_-"


def practice_key(directory: Path) -> str:
    """The key in <home>/practice/key, made at first sight."""
    return _kept(directory / "key", _KEY, lambda: secrets.token_hex(16))


def practice_token(directory: Path) -> str:
    """The token in <home>/practice/token, made at first sight; shaped like a real one."""
    return _kept(directory / "token", _TOKEN, _new_token)


def bot_id_of(token: str) -> int:
    return int(token.partition(":")[0])


def _new_token() -> str:
    bot_id = 1_000_000_000 + secrets.randbelow(9_000_000_000)
    return f"{bot_id}:AA" + "".join(secrets.choice(_TOKEN_LETTERS) for _ in range(33))


def _kept(path: Path, shape: re.Pattern[str], make: Callable[[], str]) -> str:
    with file_lock(path.with_name("secrets.lock")):
        try:
            text = path.read_text("ascii").strip()
        except FileNotFoundError:
            text = make()
            replace_private_file(path, text.encode("ascii") + b"\n")
        except ValueError:
            text = ""
        if not shape.fullmatch(text):
            raise PracticeChatFailed(f"{path} is malformed. Remove it to get a new one.")
        path.chmod(FILE_MODE)
    return text
