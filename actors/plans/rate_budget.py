"""A rate with bursts, as one number: the instant until which it is spent (generic cell rate algorithm).

Each call moves that instant one interval on; a call may go while the instant is less than a whole burst
ahead. A budget that nobody used for a while is equal to a fresh one, so idle ones need not be kept.
"""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Rate:
    """`burst` calls at once, and one more each interval."""

    interval_us: int
    burst: int


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """What is left of a rate."""

    rate: Rate
    spent_until_us: int = 0

    def wait_ms(self, now: int, reserve: int = 0) -> int:
        """Milliseconds until a call may go that leaves `reserve` calls to others; 0 is now."""
        ahead = max(self.spent_until_us - now * 1_000, 0)
        allowed = (self.rate.burst - reserve - 1) * self.rate.interval_us
        return -(-max(ahead - allowed, 0) // 1_000)

    def take(self, now: int) -> "Budget":
        """The budget after one call."""
        start = max(self.spent_until_us, now * 1_000)
        return dataclasses.replace(self, spent_until_us=start + self.rate.interval_us)

    def is_full(self, now: int) -> bool:
        """Whether nothing of it is spent."""
        return self.spent_until_us <= now * 1_000


PRIVATE_CHAT = Rate(interval_us=1_000_000, burst=30)
GROUP = Rate(interval_us=3_000_000, burst=20)
LOCAL = Rate(interval_us=33_334, burst=60)
"""A practice chat or a Bot API server on this machine has no flood guard worth sparing."""
OVERALL = Rate(interval_us=33_334, burst=30)


def rate_of(chat: str, local: bool) -> Rate:
    """The rate of a chat; ids of groups are negative, and names belong to groups and channels."""
    if local:
        return LOCAL
    return GROUP if chat.startswith(("-", "@")) else PRIVATE_CHAT
