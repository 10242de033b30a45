"""What the Leader finds out about its bot, and whom it tells: threads off, other readers, times without us.

The terminal hears of everything, the chat only of what its owner cannot see otherwise, and of each once.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.effects import Effect, Effects, Now, Perform, Send, WakeAfter, Write
from messages.owner_texts import ANOTHER_READER, GAP, SOLVED
from messages.telegram_gateway import CallTelegram

LOOK_MS, LOOK_CLOSELY_MS = 60_000, 3_000
"""How often the bot is asked who it is, and how often while its threads are switched off."""
DOUBT_MS = 1_000
ASK_DEADLINE_MS = 15_000
SAY_DEADLINE_MS = 60_000
NOTE_MS = 60_000
"""How often it is noted that this bot is served, so that a gap is known to the minute."""
GAP_MS = 24 * 3_600_000
IDENTIFY_CALL, NEWS_CALL = "identify/", "news/"


@dataclasses.dataclass(frozen=True, slots=True)
class Away:
    """A time in which nobody led, longer than Telegram keeps messages; as people say it."""

    since: str
    until: str


@dataclasses.dataclass(frozen=True)
class BotNews:
    """What is known of the bot, and what was told of it."""

    epoch: int = 0
    chat_id: int = 0
    topics: bool | None = None
    told_conflict: bool = False
    """The chat was told of another reader, by this leader or by one before it."""
    noted: Now | None = None

    # -- threads --------------------------------------------------------------------------------

    def ask(self, now: Now) -> tuple[Effect, ...]:
        """Ask the bot who it is."""
        call = CallTelegram(method="getMe", params={}, priority="control")
        return (
            Send("telegram_gateway", call, f"{IDENTIFY_CALL}{now.boot}", ASK_DEADLINE_MS),
            WakeAfter("identify", LOOK_MS if self.topics is not False else LOOK_CLOSELY_MS),
        )

    def doubt(self) -> Effects:
        """Something hints at a change of its threads: look soon."""
        return () if self.topics is False else (WakeAfter("identify", DOUBT_MS),)

    def identified(self, bot: Mapping[str, Any]) -> tuple["BotNews", Effects]:
        """It told."""
        username, topics = str(bot.get("username", "")), bool(bot.get("has_topics_enabled"))
        facts = {"username": username, "topics": topics}
        effects: list[Effect] = [report("bot", facts)]
        if topics is not self.topics:
            known = {**facts, "epoch": self.epoch}
            effects.insert(0, Write("bus_settings", "record_bot", known))
            if not topics:
                effects.append(WakeAfter("identify", LOOK_CLOSELY_MS))
        return dataclasses.replace(self, topics=topics), tuple(effects)

    # -- other readers --------------------------------------------------------------------------

    def conflict(self, cause: str, now: Now) -> tuple["BotNews", Effects]:
        """Another program reads this bot, or none does any more."""
        if cause == "foreign-poller" and not self.told_conflict:
            return self._tell_conflict(True, ANOTHER_READER, now)
        if cause == "solved" and self.told_conflict:
            return self._tell_conflict(False, SOLVED, now)
        return self, ()

    def _tell_conflict(
        self, told: bool, text: str, now: Now
    ) -> tuple["BotNews", Effects]:
        arguments = {"key": "told_conflict", "value": "yes" if told else "", "epoch": self.epoch}
        noted = Write("bus_settings", "put", arguments)
        news = dataclasses.replace(self, told_conflict=told)
        return news, (noted, *self._say(text, "conflict", now))

    # -- gaps -----------------------------------------------------------------------------------

    def served(self, away: Away | None, now: Now) -> tuple["BotNews", Effects]:
        """It is served now: note that now and then, and tell of a gap before it."""
        effects: list[Effect] = []
        if away is not None:
            effects += self._say(GAP.format(since=away.since, until=away.until), "gap", now)
        if self.noted is not None and now.boot - self.noted.boot < NOTE_MS and away is None:
            return self, ()
        effects.insert(0, self.note(now))
        return dataclasses.replace(self, noted=now), tuple(effects)

    def note(self, now: Now) -> Write:
        """Write down that it is served now."""
        return Write("bus_settings", "record_led", {"epoch": self.epoch, "now": now.wall})

    def _say(self, text: str, about: str, now: Now) -> Effects:
        if not self.chat_id:
            return ()
        call = CallTelegram(
            method="sendMessage", params={"chat_id": self.chat_id, "text": text}, priority="control"
        )
        said = f"{NEWS_CALL}{about}/{now.boot}"
        return (Send("telegram_gateway", call, said, SAY_DEADLINE_MS, False),)


def is_gap(last_served_ms: int | None, now_ms: int) -> bool:
    """Whether Telegram may have dropped messages since."""
    return last_served_ms is not None and now_ms - last_served_ms > GAP_MS


def report(name: str, body: Mapping[str, Any]) -> Perform:
    """A word to main, over the tree channel."""
    return Perform("report", name, {"name": name, "body": dict(body)})
