"""The first table of an inbox."""

import sqlalchemy as sa
from alembic import op


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "deliveries",
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("source_update_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("carrier", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.Column("admitted_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("finished_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("delivery_id", name=op.f("pk_deliveries")),
    )
    op.create_index(
        op.f("ix_deliveries_state_position"), "deliveries", ["state", "position"], unique=False
    )
