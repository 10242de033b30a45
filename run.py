#!/usr/bin/env python3
"""Switchboard: one Telegram bot, many live processes, a thread for each.

The only place where the parts are put together. Nothing heavy is imported before it is known what
is wanted, and the launcher is forked before any thread, event loop or socket exists.
"""

from __future__ import annotations

import os
import signal
import sys

if os.path.basename(sys.argv[0]) in ("run.py", "switchboard"):
    # Before all other imports: until `main` there is nothing to end, and a trace of imports tells nobody
    # anything.
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(0))

import argparse
import contextlib
import dataclasses
import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actors.command_line import default_name, numbered, parse, program_name, shown_line
from actors.end_signals import Interrupted, heeded, interrupt
from actors.stack_room import with_room
from actors.standard_streams import fill_standard_streams

if TYPE_CHECKING:
    from actors.bot_choice import ChosenBot
    from actors.conversation import Conversation
    from actors.parts import Parts
    from actors.launcher import LauncherHandle
    from actors.modes import Mode
    from actors.practice_place import PracticePlace
    from actors.sandbox.launch import PracticeBeginning
    from actors.thread import Thread
    from stores.config import Config
    from stores.database import Database
    from stores.home import Home

OK, USAGE, BAD_CONFIGURATION, INTERNAL = 0, 2, 4, 5

REEXECUTED = "SWITCHBOARD_REEXECUTED"
NEEDED = ("thespian", "telegram", "marshmallow", "loguru", "psutil", "sqlalchemy", "platformdirs")

TREE_MODULES = (
    # First: it sets what Thespian reads at import.
    "actors.transport",
    "thespian.system.multiprocTCPBase",
    "actors.leader",
    "actors.telegram_gateway",
    "actors.target_provisioner",
    "actors.follower_registry",
    "actors.follower_mutation",
    "actors.prune_supervisor",
    "actors.inbox",
    "actors.poller",
)
"""What the launcher imports once, for every tree it will fork."""

SHARED_MODULES = (
    "asyncio",
    "sqlite3",
    "sqlalchemy.dialects.sqlite",
    "stores.bindings",
    "stores.bus_settings",
    "stores.deliveries",
    "actors.bus_thread",
    "actors.instance",
    "actors.modes.command",
    "actors.modes.echo",
)
"""What is imported before the launcher is forked."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point of `python run.py` and of the console script; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    fill_standard_streams()
    _reexecute(given)
    options, command = parse(given, _is_terminal())
    for number in heeded():
        signal.signal(number, interrupt)
    try:
        return _perform(options, command)
    except Interrupted:
        return OK
    except BrokenPipeError:
        # Whoever read us is gone; what is buffered must not raise again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return OK
    except Exception as failure:
        return _explain(failure)


def _is_terminal() -> bool:
    """Whether somebody can read what is printed here and type."""
    streams = (sys.stdin, sys.stdout)
    return all(stream is not None and stream.isatty() for stream in streams)


def _is_shown(stream: Any) -> bool:
    return stream is not None and stream.isatty()


def _perform(options: argparse.Namespace, command: list[str] | None) -> int:
    if not _has_packages():
        print(
            "Switchboard's packages are not installed here. In its directory: "
            "python3 -m venv .venv && .venv/bin/pip install .",
            file=sys.stderr,
        )
        return BAD_CONFIGURATION
    match options.command:
        case "status":
            return show_status(options)
        case "practice":
            return serve_practice(options)
        case "shell" | "doctor" | "events" | "logs" | "service":
            return look_after(options)
        case "setup":
            return set_up(options)
        case "version":
            from messages.bus_protocol import VERSION

            print(f"switchboard {VERSION}")
            return OK
    _want_program(command)
    _want_open_files()
    return run(options, command)


def _want_program(command: list[str] | None) -> None:
    """A slip of the finger is told here, and not with the first message."""
    from shutil import which

    from actors import instance_texts as texts
    from actors.bot_choice import ChoiceRefused

    if command and which(command[0]) is None:
        raise ChoiceRefused(USAGE, texts.NO_PROGRAM.format(program=command[0]))


def _want_open_files() -> None:
    from actors.bot_choice import ChoiceRefused
    from actors.open_files import provide

    too_few = provide()
    if too_few is not None:
        raise ChoiceRefused(BAD_CONFIGURATION, too_few)


def _explain(failure: Exception) -> int:
    """One sentence for the terminal; what nobody foresaw goes to the log with its trace."""
    from actors.bot_choice import ChoiceRefused
    from actors.event_log import log_event, log_path, redacted
    from actors.pairing_failure import PairingFailed
    from actors.sandbox.failure import PracticeChatFailed
    from stores.errors import StoreError

    if isinstance(failure, (ChoiceRefused, PairingFailed)):
        sentence, status = str(failure), failure.status
    elif type(failure).__name__ == "FaultUnknown":
        # By its name: what raises it is the import of its module.
        sentence, status = str(failure), USAGE
    elif isinstance(failure, (StoreError, PracticeChatFailed)):
        sentence, status = str(failure), BAD_CONFIGURATION
    else:
        log_event("run.failed", "ERROR", exception=True)
        log = log_path()
        reason = f"See {log}" if log else f"{failure}"
        sentence, status = f"Something failed ({type(failure).__name__}). {reason}", INTERNAL
    with contextlib.suppress(OSError):
        print(redacted(sentence), file=sys.stderr)
    return status


# -- the environment -------------------------------------------------------------------------------


def _reexecute(arguments: list[str]) -> None:
    """Go on in `.venv` beside this file, when it exists and this is no environment that serves."""
    here = Path(__file__).resolve()
    environment = here.parent / ".venv"
    python = environment / "bin" / "python"
    again = os.environ.pop(REEXECUTED, None)
    if again or not python.exists() or Path(sys.prefix).resolve() == environment.resolve():
        return
    if sys.prefix != sys.base_prefix and _has_packages():
        # Another environment, entered on purpose.
        return
    os.environ[REEXECUTED] = "1"
    os.execv(python, [str(python), str(here), *arguments])


def _has_packages() -> bool:
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in NEEDED)


# -- run -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Chosen:
    """What an instance is to be, once options, environment and configuration are understood."""

    options: argparse.Namespace
    command: list[str] | None
    directory: str
    name: str
    home: Home
    bot: ChosenBot
    is_practice: bool


def run(options: argparse.Namespace, command: list[str] | None) -> int:
    """Be an instance until a signal or a reason to end."""
    # Until `_preload`: what is imported is no garbage, and looking for some takes a tenth of the start.
    gc.disable()

    from actors import event_log
    from actors.bot_choice import remember
    from actors.launcher import Launcher
    from stores.config import Config
    from stores.home import Home
    from stores.token_variables import variables

    directory = _current_directory()
    home = Home(options.home).ensure()
    event_log.open_log(home.logs)
    event_log.route_standard_logging()
    config = Config(home.config)
    bot, is_practice = _choose(options, home, config)
    beginning = _begin_practice(home, options.sandbox_port) if is_practice else None
    for secret in (bot.token, bot.token.partition(":")[2]):
        event_log.redact(secret)
    if not is_practice and not options.no_save:
        remember(config, bot, variables())
    home.ensure(bot.bot_id)
    name = options.name or default_name(directory, command, options.mode)
    chosen = Chosen(options, command, directory, name, home, bot, is_practice)
    _preload()
    leads_at_once = options.role != "follower" and not _somebody_leads(home, bot.bot_id)
    launcher = Launcher.fork(TREE_MODULES, home.logs / "tree.output", leads_at_once, _rehearse)
    if options.verbose or not _is_shown(sys.stderr):
        from actors.events import shower

        # From here on, so that whoever cannot start says why in one sentence and no more.
        event_log.mirror_to(shower("DEBUG" if options.verbose else "WARNING"))
    try:
        status = _run(chosen, launcher, beginning)
    finally:
        launcher.close()
        if not launcher.reap():
            launcher.kill()
    if status == BAD_CONFIGURATION and bot.is_new:
        # A token that never worked must not stand in the way of the practice chat.
        config.forget_bot(bot.name)
    return status


def _somebody_leads(home: Home, bot_id: int) -> bool:
    """A first guess, so that the tree's imports begin early where they are needed."""
    from actors.clock import boot_ms
    from actors.plans.election import Standing, standing
    from stores.bus_schema import METADATA
    from stores.database import Database
    from stores.lease import Lease
    from stores.process_birth import Liveness, liveness

    path = home.bus_database(bot_id)
    if not path.exists():
        return False
    # Opened and closed before the fork: no connection crosses it.
    database = Database(path, METADATA, "bus")
    try:
        record = Lease(database).read()
    finally:
        database.close()
    owner = record.owner
    is_dead = owner is not None and (
        liveness(owner.pid, owner.boot_id, owner.birth) is Liveness.DEAD
    )
    return standing(record, "", is_dead, boot_ms()) is Standing.FRESH


def _rehearse() -> None:
    """What a tree does first, done by the launcher of one of the next to lead, while nobody waits."""
    from stores.rehearsal import rehearse

    rehearse()


def _preload() -> None:
    """Import what main and the tree both use, so that the launcher shares these pages with main."""
    from importlib import import_module

    for name in SHARED_MODULES:
        import_module(name)
    gc.collect()
    # Looking for garbage among modules would copy their pages in both processes.
    gc.freeze()
    gc.enable()


def _choose(options: argparse.Namespace, home: Home, config: Any) -> tuple[ChosenBot, bool]:
    from actors.bot_choice import PRACTICE, ChosenBot, Wanted, choose_bot
    from actors.sandbox.credentials import OWNER_ID, practice_token
    from stores.token_variables import GIVEN, keep, take, variables

    wanted = Wanted(
        options.bot, options.token_file, options.api_root, options.owner, options.chat
    )
    # Nothing that is started from here has any use for a token.
    take(os.environ, (GIVEN, *config.token_variables()))
    bot = choose_bot(config, wanted, variables())
    if bot is not None:
        if options.no_save:
            keep(GIVEN, bot.token)
        return bot, False
    token = practice_token(home.practice)
    return ChosenBot(PRACTICE, token, None, OWNER_ID, OWNER_ID, is_new=False), True


def _current_directory() -> str:
    from actors import instance_texts as texts
    from actors.bot_choice import ChoiceRefused

    try:
        return os.getcwd()
    except OSError:
        raise ChoiceRefused(USAGE, texts.DIRECTORY_GONE) from None


def _begin_practice(home: Home, port: int | None) -> PracticeBeginning | None:
    """It takes as long to start as all that is imported here meanwhile."""
    from actors.sandbox.launch import begin_practice_chat

    return begin_practice_chat(home.path, _practice_command(home.path, port))


def _run(chosen: Chosen, launcher: LauncherHandle, beginning: PracticeBeginning | None) -> int:
    import asyncio

    from actors import instance_texts as texts
    from actors.instance import Instance
    from actors.terminal import Terminal
    from stores.bus_schema import METADATA
    from stores.database import Database

    terminal = Terminal()
    with contextlib.ExitStack() as open_until_the_end:
        practice = None
        if chosen.is_practice:
            from actors.sandbox.launch import hold_practice_chat

            open_until_the_end.enter_context(hold_practice_chat(chosen.home.path))
            practice = _practice_place(chosen, beginning)
            terminal.tell(texts.NO_BOT.format(url=practice.address.url))
        database = Database(chosen.home.bus_database(chosen.bot.bot_id), METADATA, "bus")
        open_until_the_end.callback(database.close)
        parts, close_inbox = _compose(chosen, practice, launcher, database, terminal)
        open_until_the_end.callback(close_inbox)
        return with_room(asyncio.run, Instance(parts).run())


def _practice_place(chosen: Chosen, beginning: PracticeBeginning | None) -> PracticePlace:
    from actors.practice_place import PracticePlace
    from actors.sandbox.launch import PracticeAddress, ensure_practice_chat

    home, port = chosen.home.path, chosen.options.sandbox_port

    def start(beginning: PracticeBeginning | None = None) -> PracticeAddress:
        return ensure_practice_chat(home, port, _practice_command(home, port), beginning)

    return PracticePlace(chosen.home.practice / "port.json", start(beginning), start)


def _practice_command(home: Path, port: int | None) -> list[str]:
    command = [sys.executable, str(Path(__file__).resolve()), "practice", "--home", str(home)]
    return command if port is None else [*command, "--sandbox-port", str(port)]


def _compose(
    chosen: Chosen,
    practice: PracticePlace | None,
    launcher: LauncherHandle,
    database: Database,
    terminal: Any,
) -> tuple[Parts, Callable[[], None]]:
    from actors import instance_texts as texts
    from actors.bot_settings import BotSettings, lasting
    from actors.bus_thread import BusThread
    from actors.clock import wall_ms
    from actors.event_log import bind
    from actors.follower import Follower
    from actors.parts import Parts
    from actors.pairing_desk import Counter, PairingDesk
    from actors.plans.election import Role
    from actors.plans.follower import FollowerPlan
    from actors.plans.place import shown_directory
    from actors.plans.thread_texts import stopped
    from actors.session import Session
    from stores.bindings import Bindings
    from stores.bus_settings import BusSettings
    from stores.config import Config
    from stores.deliveries import open_inbox
    from stores.identities import Identities, base_identity
    from stores.lease import Lease, Owner
    from stores.pairing import Pairing
    from stores.process_birth import ProcessBirth, liveness

    options, home, bot = chosen.options, chosen.home, chosen.bot
    birth = ProcessBirth.current()
    owner = Owner(birth.pid, birth.boot_id, birth.wire, f"{birth.pid}:{wall_ms()}")
    bind(instance_id=owner.instance_id)
    identities = Identities(database)
    identity = identities.claim(
        base_identity(bot.bot_id, str(home.path), chosen.directory, chosen.name),
        owner,
        liveness,
        wall_ms(),
        program=program_name(chosen.command, options.mode),
        directory=chosen.directory,
        name=chosen.name,
        command=shown_line(options, chosen.command),
    )
    inbox = open_inbox(home.inbox_database(bot.bot_id, identity.binding_key), wall_ms())
    if inbox.evidence is not None:
        terminal.tell(texts.INBOX_DAMAGED.format(path=inbox.evidence))
    secrets = {"token": bot.token, "key": bot.token.partition(":")[2]}

    async def admit(*delivery: Any) -> Any:
        return await session.admit(*delivery)

    plan = FollowerPlan(
        instance_id=owner.instance_id,
        binding_key=identity.binding_key,
        thread_name=numbered(chosen.name, identity.shown_number),
        cwd=chosen.directory,
        pid=owner.pid,
        birth=owner.birth,
    )
    follower = Follower(plan, admit)
    thread = BusThread(follower)
    mode, conversation = _mode(
        chosen, identity.binding_key, thread, lambda: tuple(secrets.values())
    )
    session = Session(inbox.deliveries, mode, thread)
    follower.on_wish = session.wish
    user_home = os.path.realpath(os.path.expanduser("~"))
    bindings, bus_settings = Bindings(database), BusSettings(database)

    def bot_shown() -> str:
        if chosen.is_practice:
            return texts.PRACTICE_SHOWN
        facts = bus_settings.bot()
        return f"@{facts.username}" if facts is not None and facts.username else bot.name

    def joined() -> str | None:
        facts = None if chosen.is_practice else bus_settings.bot()
        if facts is None or not facts.username:
            return None
        owner = settings.owner_name()
        text = texts.JOINED_OWNER if owner else texts.JOINED
        return text.format(username=facts.username, owner=owner)

    def thread_name_of(instance_id: str) -> str | None:
        binding = bindings.by_instance(instance_id)
        return binding.thread_name if binding is not None else None

    pairing = Pairing(database)
    settings = BotSettings(
        lasting(home, bot, bool(options.cleanup)),
        bot,
        Config(home.config),
        pairing,
        practice=chosen.is_practice,
        saves=not options.no_save,
    )
    counter = Counter(
        terminal.tell, lambda: bot_shown().removeprefix("@"), with_picture=sys.stderr.isatty()
    )

    parts = Parts(
        owner=owner,
        binding_key=identity.binding_key,
        role=Role(options.role),
        settings=settings,
        tree_log=str(home.logs / "thespian.log"),
        bot_shown=bot_shown,
        joined=joined,
        launcher=launcher,
        lease=Lease(database),
        identities=identities,
        follower=follower,
        session=session,
        conversation=conversation,
        thread=thread,
        farewell=stopped(shown_directory(chosen.directory, user_home), identity.command),
        terminal=terminal,
        thread_name_of=thread_name_of,
        set_secret=lambda secret: secrets.update(bus=secret),
        pairing_desk=lambda: PairingDesk(pairing, counter, bot.chat_id or None),
        practice=practice,
    )
    return parts, inbox.deliveries.database.close


def _mode(
    chosen: Chosen, binding_key: str, thread: Thread, secrets: Callable[[], tuple[str, ...]]
) -> tuple[Mode, Conversation | None]:
    home, bot_id = chosen.home, chosen.bot.bot_id
    match chosen.options.mode:
        case "command":
            from actors.modes.command import CommandMode

            return CommandMode(chosen.command or (), home.runs(bot_id), secrets), None
        case "console":
            from actors.conversation import Conversation
            from actors.modes.console import ConsoleMode

            console = ConsoleMode(home.console_history(bot_id, binding_key))
            return console, Conversation(console, thread)
    from actors.modes.echo import EchoMode

    return EchoMode(), None


# -- the other commands ----------------------------------------------------------------------------


def show_status(options: argparse.Namespace) -> int:
    """Print who is there and what waits."""
    from actors.status import print_status

    return print_status(options)


def set_up(options: argparse.Namespace) -> int:
    """Connect a bot of one's own with its owner."""
    from actors import event_log
    from actors.launcher import Launcher
    from stores.config import Config
    from stores.home import Home
    from stores.token_variables import GIVEN, take

    home = Home(options.home).ensure()
    event_log.open_log(home.logs)
    event_log.route_standard_logging()
    config = Config(home.config)
    # Nothing that is started from here has any use for a token.
    take(os.environ, (GIVEN, *config.token_variables()))
    launcher = Launcher.fork(TREE_MODULES, home.logs / "tree.output", False)
    try:
        return _set_up(options, home, config, launcher)
    finally:
        launcher.close()
        if not launcher.reap():
            launcher.kill()


def _set_up(options: argparse.Namespace, home: Home, config: Config, launcher: LauncherHandle) -> int:
    from actors import setup_texts as texts
    from actors.bot_choice import Wanted
    from actors.pairing_texts import PAIRED, owner_shown
    from actors.setup import Counter, Setup
    from stores.token_variables import variables

    counter = Counter()
    wanted = Wanted(options.bot, options.token_file, options.api_root, None, options.chat)
    setup = Setup(home, wanted, options.new_owner, counter, variables())
    try:
        bot, needs_owner = setup.run()
        default = config.bot()
        is_default = default is not None and default.name == bot.name
        command = "switchboard" if is_default else f"switchboard --bot {bot.name}"
        if not needs_owner:
            owner = setup.owner_of(bot.known)
            counter.tell(texts.READY.format(bot=bot.identity.shown, owner=owner, command=command))
            return OK
        record = _pair(bot, home, launcher)
    except Interrupted:
        again = "switchboard setup" + (f" --bot {options.bot}" if options.bot else "")
        left = texts.LEFT_HALF_WAY if setup.has_saved else texts.LEFT
        counter.tell(left.format(command=again))
        raise
    owner = owner_shown(record.owner_id, record.owner_name)
    counter.tell(PAIRED.format(owner=owner, bot=bot.identity.shown))
    counter.tell(texts.DONE.format(command=command))
    return OK


def _pair(bot: Any, home: Home, launcher: LauncherHandle) -> Any:
    """Find the owner of the bot, and write it down."""
    import asyncio

    from actors.bot_choice import ChosenBot
    from actors.bot_settings import BotSettings, lasting
    from actors.bulletins import Bulletins
    from actors.clock import wall_ms
    from actors.pairing_desk import Counter, PairingDesk
    from actors.pairing_host import PairingHost
    from actors.terminal import Terminal
    from stores.bus_schema import METADATA
    from stores.config import Config
    from stores.database import Database
    from stores.lease import Lease, Owner
    from stores.pairing import Pairing
    from stores.process_birth import ProcessBirth

    home.ensure(bot.bot_id)
    birth = ProcessBirth.current()
    with contextlib.closing(Database(home.bus_database(bot.bot_id), METADATA, "bus")) as database:
        pairing, config = Pairing(database), Config(home.config)
        known = config.bots()[bot.name]
        chosen = ChosenBot(
            bot.name, bot.token, bot.api_root, known.owner_id or 0, known.chat_id or 0, False
        )
        settings = BotSettings(lasting(home, chosen, False), chosen, config, pairing)
        bulletins = Bulletins(Terminal(), lambda: bot.identity.shown)
        counter = Counter(print, lambda: bot.identity.username, sys.stdout.isatty())
        host = PairingHost(
            owner=Owner(birth.pid, birth.boot_id, birth.wire, f"{birth.pid}:{wall_ms()}"),
            lease=Lease(database),
            launcher=launcher,
            desk=PairingDesk(pairing, counter, known.chat_id),
            settings=settings.tree,
            tree_log=str(home.logs / "thespian.log"),
            bot_shown=bot.identity.shown,
            on_news=bulletins.hear,
        )
        record = asyncio.run(host.run())
        settings.adopt(record.owner_id or 0, record.chat_id or 0)
        return record


def look_after(options: argparse.Namespace) -> int:
    """The commands of operators, each with what it alone needs."""
    from stores.token_variables import GIVEN, take

    take(os.environ, (GIVEN,))
    match options.command:
        case "shell":
            from actors.shell import run_shell

            return run_shell(options)
        case "doctor":
            from actors.doctor import run_doctor

            return run_doctor(options)
        case "service":
            from actors.service import run_service

            return run_service(options, Path(__file__).resolve())
    from actors.events import print_events

    return print_events(options)


def serve_practice(options: argparse.Namespace) -> int:
    """Be the practice chat until nobody uses it any more."""
    # What is imported is no garbage.
    gc.disable()

    from actors.sandbox.server import serve

    gc.freeze()
    gc.enable()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    serve(Path(options.home), options.sandbox_port)
    return OK


if __name__ == "__main__":
    raise SystemExit(main())
