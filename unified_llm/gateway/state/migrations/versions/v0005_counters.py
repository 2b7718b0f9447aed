"""Counters of limits and budgets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0005"
down_revision = "0004"


def upgrade(op: Operations) -> None:
    """Create the table."""
    op.create_table(
        "counters",
        sa.Column("name", sa.String(512), primary_key=True),
        sa.Column("used", sa.BigInteger, nullable=False),
        sa.Column("ends", sa.BigInteger, nullable=False),
    )
