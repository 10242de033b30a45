"""Bulletins: what the terminal is told about the bot, each trouble once, and once that it is over."""

from collections.abc import Callable, Mapping
from typing import Any

from actors import instance_texts as texts
from actors.plans.call_result import TOKEN_OF_ANOTHER_BOT
from actors.terminal import Terminal
from messages.texts import TOPICS_OFF_PRIVATE

CONFLICTS = {"foreign-poller": texts.POLL_CONFLICT, "webhook": texts.WEBHOOK}


class Bulletins:
    """What the tree reports, as sentences."""

    def __init__(self, terminal: Terminal, bot_shown: Callable[[], str]) -> None:
        self._terminal = terminal
        self._bot_shown = bot_shown
        self._standing: dict[str, str] = {}

    def hear(self, name: str, body: Mapping[str, Any], in_private: bool = True) -> None:
        """A report; `in_private`: threads are made in a private chat, so they are the bot's matter."""
        match name:
            case "registration-refused":
                self.refused(str(body.get("text", "")))
            case "token-refused":
                other = body.get("text") == TOKEN_OF_ANOTHER_BOT
                self._stand("token", texts.TOKEN_OF_ANOTHER_BOT if other else texts.TOKEN_REFUSED_LATER)
            case "token-accepted":
                self._settle("token", texts.TOKEN_ACCEPTED)
            case "poll-conflict" if body.get("cause") == "solved":
                self._settle("poll", texts.POLL_CONFLICT_SOLVED)
            case "poll-conflict":
                self._stand("poll", CONFLICTS.get(str(body.get("cause")), texts.POLL_CONFLICT))
            case "unreachable":
                self._stand("network", texts.UNREACHABLE)
            case "proven":
                self._settle("network")
            case "bot" if in_private and not body.get("topics"):
                self._stand("threads", texts.THREADED_MODE_OFF)
            case "bot":
                self._settle("threads", texts.THREADED_MODE_ON)

    def refused(self, text: str) -> None:
        """The own thread was refused."""
        if text == TOPICS_OFF_PRIVATE:
            self._stand("threads", texts.THREADED_MODE_OFF)
            return
        sentence = text if text.endswith((".", "!", "?")) else f"{text}."
        again = "" if text.endswith(texts.CONTINUES) else texts.TRIES_AGAIN
        self._terminal.tell_once(texts.REGISTRATION_REFUSED.format(text=sentence) + again)

    def followed(self) -> None:
        """The own thread is there, so there are threads again."""
        self._settle("threads")

    def _stand(self, trouble: str, text: str) -> None:
        if self._standing.get(trouble) != text:
            self._standing[trouble] = text
            self._terminal.tell(text.format(bot=self._bot_shown()))

    def _settle(self, trouble: str, text: str = "") -> None:
        if self._standing.pop(trouble, None) is not None and text:
            self._terminal.tell(text.format(bot=self._bot_shown()))
