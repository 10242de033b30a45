"""The log of the house: one JSON object a line in <home>/logs/switchboard.jsonl, of every process.

Each event is one `write` to a file opened with O_APPEND, so lines of many processes never mix; the
open descriptor is inherited by fork. A log that cannot be written never disturbs its caller. Known
secrets, and all that looks like a bot token, are blotted out.

At 5 MiB the file becomes the previous one and a new one begins. Only the process that was told to does
that (the Leader); every other notices at its next event that the name stands for another file, and
follows. Nothing is lost: what is written to the old file in between is in the previous one.
"""

import contextlib
import datetime
import fcntl
import json
import logging
import os
import re
import stat
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loguru import logger

from actors.plans.log_levels import LogLevels

FILE_NAME = "switchboard.jsonl"
PREVIOUS_NAME = "switchboard_prev.jsonl"
LARGEST = 5 * 1024 * 1024
"""Bytes of the file before it is put aside; a single event more may be in it."""
VARIABLE = "SWITCHBOARD_LOG"
BLOT = "[redacted]"
LONGEST_TRACE = 16_000
LONGEST_FIELD = 4_000

_TOKEN = re.compile(r"\d{6,}(?::|%3[Aa])[A-Za-z0-9_-]{30,}")
_SHORTEST_SECRET = 8


class _Log:
    """What this process knows of the log: where it goes, what it must not say, who it is."""

    descriptor: int | None = None
    path: Path | None = None
    has_handler: bool = False
    levels: LogLevels = LogLevels()
    least_level: int = 0
    process: str = "main"
    rotates: bool = False
    mirror: Callable[[dict[str, Any]], None] | None = None
    secrets: tuple[str, ...] = ()
    bound: dict[str, Any] = {}


def open_log(directory: Path | str) -> Path:
    """Write to the log in this directory from now on, 0600 whatever the umask; tells its path."""
    path = Path(directory) / FILE_NAME
    descriptor = _open(path)
    close_log()
    _Log.descriptor, _Log.path = descriptor, path
    if not _Log.has_handler:
        # Adding a handler takes loguru 9 ms, so whatever is forked uses this one; levels are ours.
        logger.add(_write, format="{message}", level=0, catch=False)
        _Log.has_handler = True
    _Log.levels = LogLevels.parse(os.environ.get(VARIABLE, ""))
    _heed_level()
    for part in _Log.levels.unknown:
        log_event("log.level_unknown", "WARNING", text=part)
    return path


def _open(path: Path) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, 0o600)
    return descriptor


def name_process(name: str, rotates: bool = False) -> None:
    """This process is called so from now on, and logs at its level; `rotates`: it puts a full file aside."""
    _Log.process, _Log.rotates, _Log.mirror = name, rotates, None
    if _Log.descriptor is not None:
        _heed_level()


def is_debugging() -> bool:
    """Whether this process logs everything, libraries included."""
    return _Log.levels.of(_Log.process) == "DEBUG"


def mirror_to(show: Callable[[dict[str, Any]], None] | None) -> None:
    """Hand every later event of this process, without its secrets, to this function as well."""
    _Log.mirror = show


def _heed_level() -> None:
    level = _Log.levels.of(_Log.process)
    _Log.least_level = logger.level(level).no
    root = logging.getLogger()
    if any(isinstance(handler, _FromStandardLogging) for handler in root.handlers):
        root.setLevel(logging.DEBUG if level == "DEBUG" else logging.WARNING)


def close_log() -> None:
    """Forget the file; events go nowhere until the next `open_log`."""
    if _Log.descriptor is not None:
        with contextlib.suppress(OSError):
            os.close(_Log.descriptor)
    _Log.descriptor = _Log.path = _Log.mirror = None
    _Log.process, _Log.rotates = "main", False


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
        if logger.level(level).no < _Log.least_level:
            return
        if exception:
            fields["trace"] = traceback.format_exc(limit=20)[-LONGEST_TRACE:]
        logger.bind(**{**_Log.bound, **fields}).log(level, "{}", action)


def route_standard_logging() -> None:
    """Take what libraries log at WARNING and above, and the warnings of Python, into this log.

    At level DEBUG it is all that they log.
    """
    logging.captureWarnings(True)
    level = logging.DEBUG if is_debugging() else logging.WARNING
    logging.basicConfig(handlers=[_FromStandardLogging()], level=level, force=True)
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
    if _Log.mirror is not None:
        with contextlib.suppress(Exception):
            _Log.mirror(json.loads(line))
    written = line.encode(errors="backslashreplace") + b"\n"
    with contextlib.suppress(OSError):
        _follow()
        if _Log.rotates and os.fstat(_Log.descriptor).st_size + len(written) > LARGEST:
            _put_aside()
    with contextlib.suppress(OSError):
        os.write(_Log.descriptor, written)


def rotate() -> None:
    """Put a full file aside; for the one process that does so, now and then, whoever filled it."""
    if _Log.descriptor is None or not _Log.rotates:
        return
    with contextlib.suppress(OSError):
        _follow()
        if os.fstat(_Log.descriptor).st_size > LARGEST:
            _put_aside()


def _follow() -> None:
    """Write where the name points now: another process may have put the file aside."""
    if _Log.path is None or _Log.descriptor is None:
        return
    here = os.fstat(_Log.descriptor)
    with contextlib.suppress(FileNotFoundError):
        there = os.stat(_Log.path)
        if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
            return
    if not stat.S_ISREG(here.st_mode):
        return
    fresh = _open(_Log.path)
    os.close(_Log.descriptor)
    _Log.descriptor = fresh


def _put_aside() -> None:
    path, descriptor = _Log.path, _Log.descriptor
    if path is None or descriptor is None:
        return
    try:
        # A deposed Leader may still be about to do the same; only one of them may.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    here, there = os.fstat(descriptor), os.stat(path)
    if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
        return
    previous = path.with_name(PREVIOUS_NAME)
    os.rename(path, previous)
    _Log.descriptor = _open(path)
    os.close(descriptor)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    begins = {
        "time": now.replace("+00:00", "Z"),
        "level": "INFO",
        "action": "log.reset",
        "pid": os.getpid(),
        "reason": "size",
        "previous": previous.name,
    }
    os.write(_Log.descriptor, json.dumps(begins).encode() + b"\n")


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, str) and name != "trace" and len(value) > LONGEST_FIELD:
        return value[:LONGEST_FIELD] + "…"
    return value


# The handler of loguru itself would write to the terminal.
logger.remove()
