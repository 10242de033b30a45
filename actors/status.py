"""`status`: reads the stores, asks the leader if one lives, and shows it; it changes nothing.

What rows say is there whether anybody leads or not; live parts come over the bus from the leader
within a second and a half, or stay empty.
"""

import argparse
import contextlib
import datetime
import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from actors.bot_choice import PRACTICE
from actors.clock import boot_ms, wall_ms
from actors.house import House
from actors.operator_line import LeaderSilent, ask
from actors.plans.screen import Screen
from actors.plans.status import StatusFacts, described, instants, screen
from messages.bus import Describe
from stores.deliveries import DEAD
from stores.ingress import Ingress
from stores.lease import LeaseRecord
from stores.token_variables import variables

ASK_WITHIN_S = 1.5
WATCH_S = 1.0


def print_status(options: argparse.Namespace) -> int:
    """Print it as asked; returns the exit status."""
    if not options.json:
        from actors.screen import show, watch

        if options.watch:
            watch(lambda: status_screen(options))
        else:
            show(status_screen(options))
        return 0
    _print_json(options)
    while options.watch:
        time.sleep(WATCH_S)
        _print_json(options)
    return 0


def _print_json(options: argparse.Namespace) -> None:
    text = json.dumps(described(collect(options, variables())), ensure_ascii=False)
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), flush=True)


def status_screen(options: argparse.Namespace) -> Screen:
    """The screen of this moment."""
    facts = collect(options, variables())
    return screen(facts, {instant: local_time(instant) for instant in instants(facts)})


def collect(options: argparse.Namespace, environment: Mapping[str, str]) -> StatusFacts:
    """Read and ask everything."""
    with House.of(options, environment) as house:
        return facts_of(house)


def facts_of(house: House) -> StatusFacts:
    """What the stores and the leader say of this bot."""
    lease = house.lease()
    is_led = house.is_led(lease)
    live: Mapping[str, Any] = {}
    if lease is not None and is_led and lease.endpoint:
        live = _described(lease)
    counts = cursor = None
    if house.ingress is not None:
        counts, cursor = Ingress(house.ingress).counts(), Ingress(house.ingress).cursor()
    asked = [row for _, row in house.asked()]
    return StatusFacts(
        bot=house.bot.name if house.bot is not None else PRACTICE,
        bot_shown=house.bot_shown,
        home=str(house.home.path),
        api_root=house.api_root,
        owner_id=house.bot.owner_id if house.bot is not None else 0,
        owner_name=house.owner_name,
        lease=lease,
        leader_is_dead=lease is not None and lease.owner is not None and not is_led,
        boot_ms=boot_ms(),
        wall_ms=wall_ms(),
        threads=house.threads(),
        cursor=cursor,
        counts=counts,
        asked=len(asked),
        given_up=sum(row.state == DEAD for row in asked),
        live=live,
        rss=resident(live),
    )


def _described(lease: LeaseRecord) -> Mapping[str, Any]:
    """The leader's description of its tree; empty when it gives none in time."""
    with contextlib.suppress(LeaderSilent):
        answer = ask(lease, Describe, ASK_WITHIN_S)
        if answer.ok and isinstance(answer.result, dict):
            return answer.result
    return {}


def resident(live: Mapping[str, Any]) -> Mapping[int, int]:
    """Bytes in memory of the described actors."""
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


def local_time(instant: int) -> str:
    """An instant as people say it: `12:04`, `Mon 09:10`, `3 Nov`."""
    then = datetime.datetime.fromtimestamp(instant / 1_000)
    days = (datetime.datetime.now().date() - then.date()).days
    if days == 0:
        return f"{then:%H:%M}"
    return f"{then:%a %H:%M}" if days < 7 else f"{then.day} {then:%b}"
