"""What the stores say of one bot, for status, shell and doctor: read in a process of its own, never written.

Nothing is created by looking: a database that nobody made yet counts as empty.
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from actors.bot_choice import PRACTICE, ChosenBot, Wanted, choose_bot
from actors.event_log import redact
from actors.plans.status import ThreadFacts
from stores.bindings import Bindings
from stores.bus_schema import METADATA as BUS
from stores.bus_settings import BusSettings
from stores.config import Config
from stores.database import Database
from stores.deliveries import RUNNING, Deliveries, DeliveryRecord
from stores.deliveries import PENDING as PENDING_DELIVERY
from stores.errors import HomeUnusable, StoreError
from stores.home import Home
from stores.identities import Identities
from stores.inbox_schema import METADATA as INBOX
from stores.ingress import Ingress
from stores.ingress_schema import METADATA as INGRESS
from stores.lease import Lease, LeaseRecord
from stores.pairing import Pairing
from stores.process_birth import Liveness, liveness
from stores.updates import UpdateRecord

ASKED = ("dead", "cut_off", "unclear")
"""States of a delivery that waits for a person to decide."""


class House:
    """The home, the bot that is meant, and its databases; a context manager."""

    def __init__(self, home: Home, bot: ChosenBot | None, api_root: str | None) -> None:
        self.home, self.bot, self.api_root = home, bot, api_root
        self.bus: Database | None = None
        self.ingress: Database | None = None
        self._inboxes: dict[str, Database] = {}
        if bot is not None:
            self.bus = _existing(home.bus_database(bot.bot_id), BUS, "bus")
            self.ingress = _existing(home.ingress_database(bot.bot_id), INGRESS, "ingress")

    @classmethod
    def of(cls, options: Any, environment: Mapping[str, str]) -> Self:
        """The one that options, environment and configuration mean; the practice chat without a bot."""
        home = Home(options.home)
        if home.path.exists() and not os.access(home.path, os.R_OK | os.X_OK):
            raise HomeUnusable(f"{home.path} cannot be read.")
        wanted = Wanted(options.bot, options.token_file)
        bot = choose_bot(Config(home.config), wanted, environment)
        if bot is not None:
            redact(bot.token)
            return cls(home, bot, bot.api_root)
        practice = practice_bot(home)
        return cls(home, practice, None if practice is None else practice_root(home))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        for database in (self.bus, self.ingress, *self._inboxes.values()):
            if database is not None:
                database.close()

    # -- who leads ------------------------------------------------------------------------------

    def lease(self) -> LeaseRecord | None:
        """The lease; None before anybody led."""
        return Lease(self.bus).read() if self.bus is not None else None

    def is_led(self, lease: LeaseRecord | None) -> bool:
        """Whether the process that the lease names may live."""
        owner = lease.owner if lease is not None else None
        return owner is not None and (
            liveness(owner.pid, owner.boot_id, owner.birth) is not Liveness.DEAD
        )

    @property
    def bot_shown(self) -> str:
        """The bot as people know it; empty without any."""
        if self.bot is None:
            return ""
        if self.bot.name == PRACTICE:
            return "Practice chat"
        facts = BusSettings(self.bus).bot() if self.bus is not None else None
        return f"@{facts.username}" if facts is not None and facts.username else self.bot.name

    @property
    def owner_name(self) -> str:
        """The first name of the owner, where pairing told it."""
        if self.bot is None or self.bus is None:
            return ""
        if self.bot.name == PRACTICE:
            from actors.sandbox.chat import OWNER

            return OWNER.first_name
        paired = Pairing(self.bus).read()
        if paired is None or paired.owner_id != self.bot.owner_id:
            return ""
        return paired.owner_name or ""

    # -- threads and what waits -----------------------------------------------------------------

    def threads(self) -> tuple[ThreadFacts, ...]:
        """Every thread, by its letter."""
        if self.bus is None or self.bot is None:
            return ()
        waiting: Mapping[str, int] = {}
        if self.ingress is not None:
            waiting = {one.binding_key: one.count for one in Ingress(self.ingress).waiting()}
        identities = {one.binding_key: one for one in Identities(self.bus).all()}
        threads = []
        for binding in Bindings(self.bus).all():
            identity = identities.get(binding.binding_key)
            owner = identity.owner if identity is not None else None
            alive = owner is not None and (
                liveness(owner.pid, owner.boot_id, owner.birth) is not Liveness.DEAD
            )
            rows = self.deliveries(binding.binding_key)
            facts = ThreadFacts(
                binding, identity, alive, waiting.get(binding.binding_key, 0)
            )
            if rows is not None:
                facts = dataclasses.replace(
                    facts,
                    working=any(row.state == RUNNING for row in rows),
                    queued=sum(row.state == PENDING_DELIVERY for row in rows),
                )
            threads.append(facts)
        return tuple(sorted(threads, key=lambda one: one.binding.slot or "~"))

    def deliveries(self, binding_key: str) -> tuple[DeliveryRecord, ...] | None:
        """What a process took and has not finished; None where that is not kept here or is damaged."""
        assert self.bot is not None
        if binding_key not in self._inboxes:
            path = self.home.inbox_database(self.bot.bot_id, binding_key)
            inbox = _existing(path, INBOX, "inbox")
            if inbox is None:
                return None
            self._inboxes[binding_key] = inbox
        try:
            return Deliveries(self._inboxes[binding_key]).outstanding()
        except StoreError:
            return None

    def asked(self) -> tuple[tuple[Any, DeliveryRecord], ...]:
        """What waits for a person to decide, each with its binding."""
        found = []
        for binding in Bindings(self.bus).all() if self.bus is not None else ():
            rows = self.deliveries(binding.binding_key) or ()
            found += [(binding, row) for row in rows if row.state in ASKED]
        return tuple(found)

    def dead(self) -> tuple[UpdateRecord, ...]:
        """What was given up before it reached a process."""
        return Ingress(self.ingress).dead() if self.ingress is not None else ()


def practice_bot(home: Home) -> ChosenBot | None:
    """The practice bot, once the practice chat was started here."""
    from actors.sandbox.credentials import OWNER_ID

    try:
        token = (home.practice / "token").read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    redact(token)
    if not token.partition(":")[0].isdecimal():
        return None
    return ChosenBot(PRACTICE, token, None, OWNER_ID, OWNER_ID, is_new=False)


def practice_root(home: Home) -> str | None:
    """Where the practice chat answers, if it does."""
    from actors.sandbox.port_file import PortFile

    found = PortFile.read(home.practice / "port.json")
    return f"http://127.0.0.1:{found.port}" if found is not None else None


def _existing(path: Path, metadata: Any, migrations: str) -> Database | None:
    return Database(path, metadata, migrations) if path.exists() else None
