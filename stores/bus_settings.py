"""Small facts about a bot that outlive every leader: who it is, whether we led it, the cursor."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from stores.bus_schema import SETTINGS
from stores.database import upsert
from stores.lease import require_epoch
from stores.store import Store

_BOT, _FIRST_LED, _LAST_LED = "bot", "first_led_ms", "last_led_ms"
_FIRST_STARTED, _LAST_SLOT = "first_started_ms", "last_slot"


@dataclass(frozen=True, slots=True)
class BotFacts:
    """What the bot told about itself last time."""

    username: str
    topics: bool
    """Whether its private chats have threads."""


class BusSettings(Store):
    """Keys and texts in `bus.db`."""

    def led_before(self) -> bool:
        """Whether this home has ever led this bot."""
        return self.get(_FIRST_LED) is not None

    def first_led_ms(self) -> int | None:
        """Since when this home leads this bot, whichever instance does."""
        return self._number(_FIRST_LED)

    def last_led_ms(self) -> int | None:
        """When leadership last came into service, or was last noted to be."""
        return self._number(_LAST_LED)

    def record_led(self, epoch: int, now: int) -> None:
        """This home leads the bot and serves; the first time stays known."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            if _get(tx, _FIRST_LED) is None:
                _put(tx, _FIRST_LED, str(now))
            _put(tx, _LAST_LED, str(now))

    def first_started_ms(self) -> int | None:
        """When this bot was first started here; what is older is never executed."""
        return self._number(_FIRST_STARTED)

    def record_first_start(self, epoch: int, now: int) -> None:
        """The first call counts, later ones change nothing."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            if _get(tx, _FIRST_STARTED) is None:
                _put(tx, _FIRST_STARTED, str(now))

    def bot(self) -> BotFacts | None:
        """Who the bot is; None before it was ever asked."""
        text = self.get(_BOT)
        return None if text is None else BotFacts(**json.loads(text))

    def record_bot(self, username: str, topics: bool, epoch: int) -> None:
        """What the bot told about itself."""
        self.put(_BOT, json.dumps({"username": username, "topics": topics}), epoch)

    def last_slot(self) -> str | None:
        """The letter given last: the cursor of fresh allocation."""
        return self.get(_LAST_SLOT) or None

    def get(self, key: str) -> str | None:
        """The text under a key."""
        with self.database.glance() as reader:
            return _get(reader, key)

    def put(self, key: str, value: str, epoch: int) -> None:
        """Write the text under a key."""
        with self.database.transaction() as tx:
            require_epoch(tx, epoch)
            _put(tx, key, value)

    def _number(self, key: str) -> int | None:
        text = self.get(key)
        return None if text is None else int(text)


def put_last_slot(tx: Connection, slot: str | None) -> None:
    """Move the cursor inside a transaction that has proved its epoch."""
    if slot is None:
        tx.execute(delete(SETTINGS).where(SETTINGS.c.key == _LAST_SLOT))
    else:
        _put(tx, _LAST_SLOT, slot)


def _get(connection: Connection, key: str) -> str | None:
    return connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.key == key)).scalar()


def _put(tx: Connection, key: str, value: str) -> None:
    upsert(tx, SETTINGS, {"key": key}, {"value": value})
