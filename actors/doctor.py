"""`doctor`: looks at everything that can be wrong, says what to do, and with --fix does what is safe.

It changes nothing else, and it asks Telegram only what changes nothing there. The token is in nothing
that it shows.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import email.utils
import os
import shutil
import socket
import stat
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from actors.bot_choice import PRACTICE, ChoiceRefused
from actors.bot_session import PUBLIC_API_ROOT, BotSession, is_loopback
from actors.event_log import redacted
from actors.house import House
from actors.operator_line import LeaderSilent, ask
from actors.plans.call_result import CallResult, Ending
from actors.plans.doctor import Found, checks, exit_status, screen
from messages.bus import Describe
from messages.bus_protocol import OURS
from stores.bus_schema import METADATA as BUS
from stores.config import Config
from stores.database import Database
from stores.errors import StoreError
from stores.home import Home
from stores.inbox_schema import METADATA as INBOX
from stores.ingress_schema import METADATA as INGRESS
from stores.lease import LeaseRecord
from stores.private_files import DIRECTORY_MODE, FILE_MODE
from stores.token_variables import keep, variables

ANSWER_WITHIN_S = 10.0
DATE_WITHIN_S = 5.0
LEADER_WITHIN_S = 3.0

_TOKEN_VARIABLE = "SWITCHBOARD_DOCTORS_TOKEN"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def run_doctor(options: argparse.Namespace) -> int:
    """Look, put right what was asked for, and tell; returns the exit status."""
    from actors.screen import show

    home = Home(options.home)
    fixed = tuple(_fix(home)) if options.fix else ()
    made = checks(dataclasses.replace(look(options, home), fixed=fixed))
    show(screen(made))
    return exit_status(made)


def look(options: argparse.Namespace, home: Home) -> Found:
    """Everything that can be found out."""
    version = sys.version_info
    found = Found(
        python=(version[0], version[1], version[2]),
        build=OURS.runtime_build,
        home=str(home.path),
        home_exists=home.path.is_dir(),
        proxies=_proxies(os.environ),
    )
    found = _home(found, home)
    if found.home_problem:
        return found
    try:
        Config(home.config).bots()
    except StoreError as problem:
        return dataclasses.replace(found, config_problem=str(problem))
    try:
        with House.of(options, variables()) as house:
            return _bot(found, house)
    except ChoiceRefused as refused:
        return dataclasses.replace(found, bot_name=options.bot or "?", bot_problem=str(refused))
    except StoreError as problem:
        return dataclasses.replace(found, damaged=((home.path.name, str(problem)),))


# -- the home -------------------------------------------------------------------------------------


def _home(found: Found, home: Home) -> Found:
    if not found.home_exists:
        problem = f"{home.path} is no directory" if home.path.exists() else ""
        return dataclasses.replace(found, home_problem=problem)
    if not os.access(home.path, os.R_OK | os.W_OK | os.X_OK):
        return dataclasses.replace(found, home_problem=f"{home.path} cannot be read and written")
    open_to_others, foreign = [], []
    for path, status in _everything(home.path):
        name = str(path.relative_to(home.path)) if path != home.path else "."
        if status.st_uid != os.geteuid():
            foreign.append(name)
        elif stat.S_IMODE(status.st_mode) & 0o077:
            open_to_others.append(name)
    return dataclasses.replace(
        found,
        open_to_others=tuple(open_to_others),
        foreign=tuple(foreign),
        disk_free=shutil.disk_usage(home.path).free,
        stale_sockets=tuple(path.name for path in _stale_sockets(home)),
    )


def _everything(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything that the home holds, links left out."""
    yield root, root.stat()
    for directory, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(directory) / name
            with contextlib.suppress(OSError):
                status = path.lstat()
                if not stat.S_ISLNK(status.st_mode):
                    yield path, status


def _stale_sockets(home: Home) -> Iterator[Path]:
    """Sockets of this home that nobody listens on any more."""
    for directory in (home.path / "bots").glob("*"):
        if not directory.name.isdecimal():
            continue
        base = home.socket_path(int(directory.name))
        for path in base.parent.glob(f"{base.stem}-*.sock"):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(path.lstat().st_mode) and not _listens(path):
                    yield path


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            # Whoever is busy listens all the same.
            return True
    return True


def _fix(home: Home) -> Iterator[str]:
    """Do what is safe; says what was done."""
    if not home.path.is_dir():
        return
    for path, status in list(_everything(home.path)):
        wrong = stat.S_IMODE(status.st_mode) & 0o077
        if not wrong or status.st_uid != os.geteuid():
            continue
        mode = DIRECTORY_MODE if stat.S_ISDIR(status.st_mode) else FILE_MODE
        if path == home.path and not _is_a_home(home.path):
            continue
        with contextlib.suppress(OSError):
            path.chmod(mode)
            yield f"{path} is closed to other users now"
    for path in list(_stale_sockets(home)):
        with contextlib.suppress(OSError):
            path.unlink()
            yield f"{path} is removed"


def _is_a_home(path: Path) -> bool:
    """Whether closing it would close nothing else: it holds what a home holds, or nothing at all."""
    names = {entry.name for entry in path.iterdir()}
    return not names or bool(names & {"config.json", "bots", "practice"})


# -- the bot --------------------------------------------------------------------------------------


def _bot(found: Found, house: House) -> Found:
    bot = house.bot
    found = _databases(found, house)
    if bot is None:
        return found
    root = (house.api_root or PUBLIC_API_ROOT).rstrip("/")
    found = dataclasses.replace(
        found,
        bot_name=bot.name,
        is_practice=bot.name == PRACTICE,
        owner_id=bot.owner_id,
        owner_name=house.owner_name,
        api_root=root,
        wants_topics=bot.chat_id >= 0,
    )
    found, live = _leader(found, house)
    if found.is_practice and house.api_root is None:
        # It is started by whoever needs it.
        return found
    found = _telegram(found, house, root)
    conflict = live.get("poller_conflict") if live else None
    return dataclasses.replace(
        found, conflict=conflict, skew_s=_skew(root) if found.token == "ok" else None
    )


def _databases(found: Found, house: House) -> Found:
    damaged, sound = [], 0
    folder = house.home.path / "bots" if house.bot is None else house.home.bot_directory(house.bot.bot_id)
    for path in sorted(folder.rglob("*.db")):
        known: Mapping[str, tuple[Any, str]] = {
            "bus.db": (BUS, "bus"), "ingress.db": (INGRESS, "ingress"),
        }
        metadata, migrations = known.get(path.name, (INBOX, "inbox"))
        if path.name not in known and not path.name.startswith("inbox-"):
            continue
        database = Database(path, metadata, migrations)
        try:
            database.check()
            sound += 1
        except StoreError as problem:
            damaged.append((path.name, str(problem)))
        finally:
            database.close()
    return dataclasses.replace(found, damaged=tuple(damaged), databases=sound)


def _leader(found: Found, house: House) -> tuple[Found, Mapping[str, Any]]:
    if any(name == "bus.db" for name, _ in found.damaged):
        return found, {}
    lease = house.lease()
    if lease is None or lease.owner is None:
        return dataclasses.replace(found, leader="none" if lease is not None else ""), {}
    found = dataclasses.replace(found, leader_pid=lease.owner.pid)
    if not house.is_led(lease):
        return dataclasses.replace(found, leader="dead"), {}
    if lease.endpoint is None:
        return dataclasses.replace(found, leader="starting"), {}
    live = _described(lease)
    builds = {
        int(one["pid"]): str(one.get("build") or "")
        for one in live.get("followers") or ()
        if one.get("pid")
    }
    return dataclasses.replace(found, leader="live" if live else "silent", builds=builds), live


def _described(lease: LeaseRecord) -> Mapping[str, Any]:
    with contextlib.suppress(LeaderSilent):
        answer = ask(lease, Describe, LEADER_WITHIN_S)
        if answer.ok and isinstance(answer.result, dict):
            return answer.result
    return {}


def _telegram(found: Found, house: House, root: str) -> Found:
    assert house.bot is not None
    keep(_TOKEN_VARIABLE, house.bot.token)
    settings = {
        "home": str(house.home.path),
        "bot_id": house.bot.bot_id,
        "api_root": root,
        "token_variable": _TOKEN_VARIABLE,
    }
    me, webhook, chat = asyncio.run(_asked(settings, house.bot.chat_id))
    if me.ending is Ending.UNAUTHORIZED:
        return dataclasses.replace(found, token="refused")
    if me.ending is not Ending.ANSWERED or not isinstance(me.result, dict):
        problem = redacted(me.description)
        return dataclasses.replace(found, token="unreachable", network_problem=problem)
    return dataclasses.replace(
        found,
        token="ok",
        username=str(me.result.get("username") or ""),
        topics=bool(me.result.get("has_topics_enabled")),
        webhook=_webhook(webhook),
        chat_problem=_chat(chat),
    )


async def _asked(
    settings: Mapping[str, Any], chat_id: int
) -> tuple[CallResult, CallResult | None, CallResult | None]:
    session = BotSession(settings, lambda: None, connections=1)
    session.open()
    try:
        me = await session.call("getMe", {}, ANSWER_WITHIN_S)
        if me.ending is not Ending.ANSWERED:
            return me, None, None
        webhook = await session.call("getWebhookInfo", {}, ANSWER_WITHIN_S)
        chat = None
        if chat_id:
            chat = await session.call("getChat", {"chat_id": chat_id}, ANSWER_WITHIN_S)
        return me, webhook, chat
    finally:
        await session.close()


def _webhook(answer: CallResult | None) -> str | None:
    if answer is None or not isinstance(answer.result, dict):
        return None
    address = str(answer.result.get("url") or "")
    # What comes after the host is often a secret.
    return urlsplit(address).hostname or "another address" if address else ""


def _chat(answer: CallResult | None) -> str | None:
    if answer is None or answer.ending in (Ending.UNSENT, Ending.UNCLEAR, Ending.FLOOD):
        return None
    return "" if answer.ending is Ending.ANSWERED else redacted(answer.description)


# -- clock and network ----------------------------------------------------------------------------


def _skew(root: str) -> float | None:
    """Seconds by which this machine is ahead of the server's Date header; None when it tells none."""
    if is_loopback(root):
        return None
    request = urllib.request.Request(root, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=DATE_WITHIN_S) as answer:
            said = answer.headers.get("Date")
    except urllib.error.HTTPError as refused:
        said = refused.headers.get("Date")
    except (OSError, ValueError):
        return None
    try:
        return time.time() - email.utils.parsedate_to_datetime(said or "").timestamp()
    except ValueError:
        return None


def _proxies(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The proxy variables that are set, without the passwords that may be in them."""
    found = {}
    for name in _PROXIES:
        value = environment.get(name) or environment.get(name.lower())
        if value and name == "NO_PROXY":
            found[name] = value
        elif value:
            parts = urlsplit(value if "//" in value else f"//{value}")
            with contextlib.suppress(ValueError):
                found[name] = f"{parts.hostname or '?'}{f':{parts.port}' if parts.port else ''}"
    return found
