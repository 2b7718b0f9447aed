"""A certificate as text for people: a row for each leaf of the source, then one for each that was made."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...foundation.terminal import columns, printable

if TYPE_CHECKING:
    from .entries import Leaf
    from .trace import Trace

__all__ = ["table"]

Row = tuple[str, str, str]

_HEAD: Row = ("source", "disposition", "target")
_NARROW = 80  # columns that a table needs


def table(trace: Trace, width: int | None = None, limit: int | None = 200) -> str:
    """The certificate as text, `width` columns wide: 0 is a line for each row, None the width of the terminal.

    >>> from unified_llm.losses.certificate import Leaf, Made, Trace
    >>> leaves = (Leaf("/model", ("/model",)), Leaf("/seed", loss="/seed"))
    >>> print(table(Trace("a", "b", "request", leaves, (Made("/max", "added", 9),)), width=0))
    a -> b request: 2 leaves (1 carried, 1 reported), 1 made
    source  disposition  target
    /model  carried      /model
    /seed   reported     (loss at /seed)
            added        /max
    """
    width = columns() if width is None else width
    rows = [*_rows(trace)]
    shown = rows[:limit]
    head = repr(trace).removeprefix("Trace(").removesuffix(")")
    if not width:
        text = f"{head}\n{_lines(shown)}"
    elif width < _NARROW:
        text = "\n".join([head, *(line for row in shown for line in _stacked(row, width))])
    else:
        text = _boxed(head, shown, width)
    if len(shown) < len(rows):
        text += f"\n... and {len(rows) - len(shown)} more rows; .to_json() lists all"
    return text


def _rows(trace: Trace) -> Iterator[Row]:
    for leaf in trace.leaves:
        yield printable(leaf.path or "/"), leaf.disposition, printable(_went(leaf))
    for made in trace.made:
        yield "", made.origin, printable(made.path or "/")


def _went(leaf: Leaf) -> str:
    told = [*leaf.to]
    if leaf.loss is not None:
        told.append(f"(loss at {leaf.loss or '/'})")
    if leaf.rule is not None:
        told.append(f"({leaf.rule})")
    return ", ".join(told)


def _lines(rows: list[Row]) -> str:
    """Plain columns: no line is broken."""
    flat = [_HEAD, *rows]
    first, second = (max(len(row[place]) for row in flat) for place in (0, 1))
    return "\n".join(f"{row[0].ljust(first)}  {row[1].ljust(second)}  {row[2]}".rstrip() for row in flat)


def _stacked(row: Row, width: int) -> list[str]:
    source, disposition, target = row
    return textwrap.wrap(f"{source or 'made'}: {disposition} {target}", width, subsequent_indent="    ")


def _boxed(head: str, rows: list[Row], width: int) -> str:
    """A table as rich draws it, or plain columns without rich."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return f"{head}\n{_lines(rows)}"
    from io import StringIO

    from ...foundation.terminal import plain_row

    drawn = Table()
    for name in _HEAD:
        drawn.add_column(name, no_wrap=name == "disposition", overflow="fold")
    for row in rows:
        plain_row(drawn, *row)
    out = StringIO()
    Console(file=out, width=width).print(drawn)
    return f"{head}\n{out.getvalue().rstrip()}"
