"""`service`: one process that is always there, kept by systemd or launchd; installs, asks, and removes.

Where the system's own command cannot be used, as in a container, the file is written all the same and the
commands are told. There is no token in the file: the process finds its bot in the configuration.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from actors.bot_choice import Wanted, choose_bot, wanted_name
from actors.plans.screen import Screen
from actors.plans.service_file import Service, System, by_hand, command, service_name, told
from stores.config import Config
from stores.home import Home
from stores.private_files import replace_private_file
from stores.token_variables import GIVEN, variables

OK, FAILED, BAD_CONFIGURATION = 0, 1, 4

COMMAND_WITHIN_S = 30.0


def run_service(options: argparse.Namespace, program: Path) -> int:
    """Do what was asked; returns the exit status."""
    service, file = _service(options, program)
    match options.action:
        case "install":
            return _install(options, service, file)
        case "status":
            return _status(service, file)
    return _uninstall(options, service, file)


def _service(options: argparse.Namespace, program: Path) -> tuple[Service, Path]:
    home = Home(options.home)
    # A name that could mean a path is no name of a bot.
    bot = wanted_name(Wanted(options.bot), variables())
    chosen_home = str(home.path) if options.home or os.environ.get("SWITCHBOARD_HOME") else None
    is_mac = sys.platform == "darwin"
    service = Service(
        system=System.LAUNCHD if is_mac else System.SYSTEMD,
        name=service_name(bot),
        command=command(sys.executable, str(program), bot, chosen_home),
        directory=str(Path.home()),
        path=os.environ.get("PATH") or os.defpath,
        log=str(home.logs / "service.log"),
    )
    if is_mac:
        return service, Path.home() / "Library" / "LaunchAgents" / service.file_name
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return service, Path(config) / "systemd" / "user" / service.file_name


def _install(options: argparse.Namespace, service: Service, file: Path) -> int:
    if options.dry_run:
        print(f"# {file}")
        print(service.text(), end="")
        return OK
    home = Home(options.home).ensure()
    problem = _missing_bot(options, home)
    if problem:
        _show(told(problem), sys.stderr)
        return BAD_CONFIGURATION
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_private_file(file, service.text().encode())
    commands = service.starting(os.getuid(), str(file))
    failed = _run_all(commands)
    if failed:
        _show(told(f"Written: {file}", failed, "Where that is possible, start it with:"))
        print(by_hand(commands))
        return OK
    _show(told(f"Written: {file}", "It runs, and is started again at every login.", *_lingering(service)))
    return OK


def _missing_bot(options: argparse.Namespace, home: Home) -> str:
    """Why a process without this terminal would not find the bot; empty when it would."""
    config = Config(home.config)
    wanted = Wanted(options.bot, None)
    without = {name: value for name, value in variables().items() if name != GIVEN}
    bot = choose_bot(config, wanted, without)
    if bot is None:
        return "No bot is set up, and a service needs one. First: switchboard setup"
    known = config.bot(bot.name)
    if known is not None and known.token.startswith("$"):
        return (
            f"The token of {bot.name} is taken from {known.token}, which a service does not have. "
            "Set it up with the token itself: switchboard setup"
        )
    return ""


def _status(service: Service, file: Path) -> int:
    if not file.exists():
        _show(told(f"Not installed: {file} is not there."))
        return FAILED
    if not _is_usable(service):
        first = service.asking(os.getuid())
        _show(told(f"Installed: {file}", "Whether it runs cannot be asked here. Where it can be:"))
        print(by_hand((first,)))
        return OK
    runs = not _run_all((service.asking(os.getuid()),))
    _show(told(f"Installed: {file}", "It runs." if runs else "It does not run."))
    return OK if runs else FAILED


def _uninstall(options: argparse.Namespace, service: Service, file: Path) -> int:
    if not file.exists():
        _show(told(f"Not installed: {file} is not there."))
        return OK
    commands = service.ending(os.getuid())
    if options.dry_run:
        print(f"# would be removed: {file}")
        print(by_hand(commands))
        return OK
    failed = _run_all(commands)
    with contextlib.suppress(FileNotFoundError):
        file.unlink()
    _show(told(f"Removed: {file}. Threads and messages stay."))
    if failed:
        _show(told(failed, "If it runs somewhere, stop it there with:"))
        print(by_hand(commands))
    return OK


def _is_usable(service: Service) -> bool:
    """Whether the system's command can reach what looks after services."""
    if shutil.which(service.asking(0)[0]) is None:
        return False
    if service.system is System.LAUNCHD:
        return True
    return not _run_all((("systemctl", "--user", "show-environment"),))


def _run_all(commands: Sequence[Sequence[str]]) -> str:
    """Run them; the first failure as a sentence, empty when all went well."""
    for one in commands:
        try:
            done = subprocess.run(
                list(one),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=COMMAND_WITHIN_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as failure:
            return f"{one[0]} cannot be used here ({type(failure).__name__})."
        if done.returncode:
            said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0]
            return f"{one[0]} cannot be used here: {said}"
    return ""


def _lingering(service: Service) -> tuple[str, ...]:
    if service.system is System.LAUNCHD:
        return ()
    return ("To keep it without a login: loginctl enable-linger",)


def _show(screen: Screen, stream: TextIO | None = None) -> None:
    from actors.screen import show

    show(screen, stream)
