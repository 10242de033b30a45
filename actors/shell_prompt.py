"""The prompt of the shell: history, and completion of commands, threads, processes and numbers.

Imported only by an interactive shell. What completion looks up comes from the stores alone, so that a Tab
never waits for anybody.
"""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History, InMemoryHistory

from actors.bot_choice import ChoiceRefused
from actors.house import House
from actors.modes.console import PrivateHistory
from stores.errors import StoreError
from stores.token_variables import variables

PROMPT = "switchboard> "
OF_THREADS = frozenset({"close", "rename"})
OF_PROCESSES = frozenset({"disconnect", "reload"})


class ShellPrompt:
    """Reads lines in a terminal."""

    def __init__(self, history: Path, options: Any, commands: Sequence[str]) -> None:
        kept: History = InMemoryHistory()
        if history.parent.is_dir():
            kept = PrivateHistory(history)
        self._line: PromptSession[str] = PromptSession(
            PROMPT,
            history=kept,
            completer=ShellCompleter(options, commands),
            complete_while_typing=False,
            enable_suspend=True,
        )

    def read(self) -> str:
        """The next line; raises EOFError at Ctrl-D and KeyboardInterrupt at Ctrl-C."""
        return self._line.prompt()

    def ask(self, question: str) -> str:
        """An answer that is kept in no history."""
        return PromptSession[str](history=InMemoryHistory()).prompt(question)


class ShellCompleter(Completer):
    """What may come next in a line."""

    def __init__(self, options: Any, commands: Sequence[str]) -> None:
        self._options = options
        self._commands = tuple(commands)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """Words that begin as the last one does."""
        before = document.text_before_cursor
        done, word = _taken_apart(before)
        for candidate in self._candidates(done):
            if candidate.casefold().startswith(word.strip("\"'").casefold()):
                shown = shlex.quote(candidate) if not candidate.isalnum() else candidate
                yield Completion(shown, start_position=-len(word), display=candidate)

    def _candidates(self, done: Sequence[str]) -> Sequence[str]:
        if not done:
            return self._commands
        command, place = done[0].lower(), len(done)
        if command == "help" and place == 1:
            return self._commands
        if command == "events" and place == 1:
            return ("-f",)
        if command == "undelivered" and place == 1:
            return ("retry", "drop")
        try:
            return self._looked_up(command, place)
        except (StoreError, ChoiceRefused):
            return ()

    def _looked_up(self, command: str, place: int) -> Sequence[str]:
        with House.of(self._options, variables()) as house:
            if command in OF_THREADS and place == 1:
                return [one.binding.thread_name or "" for one in house.threads()]
            if command in OF_PROCESSES and place == 1:
                alive = [one for one in house.threads() if one.is_alive]
                return [str(one.identity.owner.pid) for one in alive if one.identity]
            if command == "undelivered" and place == 2:
                waiting = [row.update_id for row in house.dead()]
                waiting += [row.source_update_id for _, row in house.asked()]
                return [str(number) for number in waiting]
        return ()


def _taken_apart(before: str) -> tuple[list[str], str]:
    """The words that are finished, and the beginning of the next one as it was typed."""
    for quotation in ("", '"', "'"):
        try:
            words = shlex.split(before + quotation)
        except ValueError:
            continue
        if not quotation and (not before or before[-1].isspace()):
            return words, ""
        start = before.rfind(quotation) if quotation else before.rfind(" ") + 1
        return words[:-1], before[start:]
    return [], before
