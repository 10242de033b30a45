"""Which bot this process is for: by its options, the environment, the configuration, in that order.

What was given is remembered in the configuration, so that the next process needs nothing. The token
comes from a file or the environment, never from an argument. None chosen means the practice chat.
"""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

from actors import instance_texts as texts
from stores.config import BotConfig, Config
from stores.token_variables import GIVEN

PRACTICE = "practice"
"""The name of the practice bot; `--bot practice` asks for it though another bot is set up."""

USAGE, BAD_CONFIGURATION = 2, 4

_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,128}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}", re.ASCII)
_ROOT = re.compile(r"https?://[^\s/?#]+[^\s?#]*")
_LONGEST_TOKEN_FILE = 4_096


class ChoiceRefused(Exception):
    """No bot can be chosen; a sentence for people and an exit status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says about the bot."""

    name: str | None = None
    token_file: str | None = None
    api_root: str | None = None
    owner_id: int | None = None
    chat_id: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ChosenBot:
    """The bot of this process."""

    name: str
    token: str = dataclasses.field(repr=False)
    api_root: str | None
    owner_id: int
    """The only user it obeys; 0: nobody is paired yet."""

    chat_id: int
    is_new: bool
    """The configuration did not know it before."""

    @property
    def bot_id(self) -> int:
        """The number before the colon of the token."""
        return int(self.token.partition(":")[0])


def choose_bot(
    config: Config, wanted: Wanted, environment: Mapping[str, str]
) -> ChosenBot | None:
    """The bot; None for the practice chat. Raises ChoiceRefused and ConfigMalformed."""
    name = wanted_name(wanted, environment)
    given = given_token(wanted, environment)
    if name == PRACTICE or (given is None and name is None and not config.bots()):
        _refuse_settings_without_bot(wanted)
        return None
    if given is not None:
        name, known = known_for(config, name, given, environment)
        _refuse_another_bot(known, given, environment)
    else:
        known = config.bot(name)
        if known is None:
            names = ", ".join(config.bots()) or "none"
            text = texts.BOT_NOT_CHOSEN if name is None else texts.BOT_UNKNOWN
            raise ChoiceRefused(BAD_CONFIGURATION, text.format(name=name, known=names))
        name = known.name
    token = given or _configured_token(known, environment)
    api_root = chosen_api_root(wanted, environment, known)
    owner_id = wanted.owner_id or (known.owner_id if known is not None else None)
    chat_id = wanted.chat_id or (known.chat_id if known is not None else None)
    return ChosenBot(
        name=name,
        token=token,
        api_root=api_root,
        owner_id=owner_id or 0,
        chat_id=chat_id or owner_id or 0,
        is_new=known is None,
    )


def remember(config: Config, bot: ChosenBot, environment: Mapping[str, str]) -> None:
    """Keep it for the next process; a token that the configuration only names stays where it is."""
    known = config.bots().get(bot.name)
    names_it = known is not None and known.resolved_token(environment) == bot.token
    reference = known.token if known is not None and names_it else None
    kept = BotConfig(
        name=bot.name,
        token=reference or bot.token,
        api_root=bot.api_root,
        owner_id=bot.owner_id or None,
        chat_id=None if bot.chat_id == bot.owner_id else bot.chat_id,
    )
    config.remember_bot(kept, make_default=config.bot() is None)


def wanted_name(wanted: Wanted, environment: Mapping[str, str]) -> str | None:
    """The name that was asked for; raises ChoiceRefused for what is none."""
    name = wanted.name or environment.get("SWITCHBOARD_BOT") or None
    if name is not None and not _NAME.fullmatch(name):
        raise ChoiceRefused(USAGE, texts.BOT_NAME_MALFORMED)
    return name


def chosen_api_root(
    wanted: Wanted, environment: Mapping[str, str], known: BotConfig | None
) -> str | None:
    """The Bot API server, None for Telegram's own; raises ChoiceRefused for what is no address."""
    api_root = wanted.api_root or environment.get("TELEGRAM_API_ROOT") or None
    if api_root is None and known is not None:
        api_root = known.api_root
    if api_root is not None and not _ROOT.fullmatch(api_root):
        raise ChoiceRefused(USAGE, texts.API_ROOT_MALFORMED.format(value=api_root))
    return api_root.rstrip("/") if api_root else None


def is_token(text: str) -> bool:
    """Whether it has the shape of a bot token."""
    return _TOKEN.fullmatch(text) is not None


def given_token(wanted: Wanted, environment: Mapping[str, str]) -> str | None:
    """The token that is given now, None without one; raises ChoiceRefused for what is none."""
    if wanted.token_file is not None:
        path = Path(wanted.token_file).expanduser()
        try:
            with path.open("rb") as stream:
                text = stream.read(_LONGEST_TOKEN_FILE).decode("ascii", "replace").strip()
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "not a path"
            sentence = texts.TOKEN_FILE_UNREADABLE.format(path=path, reason=reason)
            raise ChoiceRefused(BAD_CONFIGURATION, sentence) from None
    else:
        text = environment.get(GIVEN, "").strip()
        if not text:
            return None
    if not _TOKEN.fullmatch(text):
        raise ChoiceRefused(BAD_CONFIGURATION, texts.TOKEN_MALFORMED)
    return text


def known_for(
    config: Config, name: str | None, token: str, environment: Mapping[str, str]
) -> tuple[str, BotConfig | None]:
    """The name a given token goes by, and what is known of that bot."""
    bots = config.bots()
    bot_id = token.partition(":")[0]
    if name is not None:
        return name, bots.get(name)
    for known in bots.values():
        if (known.resolved_token(environment) or "").partition(":")[0] == bot_id:
            return known.name, known
    name = "default" if "default" not in bots else f"bot-{bot_id}"
    return name, bots.get(name)


def _refuse_another_bot(
    known: BotConfig | None, given: str, environment: Mapping[str, str]
) -> None:
    """A name stands for one bot: threads and offsets of two are never mixed."""
    former = known.resolved_token(environment) if known is not None else None
    if known is None or former is None or former.partition(":")[0] == given.partition(":")[0]:
        return
    sentence = texts.ANOTHER_BOT.format(
        name=known.name, known=former.partition(":")[0], given=given.partition(":")[0]
    )
    raise ChoiceRefused(BAD_CONFIGURATION, sentence)


def _configured_token(known: BotConfig | None, environment: Mapping[str, str]) -> str:
    assert known is not None
    token = known.resolved_token(environment)
    if token is None:
        variable = known.token
        raise ChoiceRefused(
            BAD_CONFIGURATION, texts.TOKEN_UNSET.format(bot=known.name, variable=variable)
        )
    if not _TOKEN.fullmatch(token):
        raise ChoiceRefused(BAD_CONFIGURATION, texts.TOKEN_MALFORMED)
    return token


def _refuse_settings_without_bot(wanted: Wanted) -> None:
    given = {
        "--api-root": wanted.api_root,
        "--owner": wanted.owner_id,
        "--chat": wanted.chat_id,
    }
    options = [option for option, value in given.items() if value is not None]
    if options:
        sentence = texts.BOT_SETTINGS_WITHOUT_BOT.format(options=" and ".join(options))
        raise ChoiceRefused(USAGE, sentence)
