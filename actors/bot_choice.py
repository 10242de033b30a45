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
    chat_id: int
    is_new: bool
    """The configuration did not know it before."""

    @property
    def bot_id(self) -> int:
        """The number before the colon of the token."""
        return int(self.token.partition(":")[0])


def choose_bot(
    config: Config, wanted: Wanted, environment: Mapping[str, str], owner_needed: bool = True
) -> ChosenBot | None:
    """The bot; None for the practice chat. Raises ChoiceRefused and ConfigMalformed."""
    name = wanted.name or environment.get("SWITCHBOARD_BOT") or None
    if name is not None and not _NAME.fullmatch(name):
        raise ChoiceRefused(USAGE, texts.BOT_NAME_MALFORMED)
    given = _given_token(wanted, environment)
    if name == PRACTICE or (given is None and name is None and config.bot() is None):
        _refuse_settings_without_bot(wanted)
        return None
    if given is not None:
        name, known = _known_for(config, name, given)
    else:
        known = config.bot(name)
        if known is None:
            names = ", ".join(config.bots()) or "none"
            raise ChoiceRefused(
                BAD_CONFIGURATION, texts.BOT_UNKNOWN.format(name=name, known=names)
            )
        name = known.name
    token = given or _configured_token(known, environment)
    api_root = wanted.api_root or environment.get("TELEGRAM_API_ROOT") or None
    if api_root is None and known is not None:
        api_root = known.api_root
    if api_root is not None and not _ROOT.fullmatch(api_root):
        raise ChoiceRefused(USAGE, texts.API_ROOT_MALFORMED.format(value=api_root))
    owner_id = wanted.owner_id or (known.owner_id if known is not None else None)
    if owner_id is None and owner_needed:
        raise ChoiceRefused(USAGE, texts.OWNER_MISSING)
    chat_id = wanted.chat_id or (known.chat_id if known is not None else None)
    return ChosenBot(
        name=name,
        token=token,
        api_root=api_root.rstrip("/") if api_root else None,
        owner_id=owner_id or 0,
        chat_id=chat_id or owner_id or 0,
        is_new=known is None,
    )


def remember(config: Config, bot: ChosenBot) -> None:
    """Keep it for the next process; a token that the configuration only names stays where it is."""
    known = config.bots().get(bot.name)
    reference = known.token if known is not None and known.token.startswith("$") else None
    kept = BotConfig(
        name=bot.name,
        token=reference or bot.token,
        api_root=bot.api_root,
        owner_id=bot.owner_id,
        chat_id=None if bot.chat_id == bot.owner_id else bot.chat_id,
    )
    config.remember_bot(kept, make_default=config.bot() is None)


def _given_token(wanted: Wanted, environment: Mapping[str, str]) -> str | None:
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
        text = environment.get("TELEGRAM_BOT_TOKEN", "").strip()
        if not text:
            return None
    if not _TOKEN.fullmatch(text):
        raise ChoiceRefused(BAD_CONFIGURATION, texts.TOKEN_MALFORMED)
    return text


def _known_for(config: Config, name: str | None, token: str) -> tuple[str, BotConfig | None]:
    """The name a given token goes by, and what is known of that bot."""
    bots = config.bots()
    bot_id = token.partition(":")[0]
    if name is not None:
        return name, bots.get(name)
    for known in bots.values():
        if known.token.partition(":")[0] == bot_id:
            return known.name, known
    name = "default" if "default" not in bots else f"bot-{bot_id}"
    return name, bots.get(name)


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
