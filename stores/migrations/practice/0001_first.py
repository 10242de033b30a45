"""The tables of the practice chat."""

import sqlalchemy as sa
from alembic import op


def upgrade() -> None:
    op.create_table(
        "settings",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "people",
        sa.Column("user_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("first_name", sa.String(64), nullable=False),
    )
    op.create_table(
        "threads",
        sa.Column("thread_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("chat_id", sa.BigInteger, nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("icon_color", sa.BigInteger, nullable=False),
        sa.Column("icon_custom_emoji_id", sa.String(64)),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("deleted_at", sa.BigInteger),
    )
    op.create_table(
        "messages",
        sa.Column("message_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("chat_id", sa.BigInteger, nullable=False),
        sa.Column("thread_id", sa.BigInteger),
        sa.Column("from_id", sa.BigInteger, nullable=False),
        sa.Column("sent_at", sa.BigInteger, nullable=False),
        sa.Column("edited_at", sa.BigInteger),
        sa.Column("deleted_at", sa.BigInteger),
        sa.Column("text", sa.Text),
        sa.Column("entities", sa.Text, nullable=False),
        sa.Column("reply_markup", sa.Text, nullable=False),
        sa.Column("reply_to_id", sa.BigInteger),
        sa.Column("service", sa.Text, nullable=False),
        sa.Column("reactions", sa.Text, nullable=False),
    )
    op.create_index("messages_by_thread", "messages", ["chat_id", "thread_id", "message_id"])
    op.create_table(
        "updates",
        sa.Column("update_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "callbacks",
        sa.Column("callback_id", sa.String(32), primary_key=True),
        sa.Column("message_id", sa.BigInteger, nullable=False),
        sa.Column("from_id", sa.BigInteger, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("pressed_at", sa.BigInteger, nullable=False),
        sa.Column("answered_at", sa.BigInteger),
        sa.Column("answer", sa.Text, nullable=False),
    )
