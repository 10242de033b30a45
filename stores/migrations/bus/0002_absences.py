"""What is known of the absence of a process: that its thread was told of it, and since when it was away."""

import sqlalchemy as sa
from alembic import op


def upgrade() -> None:
    """Add the two columns; the processes of before are not known to have been away."""
    op.add_column("identities", sa.Column("farewell_ms", sa.BigInteger(), nullable=True))
    op.add_column("identities", sa.Column("away_since_ms", sa.BigInteger(), nullable=True))
