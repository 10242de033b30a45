"""The pairing desk: shows a one-time code until somebody has sent it to the bot.

It writes the code where the leader of the bot looks, whichever process that is, and puts a fresh one in its
place when it is too old or was guessed at too often. What it decides is in `actors.plans.pairing`.
"""

import asyncio
import dataclasses
import secrets
from collections.abc import Callable

from actors.clock import wall_ms
from actors.pairing_texts import ANOTHER_SHOWS, shown_code
from actors.plans.pairing import DIGITS, EACH, LETTERS, VALID_MS, Next, ShowingPlan
from stores.pairing import Pairing, PairingRecord
from stores.process_birth import Liveness, ProcessBirth, liveness

LOOK_EVERY_S = 0.25


@dataclasses.dataclass(frozen=True, slots=True)
class Counter:
    """How a desk shows what it has to show."""

    tell: Callable[[str], None]
    username: Callable[[], str]
    """Of the bot, as far as it is known."""

    with_picture: bool
    """Whether a QR code can be looked at there."""


class PairingDesk:
    """One process that shows codes."""

    def __init__(
        self, pairing: Pairing, counter: Counter, wanted_chat_id: int | None = None
    ) -> None:
        birth = ProcessBirth.current()
        self._me = f"{birth.boot_id} {birth.wire}"
        self._pairing = pairing
        self._counter = counter
        self._wanted_chat_id = wanted_chat_id
        self._plan = ShowingPlan(self._me)
        self._yielded = False
        self._shown = 0

    async def run(self) -> PairingRecord:
        """Until somebody is the owner; cancelled, the code is worth nothing any more."""
        try:
            while True:
                record = self._pairing.read()
                self._plan, following = self._plan.next(record, _is_gone(record), wall_ms())
                if following is Next.PAIRED and record is not None:
                    return record
                if following is Next.MINT:
                    self._mint()
                elif following is Next.YIELD and not self._yielded:
                    self._yielded = True
                    self._counter.tell(ANOTHER_SHOWS)
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            self._pairing.withdraw(self._me, wall_ms())

    def _mint(self) -> None:
        code = new_code()
        self._pairing.open(code, self._me, self._wanted_chat_id, wall_ms() + VALID_MS)
        self._yielded = False
        self._counter.tell(
            shown_code(
                self._counter.username(),
                code,
                again=self._shown > 0,
                with_picture=self._counter.with_picture,
            )
        )
        self._shown += 1


def new_code() -> str:
    """Four letters and four digits, as good as nobody guesses in five tries."""
    letters = "".join(secrets.choice(LETTERS) for _ in range(EACH))
    digits = "".join(secrets.choice(DIGITS) for _ in range(EACH))
    return f"{letters}-{digits}"


def _is_gone(record: PairingRecord | None) -> bool:
    """Whether the process that shows this code has ended."""
    if record is None:
        return False
    boot_id, _, wire = record.opened_by.partition(" ")
    pid = wire.partition(":")[0]
    return pid.isdecimal() and liveness(int(pid), boot_id, wire) is Liveness.DEAD
