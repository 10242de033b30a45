"""What the doctor makes of what was found: one line a check, and what to do where something is wrong."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.screen import Screen

OK, WARNING, ERROR, FIXED = "ok", "warning", "error", "fixed"

OLDEST_PYTHON = (3, 11)
LITTLE_DISK, HARDLY_ANY_DISK = 200_000_000, 20_000_000
SKEWED_S = 30


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """Everything that was looked at; what could not be looked at is None or empty."""

    python: tuple[int, int, int]
    build: str
    home: str
    home_exists: bool
    home_problem: str = ""
    open_to_others: tuple[str, ...] = ()
    """Names below the home that other users may read."""

    foreign: tuple[str, ...] = ()
    """Names below the home that belong to somebody else."""

    config_problem: str = ""
    bot_name: str = ""
    """Empty: no bot can be chosen."""

    is_practice: bool = False
    bot_problem: str = ""
    token: str = ""
    """ok, refused, unreachable, or empty where nobody was asked."""

    network_problem: str = ""
    username: str = ""
    topics: bool | None = None
    wants_topics: bool = True
    owner_id: int = 0
    owner_name: str = ""
    chat_problem: str | None = None
    """None: the chat was not asked about; empty: it is there."""

    api_root: str = ""
    skew_s: float | None = None
    proxies: Mapping[str, str] = dataclasses.field(default_factory=dict)
    webhook: str | None = None
    conflict: str | None = None
    """Who else reads the bot; empty: nobody, None: not known."""

    disk_free: int | None = None
    leader: str = ""
    """live, starting, silent, dead, none, or empty where nobody ever led."""

    leader_pid: int = 0
    builds: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """What each registered process runs."""

    damaged: tuple[tuple[str, str], ...] = ()
    databases: int = 0
    stale_sockets: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    """What was put right just now."""


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """One line."""

    level: str
    what: str
    finding: str
    to_do: str = ""


def checks(found: Found) -> tuple[Check, ...]:
    """Every check that can be made of this, in the order in which one would ask."""
    made = [_python(found), *_home(found), _config(found)]
    if found.bot_name and not found.bot_problem:
        made += [*_token(found), _owner(found), *_chat(found), *_clock(found), *_network(found)]
        made += [*_webhook(found), *_conflict(found)]
    made += [*_disk(found), _leader(found), *_versions(found), _databases(found), *_sockets(found)]
    return (*made, *(Check(FIXED, "fixed", what) for what in found.fixed))


def screen(made: tuple[Check, ...]) -> Screen:
    """The lines, and how many of them need somebody."""
    rows = tuple(
        (one.level, one.what, f"{one.finding} → {one.to_do}" if one.to_do else one.finding)
        for one in made
    )
    errors = sum(one.level == ERROR for one in made)
    warnings = sum(one.level == WARNING for one in made)
    summary = "Nothing is wrong." if not errors else f"{errors} wrong."
    if warnings:
        summary += f" {warnings} to look at."
    return Screen(headings=("state", "check"), rows=rows, below=(summary,), long_hints=True)


def exit_status(made: tuple[Check, ...]) -> int:
    """1 with an error, 0 with warnings at most."""
    return 1 if any(one.level == ERROR for one in made) else 0


# -- this machine ---------------------------------------------------------------------------------


def _python(found: Found) -> Check:
    said = ".".join(map(str, found.python))
    if found.python[:2] < OLDEST_PYTHON:
        return Check(ERROR, "Python", said, "Python 3.11 or newer is needed")
    return Check(OK, "Python", f"{said}, {found.build}")


def _home(found: Found) -> list[Check]:
    if found.home_problem:
        return [Check(ERROR, "home", found.home_problem, "choose another: --home DIR")]
    if not found.home_exists:
        return [Check(OK, "home", f"{found.home} is made at the first start")]
    if found.foreign:
        what = f"{_some(found.foreign)} in {found.home} belongs to another user"
        return [Check(ERROR, "home", what, "give it back: chown, or choose another --home")]
    if found.open_to_others:
        what = f"{_some(found.open_to_others)} in {found.home} can be read by other users"
        return [Check(ERROR, "home", what, "switchboard doctor --fix")]
    return [Check(OK, "home", f"{found.home}, closed to other users")]


def _config(found: Found) -> Check:
    if found.config_problem:
        return Check(ERROR, "config", found.config_problem, "mend it, or move it away")
    if found.bot_problem:
        return Check(ERROR, "config", found.bot_problem)
    if not found.bot_name:
        return Check(WARNING, "config", "no bot is set up", "switchboard setup, or try it: switchboard")
    if found.is_practice:
        return Check(OK, "config", "no bot is set up; this is about the practice chat")
    return Check(OK, "config", f"bot {found.bot_name}")


def _disk(found: Found) -> list[Check]:
    if found.disk_free is None:
        return []
    free = f"{found.disk_free / 1_000_000:,.0f} MB are free".replace(",", " ")
    if found.disk_free < HARDLY_ANY_DISK:
        return [Check(ERROR, "disk", free, "make room: nothing can be accepted without it")]
    if found.disk_free < LITTLE_DISK:
        return [Check(WARNING, "disk", free, "make room")]
    return [Check(OK, "disk", free)]


# -- the bot --------------------------------------------------------------------------------------


def _token(found: Found) -> list[Check]:
    if found.token == "refused":
        return [Check(
            ERROR, "token", "Telegram refused it",
            "get a new one from @BotFather, then: switchboard setup",
        )]
    if found.token != "ok":
        return []
    made = [Check(OK, "token", f"it is @{found.username}" if found.username else "accepted")]
    if found.wants_topics and not found.topics:
        made.append(Check(
            WARNING, "bot switches", "Threaded Mode is off, so only one process can use the bot",
            "switch it on in @BotFather: Bot Settings, Threads",
        ))
    else:
        made.append(Check(OK, "bot switches", "threads are possible"))
    return made


def _owner(found: Found) -> Check:
    if not found.owner_id:
        return Check(WARNING, "owner", "nobody yet, so it listens to nobody", "switchboard setup")
    return Check(OK, "owner", f"{found.owner_name or 'user'} {found.owner_id}")


def _chat(found: Found) -> list[Check]:
    if found.chat_problem is None:
        return []
    if found.chat_problem:
        return [Check(
            ERROR, "chat", found.chat_problem,
            "send the bot /start in it, or add the bot to the group and make it an administrator",
        )]
    return [Check(OK, "chat", "the bot is in it")]


def _clock(found: Found) -> list[Check]:
    if found.skew_s is None:
        return []
    if abs(found.skew_s) > SKEWED_S:
        way = "ahead" if found.skew_s > 0 else "behind"
        what = f"this machine is {abs(found.skew_s):.0f} s {way} of the time at Telegram"
        what = what.replace("behind of", "behind")
        return [Check(WARNING, "clock", what, "switch on time synchronisation")]
    return [Check(OK, "clock", "right")]


def _network(found: Found) -> list[Check]:
    if not found.token:
        return []
    through = ", ".join(f"{name}={where}" for name, where in found.proxies.items())
    if found.token == "unreachable":
        to_do = f"is the proxy right? {through}" if through else "look at the connection and the firewall"
        what = f"{found.api_root}: {found.network_problem}"
        return [Check(ERROR, "network", what, to_do)]
    way = f", through {through}" if through else ""
    return [Check(OK, "network", f"{found.api_root} answers{way}")]


def _webhook(found: Found) -> list[Check]:
    if found.webhook is None:
        return []
    if found.webhook:
        return [Check(
            ERROR, "webhook", f"its messages go to {found.webhook}",
            "remove it there, or with: switchboard setup",
        )]
    return [Check(OK, "webhook", "none")]


def _conflict(found: Found) -> list[Check]:
    if found.conflict is None:
        return []
    if found.conflict:
        return [Check(
            ERROR, "other readers", "another program reads this bot; messages may go astray",
            "stop it, or give it a bot of its own",
        )]
    return [Check(OK, "other readers", "none seen")]


# -- what runs ------------------------------------------------------------------------------------


def _leader(found: Found) -> Check:
    match found.leader:
        case "live":
            return Check(OK, "processes", f"process {found.leader_pid} talks to Telegram and answers")
        case "starting" if not found.owner_id:
            return Check(OK, "processes", f"process {found.leader_pid} waits for its code to be sent to the bot")
        case "starting":
            return Check(OK, "processes", f"process {found.leader_pid} is starting to talk to Telegram")
        case "silent":
            return Check(
                ERROR, "processes", f"process {found.leader_pid} talks to Telegram and does not answer",
                f"look at it: switchboard events; the last resort is: kill {found.leader_pid}",
            )
        case "dead":
            return Check(
                WARNING, "processes", f"process {found.leader_pid} is dead and nobody took over",
                "start one: switchboard",
            )
    return Check(OK, "processes", "none runs")


def _versions(found: Found) -> list[Check]:
    other = {pid: build for pid, build in found.builds.items() if build and build != found.build}
    if not found.builds:
        return []
    if other:
        which = ", ".join(f"{pid} runs {build}" for pid, build in sorted(other.items()))
        return [Check(WARNING, "versions", f"{which}; this is {found.build}", "start them again")]
    return [Check(OK, "versions", f"all {len(found.builds)} processes run {found.build}")]


def _databases(found: Found) -> Check:
    if found.damaged:
        which = "; ".join(f"{name}: {problem}" for name, problem in found.damaged)
        return Check(
            ERROR, "databases", which,
            "end every process, keep a copy, and move the file away; an inbox is moved by itself",
        )
    return Check(OK, "databases", f"{found.databases} sound" if found.databases else "none yet")


def _sockets(found: Found) -> list[Check]:
    if not found.stale_sockets:
        return []
    what = f"{_some(found.stale_sockets)} left behind"
    return [Check(WARNING, "sockets", what, "switchboard doctor --fix")]


def _some(names: tuple[str, ...]) -> Any:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
