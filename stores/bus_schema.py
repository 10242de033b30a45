"""The tables of `bus.db`: who leads, which thread is whose, and what was about to be done.

A change here needs a migration in `migrations/bus/`; a test compares the two. Times are wall-clock
milliseconds unless a comment says otherwise. Uniqueness relies on NULLs being distinct, as in
every database we would run on.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text, UniqueConstraint

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# At most one row. The epoch only ever grows, also over a release; without an owner it is vacant.
LEASE = Table(
    "lease",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("owner_pid", Integer),
    Column("owner_boot_id", Text),
    Column("owner_birth", Text),
    Column("instance_id", Text),
    Column("heartbeat_ms", BigInteger),  # CLOCK_BOOTTIME
    Column("endpoint", Text),
    Column("secret", Text),
    Column("state", Text, nullable=False),
)

BINDINGS = Table(
    "bindings",
    METADATA,
    Column("binding_key", Text, primary_key=True),
    Column("chat_id", BigInteger, nullable=False),
    Column("thread_id", BigInteger),  # NULL: not created yet, or the plain chat of classic mode
    Column("slot", Text),
    Column("thread_name", Text),
    Column("status", Text, nullable=False),
    Column("instance_id", Text),
    Column("inactive_since_ms", BigInteger),  # NULL: possibly in use
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("last_error", Text),
    Column("sync_status", Text, nullable=False),
    Column("last_sync_observed_ms", BigInteger),
    Column("last_sync_error", Text),
    Column("last_action", Text),
    UniqueConstraint("chat_id", "thread_id"),
    UniqueConstraint("slot"),
    Index(None, "instance_id"),
)

# What a binding was called; outlives its row, so that a lost thread comes back under its name.
REMEMBERED_NAMES = Table(
    "remembered_names",
    METADATA,
    Column("binding_key", Text, primary_key=True),
    Column("thread_name", Text),
    Column("slot", Text),
    Column("updated_ms", BigInteger, nullable=False),
)

RESERVATIONS = Table(
    "reservations",
    METADATA,
    Column("chat_id", BigInteger, primary_key=True, autoincrement=False),
    Column("thread_id", BigInteger, primary_key=True, autoincrement=False),
    Column("slot", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("instance_id", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    UniqueConstraint("slot"),
)

# Written by run.py of every instance, not by the leader.
IDENTITIES = Table(
    "identities",
    METADATA,
    Column("binding_key", Text, primary_key=True),
    Column("base_id", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("program", Text),
    Column("directory", Text),
    Column("name", Text),
    Column("command", Text),  # how a person starts it again, for notices
    Column("owner_pid", Integer),
    Column("owner_boot_id", Text),
    Column("owner_birth", Text),
    Column("instance_id", Text),
    Column("claimed_ms", BigInteger, nullable=False),
    Column("released_ms", BigInteger),
    Column("farewell_ms", BigInteger),  # NULL: the thread was not told that the process ended
    Column("away_since_ms", BigInteger),  # NULL: it did not just come back; 0: nobody knows since when
    UniqueConstraint("base_id", "ordinal"),
)

# Written before a thread is created. One at a time for a binding: an unclear one blocks the next.
PENDING_PROVISIONS = Table(
    "pending_provisions",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("binding_key", Text, nullable=False),
    Column("instance_id", Text, nullable=False),
    Column("thread_name", Text),
    Column("slot", Text),
    Column("chat_id", BigInteger, nullable=False),
    Column("thread_id", BigInteger),
    Column("status", Text, nullable=False),
    Column("started_ms", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    UniqueConstraint("binding_key"),
)

# Written before a thread is deleted.
PENDING_CLEANUPS = Table(
    "pending_cleanups",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("binding_key", Text),
    Column("instance_id", Text, nullable=False),
    Column("generation", Text, nullable=False),
    Column("chat_id", BigInteger, nullable=False),
    Column("thread_id", BigInteger, nullable=False),
    Column("requested_ms", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
)

MESSAGE_OWNERSHIP = Table(
    "message_ownership",
    METADATA,
    Column("chat_id", BigInteger, primary_key=True, autoincrement=False),
    Column("message_id", BigInteger, primary_key=True, autoincrement=False),
    Column("binding_key", Text, nullable=False),
    Column("thread_id", BigInteger),
    Column("instance_id", Text, nullable=False),
    Column("generation", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Index(None, "updated_ms"),
    Index(None, "chat_id", "thread_id"),
)

# The last thing seen of a Telegram thread.
OBSERVATIONS = Table(
    "observations",
    METADATA,
    Column("chat_id", BigInteger, primary_key=True, autoincrement=False),
    Column("thread_id", BigInteger, primary_key=True, autoincrement=False),
    Column("sync_status", Text, nullable=False),
    Column("observed_ms", BigInteger, nullable=False),
    Column("instance_id", Text),
    Column("slot", Text),
    Column("error", Text),
    Column("action", Text),
)

SETTINGS = Table(
    "settings",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

# At most one row: the newest pairing. Opened by whoever shows the code, settled by the inbox.
PAIRING = Table(
    "pairing",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("code", Text, nullable=False),
    Column("opened_by", Text, nullable=False),  # who shows the code
    Column("wanted_chat_id", BigInteger),  # NULL: the private chat, or the forum it is sent in
    Column("expires_ms", BigInteger, nullable=False),
    Column("tries", Integer, nullable=False),  # wrong codes so far
    Column("owner_id", BigInteger),  # NULL: nobody sent the code yet
    Column("owner_name", Text),
    Column("chat_id", BigInteger),
    Column("paired_ms", BigInteger),
)

# When each stranger was last told that the bot is private.
REFUSALS = Table(
    "refusals",
    METADATA,
    Column("user_id", BigInteger, primary_key=True, autoincrement=False),
    Column("refused_ms", BigInteger, nullable=False),
)
