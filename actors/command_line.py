"""The command line: its options, what they mean together, and the help that teaches by example.

Imports nothing but the standard library and small pure texts, so that help and usage errors are instant.
"""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from actors import command_examples as examples
from actors.plans.shown_text import is_shown, one_line

COMMANDS = (
    "run", "setup", "status", "shell", "doctor", "events", "logs", "service", "practice", "version",
)
LONGEST_NAME = 128

HOME_HELP = "where everything is kept; default: $SWITCHBOARD_HOME, else the usual place for data"


def parse(
    arguments: Sequence[str], is_terminal: bool = False
) -> tuple[argparse.Namespace, list[str] | None]:
    """Options, and the command line after `--`; exits with 2 and a sentence for what is none.

    `is_terminal`: both standard streams are one, so that somebody can read and type.
    """
    before, command = list(arguments), None
    if "--" in before:
        at = before.index("--")
        before, command = before[:at], before[at + 1 :]
    if not before or before[0] not in (*COMMANDS, "-h", "--help", "--version"):
        before.insert(0, "run")
    parser = _parser()
    options, unknown = parser.parse_known_args(before)
    if unknown:
        parser.error(_what_is_wrong(options.command, unknown))
    if options.command == "run":
        _check_mode(parser, options, command, is_terminal)
    elif command is not None:
        parser.error(f"{options.command} takes no command line")
    return options, command


def _what_is_wrong(command: str, unknown: Sequence[str]) -> str:
    """A command was misspelled, or `--` was left out before the program that is to be run."""
    from difflib import get_close_matches

    first = unknown[0]
    if command != "run" or first.startswith("-"):
        return f"unrecognized arguments: {shlex.join(unknown)}"
    meant = get_close_matches(first, COMMANDS, 1)
    if meant:
        return f'there is no command "{first}"; is it {meant[0]}?'
    return f'there is no command "{first}". To run a program for each message: switchboard -- {shlex.join(unknown)}'


def _check_mode(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    command: list[str] | None,
    is_terminal: bool,
) -> None:
    if options.mode is None:
        without_command = "console" if is_terminal else "echo"
        options.mode = without_command if command is None else "command"
    if options.mode == "command" and not command:
        parser.error("mode command needs a command line: -- CMD ARG…")
    if options.mode != "command" and command is not None:
        parser.error(f"mode {options.mode} takes no command line")
    if options.mode == "console" and not is_terminal:
        parser.error("mode console needs a terminal to read from and to write to")
    if options.name is not None and not is_thread_name(options.name):
        parser.error(f"a thread name has 1 to {LONGEST_NAME} characters in one line")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="switchboard",
        description="One Telegram bot, many live processes, a thread for each.",
        epilog=examples.RUN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_const", const="version", dest="command")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_run(commands)
    _add_setup(commands)
    status = _add(commands, "status", "who is there, and what waits", examples.STATUS)
    status.add_argument("--json", action="store_true", help="for programs")
    status.add_argument("--watch", action="store_true", help="anew every second, until Ctrl-C")
    _add_bot(status)
    _add_bot(_add(commands, "shell", "look after threads and processes", examples.SHELL))
    doctor = _add(commands, "doctor", "what is wrong, and what to do about it", examples.DOCTOR)
    doctor.add_argument("--fix", action="store_true", help="put right what can safely be put right")
    _add_bot(doctor)
    events = _add(commands, "events", "what happened", examples.EVENTS)
    events.add_argument(
        "--level", choices=("debug", "info", "warning", "error"), default="debug",
        help="this one and what is worse",
    )
    logs = _add(commands, "logs", "what happened, as JSON lines", examples.LOGS)
    logs.add_argument("--path", action="store_true", help="tell where the file is")
    for reader in (events, logs):
        reader.add_argument("-f", "--follow", action="store_true", help="and go on, until Ctrl-C")
        reader.add_argument("-n", type=_count, default=50, metavar="N", help="how many (50)")
        reader.add_argument("--home", metavar="DIR", help=HOME_HELP)
    _add_service(commands)
    practice = _add(commands, "practice", "serve the practice chat (it is started by itself)", examples.PRACTICE)
    practice.add_argument("--home", required=True, metavar="DIR", help="where everything is kept")
    practice.add_argument("--sandbox-port", type=_port, metavar="N", help="where it listens")
    _add(commands, "version", "print the version", examples.VERSION)
    return parser


def _add(commands: Any, name: str, what: str, taught: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=taught,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _add_service(commands: Any) -> None:
    service = _add(
        commands, "service", "a process in the background that is always there", examples.SERVICE
    )
    service.add_argument("action", choices=("install", "status", "uninstall"))
    service.add_argument("--dry-run", action="store_true", help="print what would be written")
    _add_bot(service)


def _add_run(commands: Any) -> None:
    run_parser = commands.add_parser(
        "run",
        help="join the bot with this process (the default)",
        usage="switchboard [run] [options] [-- CMD ARG…]",
        epilog=examples.RUN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    run_parser.add_argument(
        "--role",
        choices=("auto", "leader", "follower"),
        default="auto",
        help="auto: lead when nobody does; leader: refuse to run otherwise; follower: never lead",
    )
    _add_bot(run_parser)
    run_parser.add_argument("--api-root", metavar="URL", help="another Bot API server")
    run_parser.add_argument(
        "--owner", type=_user, metavar="USER_ID", help="the only user it obeys"
    )
    run_parser.add_argument(
        "--chat", type=_chat, metavar="CHAT_ID", help="a group with topics; default: the owner's private chat"
    )
    run_parser.add_argument(
        "--no-save", action="store_true", help="do not keep the token that is given now"
    )
    run_parser.add_argument("--name", metavar="THREAD_NAME", help="default: DIRECTORY · PROGRAM")
    run_parser.add_argument(
        "--mode",
        choices=("console", "echo", "command"),
        help="what answers; default: command with -- CMD, else console in a terminal, else echo",
    )
    run_parser.add_argument(
        "--sandbox-port", type=_port, metavar="N", help="port of the practice chat"
    )
    run_parser.add_argument(
        "--verbose", action="store_true", help="show on standard error what is logged"
    )
    run_parser.add_argument(
        "--cleanup", action="store_true", help="delete the threads of processes that died"
    )


def _add_setup(commands: Any) -> None:
    setup = commands.add_parser(
        "setup",
        help="connect a bot of your own",
        epilog=examples.SETUP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_bot(setup)
    setup.add_argument("--api-root", metavar="URL", help="another Bot API server")
    setup.add_argument(
        "--chat", type=_chat, metavar="CHAT_ID", help="a group with topics; default: the owner's private chat"
    )
    setup.add_argument(
        "--new-owner", action="store_true", help="find a new owner for a bot that has one"
    )


def _add_bot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bot", metavar="NAME", help="which of your bots")
    parser.add_argument("--home", metavar="DIR", help=HOME_HELP)
    parser.add_argument("--token-file", metavar="FILE", help="a file with the bot's token")


def _user(text: str) -> int:
    return _number(text, 1, 2**52, "a Telegram user id")


def _chat(text: str) -> int:
    number = _number(text, -(2**52), 2**52, "a chat id")
    if number == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a chat id")
    return number


def _count(text: str) -> int:
    return _number(text, 0, 1_000_000, "a number of events")


def _port(text: str) -> int:
    return _number(text, 1, 65_535, "a port")


def _number(text: str, lowest: int, highest: int, what: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = lowest - 1
    if not lowest <= number <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return number


# -- names and lines made of it --------------------------------------------------------------------


def is_thread_name(name: str) -> bool:
    """One line of 1 to 128 characters that can be shown and stored."""
    return 0 < len(name) <= LONGEST_NAME and not name.isspace() and all(map(is_shown, name))


def program_name(command: Sequence[str] | None, mode: str = "echo") -> str:
    """The program behind the thread, as people call it; the mode where there is none."""
    return mode if command is None else PurePath(command[0]).name or command[0]


def default_name(directory: str, command: Sequence[str] | None, mode: str = "echo") -> str:
    """`api · claude`: the directory and the program."""
    place = PurePath(directory).name or directory
    name = f"{place} · {program_name(command, mode)}"
    return one_line(name)[:LONGEST_NAME]


def numbered(name: str, number: int) -> str:
    """The name of the second, third … process of a kind: `api · claude (2)`."""
    suffix = f" ({number})" if number > 1 else ""
    return name[: LONGEST_NAME - len(suffix)] + suffix


def shown_line(options: argparse.Namespace, command: Sequence[str] | None) -> str:
    """How to start this process again, for people; there is no secret in it."""
    words = ["switchboard"]
    if options.role != "auto":
        words += ["--role", options.role]
    # Not the address of the Bot API: a password may be in it, and the configuration remembers it.
    for name in ("bot", "home", "token_file", "owner", "chat", "name"):
        value = getattr(options, name)
        if value is not None:
            option, value = f"--{name.replace('_', '-')}", str(value)
            # A value that looks like an option is read as one when it stands alone.
            words += [f"{option}={value}"] if value.startswith("-") else [option, value]
    words += [flag for flag in ("--no-save", "--cleanup") if getattr(options, flag[2:].replace("-", "_"))]
    if options.mode == "echo":
        # In a terminal, where it is started again, it would not be echo by itself.
        words += ["--mode", "echo"]
    if command is not None:
        words += ["--", *command]
    return shlex.join(words)
