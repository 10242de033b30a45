"""`status`: reads the stores, asks the leader if one lives, and prints; it changes nothing.

What rows say is there whether anybody leads or not; live parts come over the bus from the leader
within a second and a half, or stay empty.
"""

import argparse
import datetime
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from actors.bot_choice import PRACTICE, ChosenBot, Wanted, choose_bot
from actors.clock import boot_ms, wall_ms
from actors.event_log import redact
from actors.plans.status import StatusFacts, ThreadFacts, described, instants, shown
from messages.bus import MAX_LINE, Ack, Describe, dump, parse_line
from stores.bindings import Bindings
from stores.bus_schema import METADATA as BUS
from stores.bus_settings import BusSettings
from stores.config import Config
from stores.database import Database
from stores.errors import HomeUnusable
from stores.home import Home
from stores.identities import Identities
from stores.ingress import Ingress
from stores.ingress_schema import METADATA as INGRESS
from stores.lease import Lease, LeaseRecord
from stores.process_birth import Liveness, liveness

ASK_WITHIN_S = 1.5
_CHUNK = 64 * 1024


def print_status(options: argparse.Namespace) -> int:
    """Print it as asked; returns the exit status."""
    facts = collect(options, os.environ)
    if options.json:
        text = json.dumps(described(facts), ensure_ascii=False)
    else:
        text = shown(facts, {instant: _local(instant) for instant in instants(facts)})
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))
    return 0


def collect(options: argparse.Namespace, environment: Mapping[str, str]) -> StatusFacts:
    """Read and ask everything."""
    home = Home(options.home)
    if home.path.exists() and not os.access(home.path, os.R_OK | os.X_OK):
        raise HomeUnusable(f"{home.path} cannot be read.")
    bot = choose_bot(
        Config(home.config),
        Wanted(options.bot, options.token_file),
        environment,
    )
    if bot is not None:
        redact(bot.token)
        return _collect_bot(home, bot, bot.bot_id, bot.api_root)
    practice = _practice_bot(home)
    if practice is None:
        return _nothing(home)
    return _collect_bot(home, practice, practice.bot_id, _practice_root(home))


def _practice_bot(home: Home) -> ChosenBot | None:
    from actors.sandbox.chat import OWNER

    try:
        token = (home.practice / "token").read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    redact(token)
    if not token.partition(":")[0].isdecimal():
        return None
    return ChosenBot(PRACTICE, token, None, OWNER.user_id, OWNER.user_id, is_new=False)


def _practice_root(home: Home) -> str | None:
    from actors.sandbox.port_file import PortFile

    found = PortFile.read(home.practice / "port.json")
    return f"http://127.0.0.1:{found.port}" if found is not None else None


def _nothing(home: Home) -> StatusFacts:
    return StatusFacts(
        bot=PRACTICE,
        bot_shown="No bot is set up, and no practice chat either",
        home=str(home.path),
        api_root=None,
        owner_id=0,
        lease=None,
        leader_is_dead=False,
        boot_ms=boot_ms(),
        wall_ms=wall_ms(),
    )


def _collect_bot(
    home: Home, bot: ChosenBot, bot_id: int, api_root: str | None
) -> StatusFacts:
    bus = _existing(home.bus_database(bot_id), BUS, "bus")
    ingress = _existing(home.ingress_database(bot_id), INGRESS, "ingress")
    lease, facts = None, None
    threads: tuple[ThreadFacts, ...] = ()
    live: Mapping[str, Any] = {}
    is_dead = False
    waiting = _waiting(ingress)
    if bus is not None:
        lease = Lease(bus).read()
        facts = BusSettings(bus).bot()
        is_dead = _is_dead(lease)
        threads = _threads(bus, waiting)
        if lease.owner is not None and lease.endpoint and not is_dead:
            live = ask(lease)
        bus.close()
    counts = cursor = None
    if ingress is not None:
        counts, cursor = Ingress(ingress).counts(), Ingress(ingress).cursor()
        ingress.close()
    shown_name = bot.name
    if bot.name == PRACTICE:
        shown_name = "Practice chat"
    elif facts is not None and facts.username:
        shown_name = f"@{facts.username}"
    return StatusFacts(
        bot=bot.name,
        bot_shown=shown_name,
        home=str(home.path),
        api_root=api_root,
        owner_id=bot.owner_id,
        lease=lease,
        leader_is_dead=is_dead,
        boot_ms=boot_ms(),
        wall_ms=wall_ms(),
        threads=threads,
        cursor=cursor,
        counts=counts,
        live=live,
        rss=_resident(live),
    )


def _existing(path: Path, metadata: Any, migrations: str) -> Database | None:
    """The database, unless nobody made it yet: looking creates nothing."""
    return Database(path, metadata, migrations) if path.exists() else None


def _is_dead(lease: LeaseRecord) -> bool:
    owner = lease.owner
    return owner is not None and (
        liveness(owner.pid, owner.boot_id, owner.birth) is Liveness.DEAD
    )


def _waiting(ingress: Database | None) -> Mapping[str, int]:
    if ingress is None:
        return {}
    return {one.binding_key: one.count for one in Ingress(ingress).waiting()}


def _threads(bus: Database, waiting: Mapping[str, int]) -> tuple[ThreadFacts, ...]:
    identities = {one.binding_key: one for one in Identities(bus).all()}
    threads = []
    for binding in Bindings(bus).all():
        identity = identities.get(binding.binding_key)
        owner = identity.owner if identity is not None else None
        alive = owner is not None and (
            liveness(owner.pid, owner.boot_id, owner.birth) is not Liveness.DEAD
        )
        count = waiting.get(binding.binding_key, 0)
        threads.append(ThreadFacts(binding, identity, alive, count))
    return tuple(sorted(threads, key=lambda one: one.binding.slot or "~"))


def _resident(live: Mapping[str, Any]) -> Mapping[int, int]:
    import psutil

    resident = {}
    for actor in live.get("actors") or ():
        pid = actor.get("pid") if isinstance(actor, dict) else None
        if isinstance(pid, int):
            try:
                resident[pid] = psutil.Process(pid).memory_info().rss
            except psutil.Error:
                continue
    return resident


def ask(lease: LeaseRecord, within_s: float = ASK_WITHIN_S) -> Mapping[str, Any]:
    """The leader's description of its tree; empty when it gives none in time."""
    until = time.monotonic() + within_s
    request = Describe(request_id=f"status:{os.getpid()}:{wall_ms()}", auth=lease.secret)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(within_s)
            connection.connect(lease.endpoint or "")
            connection.sendall(dump(request))
            answer = parse_line(_line(connection, until))
    except (OSError, ValueError):
        return {}
    if not isinstance(answer, Ack) or not answer.ok or not isinstance(answer.result, dict):
        return {}
    return answer.result


def _line(connection: socket.socket, until: float) -> bytes:
    received = bytearray()
    while b"\n" not in received and len(received) < MAX_LINE:
        connection.settimeout(max(0.001, until - time.monotonic()))
        chunk = connection.recv(_CHUNK)
        if not chunk or time.monotonic() > until:
            raise TimeoutError
        received += chunk
    return bytes(received.partition(b"\n")[0])


def _local(instant: int) -> str:
    """An instant as people say it: `12:04`, `Mon 09:10`, `3 Nov`."""
    then = datetime.datetime.fromtimestamp(instant / 1_000)
    days = (datetime.datetime.now().date() - then.date()).days
    if days == 0:
        return f"{then:%H:%M}"
    return f"{then:%a %H:%M}" if days < 7 else f"{then.day} {then:%b}"
