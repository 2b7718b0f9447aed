"""Conversations of clients, and their items."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0006"
down_revision = "0005"


def upgrade(op: Operations) -> None:
    """Create the tables."""
    op.create_table(
        "conversations",
        sa.Column("tenant", sa.String(255), primary_key=True),
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("head", sa.LargeBinary, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("next", sa.BigInteger, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_index("conversations_expires", "conversations", ["expires"])
    op.create_table(
        "conversation_items",
        sa.Column("tenant", sa.String(255), primary_key=True),
        sa.Column("conversation", sa.String(64), primary_key=True),
        sa.Column("place", sa.BigInteger, primary_key=True),
        sa.Column("id", sa.String(255), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
