"""Console: messages of the thread appear in the terminal, and what is typed there is answered in the thread.

The only part that knows prompt_toolkit, and imported only in this mode. Whatever is printed while
somebody types goes above the line that is being typed, which survives. A message is done when it was
shown, so that one whose showing was cut off is simply shown again.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout

from actors import instance_texts as texts
from actors.clock import said_time, wall_ms
from actors.modes import Prompt, Show
from actors.plans.console_text import safe, shown, wrapped
from actors.plans.session_events import Traits
from stores.private_files import create_private_file, replace_private_file

PROMPT, CONTINUED = "> ", "  "
LONGEST_HISTORY = 512 * 1_024
"""Bytes; a longer one begins with its newer half."""


class ConsoleMode:
    """The terminal of this process as what sits behind its thread."""

    traits = Traits(repeats=True, stoppable=False, announces_queue=False, shows_everything=True)

    def __init__(self, history: Path) -> None:
        self._output = Vt100_Output.from_pty(sys.stdout)
        # No questions to the terminal about its cursor: not every one answers them.
        self._output.enable_cpr = False
        self._line: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            enable_suspend=True,
            history=PrivateHistory(history),
            prompt_continuation=CONTINUED,
            reserve_space_for_menu=0,
            key_bindings=_keys(),
            output=self._output,
        )
        self._printing: set[asyncio.Task[None]] = set()
        self._is_open = False

    # -- what the session asks ------------------------------------------------------------------

    async def run(self, prompt: Prompt, show: Show) -> tuple[str, ...]:
        """Show the message; the answer, if there is one, is typed whenever somebody likes."""
        now = wall_ms()
        time = said_time(prompt.sent_at or now, now)
        await self._print(shown(prompt.text, prompt.remark, time, self._columns))
        return ()

    def stop(self) -> None:
        """There is never anything to stop."""

    async def clear(self, token: str) -> None:
        """Nothing is ever left."""

    async def close(self) -> None:
        """The conversation is ended by whoever began it."""

    # -- the conversation -----------------------------------------------------------------------

    async def converse(self, typed: Callable[[str], None]) -> None:
        """Hand over what is typed, until Ctrl-C, Ctrl-D on an empty line, or `leave`."""
        self._is_open = True
        try:
            with patch_stdout(raw=True):
                self.write(wrapped(texts.CONSOLE_BEGINS, self._columns))
                while True:
                    # Signals belong to the whole process, and are heeded already.
                    text = await self._line.prompt_async(
                        set_exception_handler=False, handle_sigint=False
                    )
                    if text.strip():
                        typed(text)
        except (EOFError, KeyboardInterrupt):
            return
        finally:
            self._is_open = False

    async def leave(self) -> None:
        """End the typing and give the terminal back as it was."""
        if self._line.app.is_running:
            self._line.app.exit(exception=EOFError)
        if self._printing:
            await asyncio.wait(set(self._printing), timeout=0.2)

    def write(self, line: str) -> None:
        """Print a line above what is being typed, now or as soon as that is possible."""
        self._beside(self._print(safe(line) + "\n"))

    @property
    def _columns(self) -> int:
        return self._output.get_size().columns

    async def _print(self, text: str) -> None:
        await run_in_terminal(lambda: self._emit(text))

    def _emit(self, text: str) -> None:
        # The prompt has switched it off, for what it draws itself.
        self._output.enable_autowrap()
        self._output.write_raw(text.replace("\n", "\r\n"))
        self._output.flush()

    def _beside(self, printing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(printing)
        self._printing.add(task)
        task.add_done_callback(self._printing.discard)


class PrivateHistory(FileHistory):
    """What was typed before, for nobody but its user, and not without bound."""

    def __init__(self, path: Path) -> None:
        create_private_file(path)
        if path.stat().st_size > LONGEST_HISTORY:
            newer = path.read_bytes()[-LONGEST_HISTORY // 2 :]
            # From the beginning of an entry on.
            replace_private_file(path, newer[max(0, newer.find(b"\n# ")) :])
        super().__init__(str(path))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
