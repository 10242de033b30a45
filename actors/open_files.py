"""How many files, sockets and pipes a process may have open at once: as many as it takes, or a sentence."""

import resource

WANTED = 1_024
LEAST = 64
"""Below that what talks to Telegram fails in places that nobody would understand."""

TOO_FEW = (
    "Only {limit} files may be open at once here, which is too few. Raise the limit in this terminal: "
    "ulimit -n 1024"
)


def provide() -> str | None:
    """Raise the limit as far as that is allowed; a sentence when it still is too low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= WANTED:
        return None
    may = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if may > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (may, hard))
    return TOO_FEW.format(limit=may) if max(may, soft) < LEAST else None
