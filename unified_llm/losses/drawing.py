"""The loss report as text for people: a summary, then a row for each group of like losses.

On a terminal the text fits its width: a table drawn by rich (where that is installed) if there is room for one, else
each group on lines of its own. Elsewhere every group is one line, for other programs to read.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..foundation.terminal import columns, printable
from .grouping import LossGroup, at, count, grouped

if TYPE_CHECKING:
    from .report import Losses

__all__ = ["table"]

Row = tuple[str, str, str, str, str]

_HEAD: Row = ("severity", "path", "capability", "fate", "detail")
_NARROW = 80  # columns that a table needs


def table(losses: Losses, width: int | None = None, limit: int | None = 100) -> str:
    """The report as text, `width` columns wide: 0 is a line for each group, None the width of the terminal.

    >>> from unified_llm.losses import Loss, Losses
    >>> report = Losses([Loss("/seed", "sampling.seed", "lost", "anthropic-messages has no seed")])
    >>> print(table(report, width=50))
    1 loss: 1 medium
    medium: sampling.seed lost at /seed
        anthropic-messages has no seed
    """
    if not losses:
        return "No losses."
    width = columns() if width is None else width
    groups = grouped(losses)
    shown = groups[:limit]
    head = count(losses, groups)
    if not width:
        text = f"{head}\n{_lines([_row(group) for group in shown])}"
    elif width < _NARROW:
        text = _stacked(head, shown, width)
    else:
        text = _boxed(head, [_row(group) for group in shown], width)
    if len(shown) < len(groups):
        text += f"\n... and {len(groups) - len(shown)} more kinds of losses; .to_json() lists all"
    return text


def _row(group: LossGroup) -> Row:
    return group.severity, printable(at(group)), group.capability, group.fate, printable(group.detail)


def _lines(rows: Sequence[Row]) -> str:
    """Plain columns: no line is broken."""
    flat = [_HEAD, *(tuple(" ".join(cell.split()) for cell in row) for row in rows)]
    widths = [max(len(row[place]) for row in flat) for place in range(4)]
    padded = ([*(row[place].ljust(widths[place]) for place in range(4)), row[4]] for row in flat)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def _stacked(head: str, groups: Sequence[LossGroup], width: int) -> str:
    """Each group on lines of its own."""
    out = textwrap.wrap(head, width)
    for group in groups:
        severity, where, capability, fate, detail = _row(group)
        out += textwrap.wrap(f"{severity}: {capability} {fate} at {where}", width, subsequent_indent="    ")
        out += textwrap.wrap(detail, width, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(out)


def _boxed(head: str, rows: Sequence[Row], width: int) -> str:
    """A table as rich draws it, or plain columns without rich."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return f"{head}\n{_lines(rows)}"
    from io import StringIO

    from ..foundation.terminal import plain_row

    drawn = Table()
    for name in _HEAD:
        fixed = name in ("severity", "fate")
        drawn.add_column(name, no_wrap=fixed, overflow="fold")
    for row in rows:
        plain_row(drawn, *row)
    out = StringIO()
    Console(file=out, width=width).print(drawn)
    return f"{head}\n{out.getvalue().rstrip()}"
