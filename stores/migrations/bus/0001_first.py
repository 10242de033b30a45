"""The first tables of bus.db."""

import sqlalchemy as sa
from alembic import op


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "bindings",
        sa.Column("binding_key", sa.Text(), nullable=False),
        sa.Column("chat_id", sa.BigInteger(), nullable=False),
        sa.Column("thread_id", sa.BigInteger(), nullable=True),
        sa.Column("slot", sa.Text(), nullable=True),
        sa.Column("thread_name", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("instance_id", sa.Text(), nullable=True),
        sa.Column("inactive_since_ms", sa.BigInteger(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("sync_status", sa.Text(), nullable=False),
        sa.Column("last_sync_observed_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_sync_error", sa.Text(), nullable=True),
        sa.Column("last_action", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("binding_key", name=op.f("pk_bindings")),
        sa.UniqueConstraint("chat_id", "thread_id", name=op.f("uq_bindings_chat_id_thread_id")),
        sa.UniqueConstraint("slot", name=op.f("uq_bindings_slot")),
    )
    op.create_index(op.f("ix_bindings_instance_id"), "bindings", ["instance_id"], unique=False)
    op.create_table(
        "identities",
        sa.Column("binding_key", sa.Text(), nullable=False),
        sa.Column("base_id", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("program", sa.Text(), nullable=True),
        sa.Column("directory", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("command", sa.Text(), nullable=True),
        sa.Column("owner_pid", sa.Integer(), nullable=True),
        sa.Column("owner_boot_id", sa.Text(), nullable=True),
        sa.Column("owner_birth", sa.Text(), nullable=True),
        sa.Column("instance_id", sa.Text(), nullable=True),
        sa.Column("claimed_ms", sa.BigInteger(), nullable=False),
        sa.Column("released_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("binding_key", name=op.f("pk_identities")),
        sa.UniqueConstraint("base_id", "ordinal", name=op.f("uq_identities_base_id_ordinal")),
    )
    op.create_table(
        "lease",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("owner_pid", sa.Integer(), nullable=True),
        sa.Column("owner_boot_id", sa.Text(), nullable=True),
        sa.Column("owner_birth", sa.Text(), nullable=True),
        sa.Column("instance_id", sa.Text(), nullable=True),
        sa.Column("heartbeat_ms", sa.BigInteger(), nullable=True),
        sa.Column("endpoint", sa.Text(), nullable=True),
        sa.Column("secret", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease")),
    )
    op.create_table(
        "message_ownership",
        sa.Column("chat_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("message_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("binding_key", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.BigInteger(), nullable=True),
        sa.Column("instance_id", sa.Text(), nullable=False),
        sa.Column("generation", sa.Text(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chat_id", "message_id", name=op.f("pk_message_ownership")),
    )
    op.create_index(
        op.f("ix_message_ownership_chat_id_thread_id"),
        "message_ownership",
        ["chat_id", "thread_id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_message_ownership_updated_ms"), "message_ownership", ["updated_ms"], unique=False
    )
    op.create_table(
        "observations",
        sa.Column("chat_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("thread_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sync_status", sa.Text(), nullable=False),
        sa.Column("observed_ms", sa.BigInteger(), nullable=False),
        sa.Column("instance_id", sa.Text(), nullable=True),
        sa.Column("slot", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("chat_id", "thread_id", name=op.f("pk_observations")),
    )
    op.create_table(
        "pending_cleanups",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("binding_key", sa.Text(), nullable=True),
        sa.Column("instance_id", sa.Text(), nullable=False),
        sa.Column("generation", sa.Text(), nullable=False),
        sa.Column("chat_id", sa.BigInteger(), nullable=False),
        sa.Column("thread_id", sa.BigInteger(), nullable=False),
        sa.Column("requested_ms", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pending_cleanups")),
    )
    op.create_table(
        "pending_provisions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("binding_key", sa.Text(), nullable=False),
        sa.Column("instance_id", sa.Text(), nullable=False),
        sa.Column("thread_name", sa.Text(), nullable=True),
        sa.Column("slot", sa.Text(), nullable=True),
        sa.Column("chat_id", sa.BigInteger(), nullable=False),
        sa.Column("thread_id", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pending_provisions")),
        sa.UniqueConstraint("binding_key", name=op.f("uq_pending_provisions_binding_key")),
    )
    op.create_table(
        "remembered_names",
        sa.Column("binding_key", sa.Text(), nullable=False),
        sa.Column("thread_name", sa.Text(), nullable=True),
        sa.Column("slot", sa.Text(), nullable=True),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("binding_key", name=op.f("pk_remembered_names")),
    )
    op.create_table(
        "reservations",
        sa.Column("chat_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("thread_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("instance_id", sa.Text(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chat_id", "thread_id", name=op.f("pk_reservations")),
        sa.UniqueConstraint("slot", name=op.f("uq_reservations_slot")),
    )
    op.create_table(
        "settings",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_settings")),
    )
