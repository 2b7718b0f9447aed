"""A matrix for readers: Markdown for the documentation, and one HTML page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from ..foundation.capabilities import CAPABILITIES
from .layout import Matrix, table
from .observe import CANONICAL, OBSERVED, Cell

__all__ = ["MARKS", "html", "legend", "markdown", "marked"]

MARKS = {
    "native": "●",
    "emulated": "◍",
    "approximated": "◐",
    "parked": "◔",
    "lost": "○",
    "refused": "✕",
    "denied": "?",
    "silent": "!",
    "broken": "‼",
    "-": " ",
    "": " ",
}
"""One character for each fate."""


def legend(fates: Iterable[str] = OBSERVED) -> str:
    """What the marks mean, as a list."""
    return "\n".join(
        f"- `{MARKS[fate]}` {fate}: {OBSERVED[fate]}" for fate in OBSERVED if fate in fates and fate != "-"
    )


def markdown(found: Matrix) -> str:
    """The table in words, as `unified-llm matrix --markdown` prints it."""
    shown = table(found)
    return _markdown(shown.head, shown.rows)


def marked(found: Matrix, kind: str, heads: Mapping[str, str]) -> str:
    """A table of marks for one kind, with the columns headed by short names."""
    rows = []
    for capability in found.capabilities:
        cells = [found.cell(column, kind, capability) for column in found.columns]
        if any(cell is not None and cell.fate != "-" for cell in cells):
            rows.append((f"`{capability}`", *(MARKS[cell.fate if cell else ""] for cell in cells)))
    return _markdown(("capability", *(heads.get(column.target, column.target) for column in found.columns)), rows)


def _markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] + [":-:"] * (len(head) - 1), *map(list, rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #1b1f24; background: #fff }
table { border-collapse: collapse } caption { text-align: left; font-weight: 600; padding: 1em 0 .3em }
th { font-weight: 500; text-align: left; padding: .15em .5em; white-space: nowrap; background: #fff }
thead th { position: sticky; top: 0; z-index: 1; vertical-align: bottom } tbody th { position: sticky; left: 0 }
td { min-width: 5.5em; text-align: center; padding: .15em .3em; border: 1px solid #fff; font-size: 12px }
.native { background: #3f9b5f; color: #fff } .emulated { background: #8cc7a0 } .approximated { background: #d6dd8a }
.parked { background: #a9c6e8 } .lost { background: #f0b7a6 } .refused { background: #b5443a; color: #fff }
.denied, .silent, .broken { background: #6b1fb1; color: #fff; font-weight: 700 }
.none { background: #f2f2f2; color: #999 }
"""


def html(found: Matrix, title: str = "Capabilities") -> str:
    """A heat map as one page: a table a kind, a color a fate, the detail under the pointer."""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        "<p>"
        + " ".join(
            f'<span class="{_class(fate)}">&nbsp;{fate}&nbsp;</span> {escape(OBSERVED[fate])}.' for fate in OBSERVED
        )
        + "</p>",
    ]
    for kind in found.kinds:
        parts.append(f"<table><caption>{escape(kind)}</caption><thead><tr><th></th>")
        for column in found.columns:
            way = "" if column.source == CANONICAL else f"{escape(column.source)}<br>&rarr; "
            parts.append(
                f"<th>{way}{escape(column.target)}{f'<br>{escape(column.model)}' if column.model else ''}</th>"
            )
        parts.append("</tr></thead><tbody>")
        for capability in found.capabilities:
            cells = [found.cell(column, kind, capability) for column in found.columns]
            if all(cell is None for cell in cells):
                continue
            parts.append(f'<tr><th title="{escape(CAPABILITIES.get(capability, ""))}">{escape(capability)}</th>')
            parts += map(_cell, cells)
            parts.append("</tr>")
        parts.append("</tbody></table>")
    return "\n".join([*parts, "</body></html>", ""])


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return '<td class="none"></td>'
    return f'<td class="{_class(cell.fate)}" title="{escape(cell.detail)}">{escape(cell.fate)}</td>'


def _class(fate: str) -> str:
    return "none" if fate == "-" else fate
