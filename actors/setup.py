"""`setup`: from a token to a bot that obeys one person, asking only for what it cannot find out.

Nothing is written before Telegram has accepted the token, nothing is replaced before it was said, and the
present owner is obeyed until there is another one.
"""

import contextlib
import dataclasses
import getpass
import os
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from actors import instance_texts
from actors import setup_texts as texts
from actors.bot_check import BotCheck, BotIdentity, TelegramUnreachable, TokenRefused
from actors.bot_choice import (
    BAD_CONFIGURATION,
    PRACTICE,
    USAGE,
    ChoiceRefused,
    Wanted,
    chosen_api_root,
    given_token,
    is_token,
    known_for,
    wanted_name,
)
from actors.event_log import redact, redacted
from actors.pairing_texts import owner_shown
from stores.bus_schema import METADATA
from stores.bus_settings import BusSettings
from stores.config import BotConfig, Config
from stores.database import Database
from stores.home import Home
from stores.pairing import Pairing
from stores.token_variables import take

REFUSED = 3
TRIES = 3
"""So often a token may be typed."""


class Counter:
    """The terminal in front of the person who sets up a bot."""

    @property
    def is_terminal(self) -> bool:
        """Whether questions can be asked."""
        return sys.stdin is not None and sys.stdin.isatty()

    def tell(self, text: str) -> None:
        """Something to read."""
        print(redacted(text), flush=True)

    def token(self, question: str) -> str:
        """A token, typed without being shown."""
        return getpass.getpass(question).strip()

    def agrees(self, question: str) -> bool:
        """Whether the answer is yes."""
        return input(question).strip().lower() in ("y", "yes")


@dataclasses.dataclass(frozen=True, slots=True)
class Bot:
    """A bot whose token Telegram accepted."""

    name: str
    token: str = dataclasses.field(repr=False)
    kept_as: str = dataclasses.field(repr=False)
    """The token, or `$NAME` of the variable that holds it."""
    api_root: str | None
    identity: BotIdentity
    known: BotConfig | None
    """What the configuration has under this name, of this very bot."""

    @property
    def bot_id(self) -> int:
        """The number before the colon of the token."""
        return int(self.token.partition(":")[0])


class Setup:
    """One run of it, up to the point where the owner is to be found."""

    def __init__(
        self,
        home: Home,
        wanted: Wanted,
        new_owner: bool,
        counter: Counter,
        environment: Mapping[str, str],
    ) -> None:
        self._home = home
        self._config = Config(home.config)
        self._wanted = wanted
        self._new_owner = new_owner
        self._counter = counter
        self._environment = environment
        self.has_saved = False
        """Whether the configuration was changed."""

    def run(self) -> tuple[Bot, bool]:
        """The bot, saved, and whether an owner is to be found; raises ChoiceRefused."""
        name, known, given = self._begin()
        bot = self._identified(name, known, given)
        self._counter.tell(texts.IDENTIFIED.format(bot=bot.identity.shown))
        if known is not None and bot.known is None:
            self._replace(known, bot)
        needs_owner = self._needs_owner(bot)
        check = BotCheck(self._home, bot.token, bot.api_root)
        self._clear_webhook(bot, check)
        self._save(bot)
        if self._wants_private_threads(bot) and not bot.identity.topics:
            off = instance_texts.THREADED_MODE_OFF
            self._counter.tell(off.format(bot=bot.identity.shown))
            check.wait_for_topics()
            self._counter.tell(texts.THREADED_MODE_IS_ON)
        return bot, needs_owner

    # -- what is there --------------------------------------------------------------------------

    def _begin(self) -> tuple[str, BotConfig | None, str | None]:
        name = wanted_name(self._wanted, self._environment)
        if name == PRACTICE:
            raise ChoiceRefused(USAGE, instance_texts.BOT_NAME_MALFORMED)
        given = given_token(self._wanted, self._environment)
        present = self._config.bot()
        if name is None and given is not None:
            name, known = known_for(self._config, None, given, self._environment)
        else:
            name = name or (present.name if present is not None else "default")
            known = self._config.bots().get(name)
        if known is None:
            if given is None:
                self._counter.tell(texts.BEGIN)
            return name, None, given
        text = self._what_follows(given)
        shown = text.format(name=name, bot=self._shown(known), owner=self.owner_of(known))
        self._counter.tell(shown)
        return name, known, given

    def _what_follows(self, given: str | None) -> str:
        if self._new_owner:
            return texts.PRESENT_NEW_OWNER
        if given is not None:
            return texts.PRESENT_GIVEN
        return texts.PRESENT if self._counter.is_terminal else texts.PRESENT_CHECKED

    def _shown(self, known: BotConfig) -> str:
        token = known.resolved_token(self._environment)
        if token is None:
            return known.token
        path = self._home.bus_database(token.partition(":")[0])
        if path.exists():
            with _bus(self._home, token) as bus:
                facts = BusSettings(bus).bot()
            if facts is not None and facts.username:
                return f"@{facts.username}"
        return f"the bot {token.partition(':')[0]}"

    def owner_of(self, known: BotConfig | None) -> str:
        """The owner as people know them."""
        if known is None or known.owner_id is None:
            return texts.NO_OWNER
        name = None
        token = known.resolved_token(self._environment)
        if token is not None and self._home.bus_database(token.partition(":")[0]).exists():
            with _bus(self._home, token) as bus:
                record = Pairing(bus).read()
            if record is not None and record.owner_id == known.owner_id:
                name = record.owner_name
        return texts.OWNER.format(owner=owner_shown(known.owner_id, name))

    # -- the token ------------------------------------------------------------------------------

    def _identified(self, name: str, known: BotConfig | None, given: str | None) -> Bot:
        api_root = chosen_api_root(self._wanted, self._environment, known)
        for tries_left in reversed(range(TRIES)):
            token, kept_as = self._token(known, given)
            asks_again = given is None and self._counter.is_terminal and tries_left > 0
            try:
                if not is_token(token):
                    raise ChoiceRefused(BAD_CONFIGURATION, instance_texts.TOKEN_MALFORMED)
                redact(token)
                identity = BotCheck(self._home, token, api_root).identity()
            except TelegramUnreachable as failure:
                sentence = texts.UNREACHABLE.format(reason=failure)
                raise ChoiceRefused(BAD_CONFIGURATION, sentence) from None
            except (TokenRefused, ChoiceRefused) as failure:
                refused = isinstance(failure, TokenRefused)
                sentence = texts.REFUSED_HERE if refused else str(failure)
                if not asks_again:
                    raise ChoiceRefused(BAD_CONFIGURATION, sentence) from None
                self._counter.tell(sentence)
                continue
            former = known.resolved_token(self._environment) if known is not None else None
            is_same = former is None or former.partition(":")[0] == token.partition(":")[0]
            return Bot(name, token, kept_as, api_root, identity, known if is_same else None)
        raise AssertionError("the last try returns or raises")

    def _token(self, known: BotConfig | None, given: str | None) -> tuple[str, str]:
        """The token, and as what it is kept."""
        present = known.resolved_token(self._environment) if known is not None else None
        if given is not None:
            is_named = known is not None and present == given
            return given, known.token if is_named and known is not None else given
        if not self._counter.is_terminal:
            if known is None or present is None:
                raise ChoiceRefused(USAGE, texts.NO_TERMINAL)
            return present, known.token
        question = texts.ASK_TOKEN if present is None else texts.ASK_TOKEN_AGAIN
        typed = self._counter.token(question)
        if not typed and known is not None and present is not None:
            return present, known.token
        if typed.startswith("$"):
            take(os.environ, (typed[1:],))
            return self._environment.get(typed[1:], ""), typed
        return typed, typed

    # -- what stands in the way -----------------------------------------------------------------

    def _replace(self, known: BotConfig, bot: Bot) -> None:
        """Another bot under a name that is taken: said first, and done only with a yes."""
        former = (known.resolved_token(self._environment) or "").partition(":")[0]
        sentence = texts.ANOTHER.format(name=bot.name, former=former, bot=bot.identity.shown)
        self._counter.tell(sentence)
        if self._counter.is_terminal and not self._counter.agrees(texts.GO_ON):
            raise ChoiceRefused(REFUSED, texts.GIVE_A_NAME)

    def _needs_owner(self, bot: Bot) -> bool:
        if bot.known is None or bot.known.owner_id is None or self._new_owner:
            return True
        return self._counter.is_terminal and self._counter.agrees(texts.NEW_OWNER)

    def _clear_webhook(self, bot: Bot, check: BotCheck) -> None:
        """It is not ours, so it is removed only with a yes."""
        try:
            url = check.webhook()
        except (TokenRefused, TelegramUnreachable):
            return
        if not url:
            return
        place = urlsplit(url).hostname or "another place"
        self._counter.tell(texts.WEBHOOK.format(bot=bot.identity.shown, place=place))
        if not self._counter.is_terminal or not self._counter.agrees(texts.DELETE_WEBHOOK):
            raise ChoiceRefused(REFUSED, texts.WEBHOOK_STAYS)
        check.delete_webhook()

    def _wants_private_threads(self, bot: Bot) -> bool:
        chat = self._wanted.chat_id or (bot.known.chat_id if bot.known is not None else None)
        return chat is None or chat > 0

    def _save(self, bot: Bot) -> None:
        known = bot.known
        chat = self._wanted.chat_id or (known.chat_id if known is not None else None)
        kept = BotConfig(
            name=bot.name,
            token=bot.kept_as,
            api_root=bot.api_root,
            owner_id=known.owner_id if known is not None else None,
            chat_id=chat,
        )
        self._config.remember_bot(kept, make_default=self._config.bot() is None)
        self.has_saved = True
        self._counter.tell(texts.SAVED.format(name=bot.name, path=self._config.path))
        changed = known is not None and known.chat_id != chat
        if changed and self._wanted.chat_id is not None:
            self._counter.tell(texts.CHAT_LATER)


def _bus(home: Home, token: str) -> contextlib.closing[Database]:
    """The records of this bot, which the caller knows to be there."""
    path = home.bus_database(token.partition(":")[0])
    return contextlib.closing(Database(path, METADATA, "bus"))
