"""Stored responses, and settings that all nodes share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0001"
down_revision = None


def upgrade(op: Operations) -> None:
    """Create the tables."""
    op.create_table(
        "settings",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "responses",
        sa.Column("tenant", sa.String(255), primary_key=True),
        sa.Column("id", sa.String(255), primary_key=True),
        sa.Column("surface", sa.String(64), nullable=False),
        sa.Column("previous", sa.String(255)),
        sa.Column("upstream", sa.String(255), nullable=False),
        sa.Column("streamed", sa.Boolean, nullable=False),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("response", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_index("responses_expires", "responses", ["expires"])
