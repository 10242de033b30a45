"""The table of an inbox: what one binding was given to do.

A change here needs a migration in `migrations/inbox/`; a test compares the two. Times are
wall-clock milliseconds.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("delivery_id", Text, primary_key=True),
    Column("source_update_id", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("carrier", Text, nullable=False),  # as it stands now, JSON
    Column("digest", Text, nullable=False),  # of what was admitted, before any edit
    Column("state", Text, nullable=False),
    Column("position", Integer, nullable=False),  # the order of admission
    Column("attempts", Integer, nullable=False),
    Column("due_at", BigInteger),  # NULL: at once
    Column("progress", Text, nullable=False),  # the session's own notes, JSON
    Column("admitted_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger),
    Column("finished_ms", BigInteger),
    Index(None, "state", "position"),
)
