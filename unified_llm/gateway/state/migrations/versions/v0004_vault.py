"""Opaque data that clients drop, for when their conversations come back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0004"
down_revision = "0003"


def upgrade(op: Operations) -> None:
    """Create the table."""
    op.create_table(
        "vault",
        sa.Column("tenant", sa.String(255), primary_key=True),
        sa.Column("key", sa.String(128), primary_key=True),
        sa.Column("response", sa.String(255)),
        sa.Column("value", sa.LargeBinary, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_index("vault_response", "vault", ["tenant", "response"])
    op.create_index("vault_expires", "vault", ["expires"])
