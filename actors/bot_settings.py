"""What a tree is told of its bot: read anew whenever one starts, because its owner may have changed.

The configuration is the law; what was given with `--no-save` lives in this process only.
"""

import dataclasses
import os
import platform
from collections.abc import Mapping
from typing import Any

from actors.bot_choice import ChosenBot
from actors.plans.election import PROOF_MS
from stores.config import BotConfig, Config
from stores.home import Home
from stores.pairing import Pairing
from stores.token_fingerprint import token_fingerprint
from stores.token_variables import GIVEN

PROOF_VARIABLE = "SWITCHBOARD_PROOF_S"


class BotSettings:
    """The settings of the trees of one instance."""

    def __init__(
        self,
        fixed: Mapping[str, Any],
        bot: ChosenBot,
        config: Config,
        pairing: Pairing,
        *,
        practice: bool = False,
        saves: bool = True,
    ) -> None:
        self._fixed = fixed
        self._bot = bot
        self._config = config
        self._pairing = pairing
        self._practice = practice
        self._saves = saves and not practice
        self._proven = False

    def tree(self) -> Mapping[str, Any]:
        """For the next tree."""
        owner_id, chat_id = self.owner_and_chat()
        return {
            **self._fixed,
            "bot_name": self._bot.name,
            "bot_id": self._bot.bot_id,
            "owner_id": owner_id,
            "chat_id": chat_id,
            "practice": self._practice,
            "pairing": owner_id == 0,
            "proven": self._proven,
            "proof_ms": proof_ms(os.environ),
            "token_variable": "" if self._saves or self._practice else GIVEN,
        }

    def owner_and_chat(self) -> tuple[int, int]:
        """Who is obeyed and where threads are made; 0 for both while nobody is paired."""
        known = self._known()
        if known is None or known.owner_id is None:
            return self._bot.owner_id, self._bot.chat_id
        return known.owner_id, known.chat_id or known.owner_id

    def adopt(self, owner_id: int, chat_id: int) -> None:
        """Somebody sent the code."""
        self._bot = dataclasses.replace(self._bot, owner_id=owner_id, chat_id=chat_id)
        known = self._known()
        if known is not None:
            save_owner(self._config, known, owner_id, chat_id)

    def note_proven(self) -> None:
        """Nobody else reads the bot; what was found out once holds for this process."""
        self._proven = True

    def owner_name(self) -> str | None:
        """What the owner is called, where pairing has told it."""
        record = self._pairing.read()
        if record is None or record.owner_id != self.owner_and_chat()[0]:
            return None
        return record.owner_name or None

    def _known(self) -> BotConfig | None:
        known = self._config.bots().get(self._bot.name) if self._saves else None
        token = known.resolved_token() if known is not None else None
        # Under this name there may be another bot by now, with another owner.
        same = token is None or token.partition(":")[0] == str(self._bot.bot_id)
        return known if same else None


def lasting(home: Home, bot: ChosenBot, cleanup: bool) -> dict[str, Any]:
    """What a tree is told that never changes while its instance lives."""
    return {
        "home": str(home.path),
        "bot_directory": str(home.bot_directory(bot.bot_id)),
        "token_fingerprint": token_fingerprint(bot.token),
        "api_root": bot.api_root,
        "cleanup": cleanup,
        "user_home": os.path.realpath(os.path.expanduser("~")),
        "host": platform.node(),
    }


def save_owner(config: Config, known: BotConfig, owner_id: int, chat_id: int) -> None:
    """Write down who is obeyed from now on."""
    chat = None if chat_id == owner_id else chat_id
    config.remember_bot(dataclasses.replace(known, owner_id=owner_id, chat_id=chat))


def proof_ms(environment: Mapping[str, str]) -> int:
    """How long a bot that was never led here is watched first; the environment may shorten it."""
    try:
        return max(0, int(float(environment.get(PROOF_VARIABLE, "")) * 1_000))
    except (ValueError, OverflowError):
        return PROOF_MS
