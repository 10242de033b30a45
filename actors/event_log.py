"""The log of the house: one JSON object a line in <home>/logs/switchboard.jsonl, of every process.

Each event is one `write` to a file opened with O_APPEND, so lines of many processes never mix; the
open descriptor is inherited by fork. Nothing goes to the terminal, and a log that cannot be written
never disturbs its caller. Known secrets, and all that looks like a bot token, are blotted out.
"""

import contextlib
import datetime
import json
import logging
import os
import re
import traceback
from pathlib import Path
from typing import Any

from loguru import logger

FILE_NAME = "switchboard.jsonl"
BLOT = "[redacted]"
LONGEST_TRACE = 16_000
LONGEST_FIELD = 4_000

_TOKEN = re.compile(r"\d{6,}(?::|%3[Aa])[A-Za-z0-9_-]{30,}")
_SHORTEST_SECRET = 8


class _Log:
    """What this process knows of the log: where it goes, what it must not say, who it is."""

    descriptor: int | None = None
    handler: int | None = None
    path: Path | None = None
    secrets: tuple[str, ...] = ()
    bound: dict[str, Any] = {}


def open_log(directory: Path | str) -> Path:
    """Write to the log in this directory from now on, 0600 whatever the umask; tells its path."""
    path = Path(directory) / FILE_NAME
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, 0o600)
    close_log()
    _Log.descriptor, _Log.path = descriptor, path
    # The handler of loguru itself would write to the terminal.
    logger.remove()
    _Log.handler = logger.add(_write, format="{message}", level="INFO", catch=False)
    return path


def close_log() -> None:
    """Forget the file; events go nowhere until the next `open_log`."""
    logger.remove()
    if _Log.descriptor is not None:
        with contextlib.suppress(OSError):
            os.close(_Log.descriptor)
    _Log.descriptor = _Log.path = None


def log_path() -> Path | None:
    """Where the events go, for sentences that send people there."""
    return _Log.path


def bind(**fields: Any) -> None:
    """Put these fields into every later event of this process and of those it forks."""
    _Log.bound = {**_Log.bound, **fields}


def redact(secret: str) -> None:
    """Never write this text. Whatever is forked later knows it too."""
    if len(secret) >= _SHORTEST_SECRET and secret not in _Log.secrets:
        _Log.secrets = (*_Log.secrets, secret)


def redacted(text: str) -> str:
    """The text without secrets; also for what is shown on the terminal."""
    for secret in _Log.secrets:
        text = text.replace(secret, BLOT)
    return _TOKEN.sub(BLOT, text)


def log_event(action: str, level: str = "INFO", exception: bool = False, **fields: Any) -> None:
    """Record one event; with `exception` the one that is being handled comes along."""
    if _Log.descriptor is None:
        return
    with contextlib.suppress(Exception):
        if exception:
            fields["trace"] = traceback.format_exc(limit=20)[-LONGEST_TRACE:]
        logger.bind(**{**_Log.bound, **fields}).log(level, "{}", action)


def route_standard_logging() -> None:
    """Take what libraries log at WARNING and above, and the warnings of Python, into this log."""
    logging.captureWarnings(True)
    logging.basicConfig(handlers=[_FromStandardLogging()], level=logging.WARNING, force=True)
    # No complaint on the terminal when a library empties the handlers.
    logging.lastResort = None


class _FromStandardLogging(logging.Handler):
    """A record of the standard library as an event."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(Exception):
            fields: dict[str, Any] = {"logger": record.name, "text": record.getMessage()}
            if record.exc_info:
                trace = "".join(traceback.format_exception(*record.exc_info))
                fields["trace"] = trace[-LONGEST_TRACE:]
            level = record.levelname if record.levelname in _LEVELS else "WARNING"
            log_event("library.logged", level, **fields)


_LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})


def _write(message: Any) -> None:
    if _Log.descriptor is None:
        return
    record = message.record
    instant = record["time"].astimezone(datetime.timezone.utc)
    event = {
        "time": instant.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record["level"].name,
        "action": record["message"],
        "pid": os.getpid(),
    }
    for name, value in record["extra"].items():
        event[name] = _plain(name, value)
    line = redacted(json.dumps(event, ensure_ascii=False, default=str))
    with contextlib.suppress(OSError):
        os.write(_Log.descriptor, line.encode(errors="backslashreplace") + b"\n")


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, str) and name != "trace" and len(value) > LONGEST_FIELD:
        return value[:LONGEST_FIELD] + "…"
    return value


logger.remove()
