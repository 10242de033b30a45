"""The first tables of ingress.db."""

import sqlalchemy as sa
from alembic import op


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "intake",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("cursor", sa.BigInteger(), nullable=True),
        sa.Column("bot_id", sa.BigInteger(), nullable=True),
        sa.Column("token_fingerprint", sa.Text(), nullable=True),
        sa.Column("highest_epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intake")),
    )
    op.create_table(
        "notices",
        sa.Column("binding_key", sa.Text(), nullable=False),
        sa.Column("noticed_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("binding_key", name=op.f("pk_notices")),
    )
    op.create_table(
        "updates",
        sa.Column("update_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("chat_id", sa.BigInteger(), nullable=True),
        sa.Column("thread_id", sa.BigInteger(), nullable=True),
        sa.Column("message_id", sa.BigInteger(), nullable=True),
        sa.Column("from_id", sa.BigInteger(), nullable=True),
        sa.Column("binding_key", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_retry_ms", sa.BigInteger(), nullable=True),
        sa.Column("failure_class", sa.Text(), nullable=True),
        sa.Column("asked_ms", sa.BigInteger(), nullable=True),
        sa.Column("received_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("update_id", name=op.f("pk_updates")),
    )
    op.create_index(
        op.f("ix_updates_binding_key_state"), "updates", ["binding_key", "state"], unique=False
    )
    op.create_index(
        op.f("ix_updates_chat_id_message_id"), "updates", ["chat_id", "message_id"], unique=False
    )
    op.create_index(
        op.f("ix_updates_state_update_id"), "updates", ["state", "update_id"], unique=False
    )
