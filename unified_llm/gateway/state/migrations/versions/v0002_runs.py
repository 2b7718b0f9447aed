"""Runs in the background, and the events that their clients have been shown."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0002"
down_revision = "0001"


def upgrade(op: Operations) -> None:
    """Create the tables."""
    op.create_table(
        "runs",
        sa.Column("id", sa.String(255), primary_key=True),
        sa.Column("tenant", sa.String(255), nullable=False),
        sa.Column("surface", sa.String(64), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("cancel", sa.Boolean, nullable=False),
        sa.Column("head", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_index("runs_status", "runs", ["status", "owner"])
    op.create_index("runs_expires", "runs", ["expires"])
    op.create_table(
        "segments",
        sa.Column("run", sa.String(255), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("first", sa.Integer, primary_key=True),
        sa.Column("last", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
