"""Files and cached prompts of clients, their data, and which responses refer to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0003"
down_revision = "0002"


def upgrade(op: Operations) -> None:
    """Create the tables."""
    op.create_table(
        "files",
        sa.Column("tenant", sa.String(255), primary_key=True),
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reserved", sa.BigInteger, nullable=False),
        sa.Column("received", sa.BigInteger, nullable=False),
        sa.Column("secret", sa.String(64)),
        sa.Column("head", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("updated", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_index("files_expires", "files", ["expires"])
    op.create_index("files_secret", "files", ["secret"], unique=True)
    op.create_table(
        "file_parts",
        sa.Column("tenant", sa.String(255), primary_key=True),
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("part", sa.String(64), primary_key=True),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "file_uses",
        sa.Column("tenant", sa.String(255), primary_key=True),
        sa.Column("file", sa.String(64), primary_key=True),
        sa.Column("response", sa.String(255), primary_key=True),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_index("file_uses_response", "file_uses", ["tenant", "response"])
    op.create_index("file_uses_expires", "file_uses", ["expires"])
