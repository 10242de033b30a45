"""What `status` says, for programs and for people, made of rows and of what the leader told."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.election import STALE_AFTER_MS
from actors.plans.screen import Screen

_STARTING = ("pending", "starting")

NO_BOT = "No bot is set up. Try it in a practice chat on this machine: switchboard"
NO_BOT_YET = "Your own bot: switchboard setup"


@dataclasses.dataclass(frozen=True, slots=True)
class ThreadFacts:
    """One thread: its row, and the process behind it."""

    binding: Any
    identity: Any | None
    is_alive: bool
    """The process that claimed the identity runs."""

    waiting: int = 0
    """Updates of this thread that wait for it."""

    working: bool | None = None
    """Whether its process is at something; None where that is not known."""

    queued: int = 0
    """What its process took and has not begun."""

    @property
    def state(self) -> str:
        """starting, running, stopped (ended in order) or lost (it did not)."""
        if self.is_alive:
            return "starting" if self.binding.status in _STARTING else "running"
        ended = self.identity is None or self.identity.released_ms is not None
        return "stopped" if ended else "lost"

    @property
    def state_shown(self) -> str:
        """The same for people, who see as well whether one that runs is at something."""
        if self.state != "running" or self.working is None:
            return self.state
        return "working" if self.working else "idle"


@dataclasses.dataclass(frozen=True, slots=True)
class StatusFacts:
    """Everything that was read and asked."""

    bot: str
    bot_shown: str
    home: str
    api_root: str | None
    owner_id: int
    lease: Any | None
    leader_is_dead: bool
    boot_ms: int
    wall_ms: int
    threads: tuple[ThreadFacts, ...] = ()
    cursor: int | None = None
    counts: Any | None = None
    live: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The leader's description; empty when it did not answer."""

    rss: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """Resident bytes of the actors' processes."""

    owner_name: str = ""
    """How people call the owner, empty where nobody told."""

    asked: int = 0
    """What processes gave up on, or cannot decide, and a person has to."""

    given_up: int = 0
    """Those of them that failed too often."""


def described(facts: StatusFacts) -> dict[str, Any]:
    """For programs: the object of `status --json`."""
    poller = facts.live.get("poller") or {}
    cursor = poller.get("cursor")
    counted = ("pending", "retrying", "queued")
    return {
        "bot": facts.bot,
        "home": facts.home,
        "api_root": facts.api_root,
        "leader": _leader(facts),
        "followers": [
            {name: one.get(name) for name in _FOLLOWER_FIELDS}
            for one in facts.live.get("followers") or ()
        ],
        "threads": [
            {
                "thread_id": one.binding.thread_id,
                "thread_name": one.binding.thread_name,
                "slot": one.binding.slot,
                "state": one.state,
                "instance_id": one.binding.instance_id,
            }
            for one in facts.threads
        ],
        "poller": {
            "phase": poller.get("phase", "stopped"),
            "last_response_age_ms": poller.get("last_response_age_ms"),
            "cursor": facts.cursor if cursor is None else cursor,
        },
        "inbox": {
            **{name: getattr(facts.counts, name, 0) for name in counted},
            "dead": _dead(facts) + facts.given_up,
        },
        "actors": [
            {
                "name": one.get("name"),
                "pid": one.get("pid"),
                "rss": one.get("rss") or facts.rss.get(one.get("pid") or 0),
                "restarts": one.get("restarts"),
                "uptime_ms": one.get("uptime_ms"),
            }
            for one in facts.live.get("actors") or ()
        ],
    }


_FOLLOWER_FIELDS = (
    "instance_id",
    "pid",
    "slot",
    "thread_name",
    "thread_id",
    "generation",
    "heartbeat_age_ms",
    "capabilities",
)


def _dead(facts: StatusFacts) -> int:
    """What was given up before it reached a process."""
    return int(getattr(facts.counts, "dead", 0))


def _leader(facts: StatusFacts) -> dict[str, Any] | None:
    lease = facts.lease
    if lease is None or lease.owner is None or facts.leader_is_dead:
        return None
    age = max(0, facts.boot_ms - (lease.heartbeat_ms or 0))
    # The endpoint is published last: without it nobody can be asked, with it one that says nothing is silent.
    unheard = "silent" if lease.endpoint else "starting"
    state = facts.live.get("state") or unheard
    return {
        "pid": lease.owner.pid,
        "instance_id": lease.owner.instance_id,
        "epoch": lease.epoch,
        "heartbeat_age_ms": age,
        "state": "stale" if age > STALE_AFTER_MS else state,
    }


# -- for people ------------------------------------------------------------------------------------


def screen(facts: StatusFacts, clock: Mapping[int, str]) -> Screen:
    """For people: a line about the bot, one for each thread, and one for what needs a person.

    `clock` has the local times of the instants in `instants(facts)`.
    """
    if not facts.bot_shown:
        return Screen(above=(NO_BOT, NO_BOT_YET))
    owner = facts.owner_name or (str(facts.owner_id) if facts.owner_id else "")
    whose = f"owner {owner}" if owner else "no owner yet: switchboard setup"
    above = [" · ".join((facts.bot_shown, whose, _telegram(facts)))]
    if not facts.threads:
        above.append("No thread yet. Start a process: switchboard")
    below = []
    if undelivered := _dead(facts) + facts.asked:
        below.append(f"{undelivered} not delivered: switchboard shell")
    if choosing := getattr(facts.counts, "choosing", 0):
        below.append(f"{choosing} outside every thread: say in the chat whose they are")
    return Screen(
        above=tuple(above),
        headings=("thread", "state", "process", "waiting", "since") if facts.threads else (),
        rows=tuple(_row(facts, one, clock) for one in facts.threads),
        below=tuple(below),
    )


def instants(facts: StatusFacts) -> tuple[int, ...]:
    """The wall-clock instants that `shown` speaks of."""
    return tuple(_since(one) for one in facts.threads)


def _telegram(facts: StatusFacts) -> str:
    leader = _leader(facts)
    if leader is None:
        return "nobody talks to Telegram now"
    if leader["state"] == "starting":
        return "the process that talks to Telegram is starting"
    if not facts.live:
        return "the process that talks to Telegram does not answer"
    if facts.live.get("token") == "refused":
        return "Telegram refuses the token"
    if facts.live.get("poller_conflict") == "webhook":
        return "a webhook is set on this bot, so its messages go elsewhere"
    if facts.live.get("poller_conflict"):
        return "another program reads this bot"
    age = (facts.live.get("poller") or {}).get("last_response_age_ms")
    if age is None:
        return "Telegram not heard yet"
    return f"Telegram ok, heard {duration(age)} ago"


def _row(
    facts: StatusFacts, one: ThreadFacts, clock: Mapping[int, str]
) -> tuple[str, str, str, str, str, str]:
    leader = _leader(facts)
    process, again = "-", ""
    if one.is_alive and one.identity is not None and one.identity.owner is not None:
        owner = one.identity.owner
        leads = leader is not None and leader["instance_id"] == owner.instance_id
        process = f"{owner.pid} (leads)" if leads else str(owner.pid)
    elif one.identity is not None and one.identity.command and one.identity.directory:
        again = f"in {one.identity.directory}: {one.identity.command}"
    since = clock.get(_since(one), "")
    name = one.binding.thread_name or "?"
    return name, one.state_shown, process, str(one.waiting + one.queued), since, again


def _since(one: ThreadFacts) -> int:
    binding, identity = one.binding, one.identity
    if identity is None:
        return binding.inactive_since_ms or binding.updated_ms
    if one.is_alive:
        return identity.claimed_ms
    return identity.released_ms or binding.inactive_since_ms or binding.updated_ms


def duration(milliseconds: int) -> str:
    """`3 s`, `4 min`, `2 h`, `5 days`."""
    seconds = milliseconds // 1_000
    for length, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
