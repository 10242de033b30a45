"""The shell for operators: an interactive prompt in a terminal, plain lines by pipe.

In a terminal a command that fails says so and the next one is waited for. By pipe the first one that fails
ends it, with its line number and exit status 1.
"""

import argparse
import signal
import sys
from typing import Any

from actors.event_log import redacted
from actors.plans.screen import Screen
from actors.plans.shell_targets import ShellError
from actors.shell_commands import ShellCommands
from stores.errors import StoreError
from stores.home import Home

OK, FAILED = 0, 1

GREETING = "Type help for what there is; Tab completes, Ctrl-D ends."
ENDING = ("exit", "quit")


def run_shell(options: argparse.Namespace) -> int:
    """Read and carry out commands; returns the exit status."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return _converse(options)
    return _read_all(options)


def _read_all(options: argparse.Namespace) -> int:
    from actors.screen import show

    commands = ShellCommands(options, show)
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip() in ENDING:
            break
        try:
            commands.run(line)
        except (ShellError, StoreError) as failure:
            print(redacted(f"line {number}: {failure}"), file=sys.stderr)
            return FAILED
    return OK


def _converse(options: argparse.Namespace) -> int:
    from actors.screen import show
    from actors.shell_prompt import ShellPrompt

    # Ctrl-C ends what is under way, and not the shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    commands = ShellCommands(options, show, confirm=lambda question: _agrees(prompt, question))
    prompt = ShellPrompt(Home(options.home).shell_history, options, tuple(commands.commands()))
    show(Screen(above=(GREETING,)))
    while True:
        try:
            line = prompt.read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return OK
        if line.strip() in ENDING:
            return OK
        try:
            commands.run(line)
        except (ShellError, StoreError) as failure:
            show(Screen(above=(redacted(str(failure)),)), sys.stderr)
        except KeyboardInterrupt:
            show(Screen(above=("Given up. What was asked for may happen all the same.",)), sys.stderr)


def _agrees(prompt: Any, question: str) -> bool:
    try:
        return prompt.ask(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        return False
