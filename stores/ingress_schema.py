"""The tables of `ingress.db`: what Telegram sent and how far each piece got.

A change here needs a migration in `migrations/ingress/`; a test compares the two. Times are
wall-clock milliseconds.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

UPDATES = Table(
    "updates",
    METADATA,
    Column("update_id", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("chat_id", BigInteger),
    Column("thread_id", BigInteger),
    Column("message_id", BigInteger),
    Column("from_id", BigInteger),
    Column("binding_key", Text),
    Column("attempts", Integer, nullable=False),
    Column("next_retry_ms", BigInteger),
    Column("failure_class", Text),
    Column("asked_ms", BigInteger),  # NULL: its owner was not asked yet whose it is
    Column("received_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("payload", Text, nullable=False),
    Index(None, "state", "update_id"),
    Index(None, "binding_key", "state"),
    Index(None, "chat_id", "message_id"),
)

# At most one row: whose updates these are, and how far they were confirmed.
INTAKE = Table(
    "intake",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("cursor", BigInteger),  # the highest update id that is in the journal
    Column("bot_id", BigInteger),
    Column("token_fingerprint", Text),
    Column("highest_epoch", BigInteger, nullable=False),
)

# Who was told that nobody is there, once for each absence.
NOTICES = Table(
    "notices",
    METADATA,
    Column("binding_key", Text, primary_key=True),
    Column("noticed_ms", BigInteger, nullable=False),
)
