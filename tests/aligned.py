"""Tables as text, for the commands of the tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["aligned"]


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
