"""docs/capabilities.md and the short table in README.md, measured.

`python docs/_capabilities.py` renews both, `--check` only checks that they are current (a test does the same). Every
mark is the measured result of a probe; the text around the tables is here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from _pages import ROOT, filled, renew
from unified_llm.drift import CANONICAL, Key
from unified_llm.drift.layout import Column, Matrix, dialects, differing_models, every_pair, matrix
from unified_llm.drift.observe import Cell
from unified_llm.drift.render import legend, marked
from unified_llm.engine.registry import adapter, protocols

PAGE = ROOT / "docs" / "capabilities.md"
README = ROOT / "README.md"
HEADS = {
    "anthropic-messages": "Messages",
    "google-generate-content": "generateContent",
    "google-interactions": "Interactions",
    "openai-chat": "Chat",
    "openai-responses": "Responses",
}
KINDS = {
    "request": "Requests",
    "response": "Answers",
    "stream": "Streams",
    "error": "Errors",
}
INTRO = """# What is carried

Measured, not written: a probe (a small document that contains one capability) is converted from every protocol to every
other, and the output is compared with the loss report. `python docs/_capabilities.py` renews this page;
`unified-llm matrix` shows the same for dialects and models, as a table, JSON or an HTML heat map;
[drift.md](drift.md) makes tests of it. An empty cell: the source protocol cannot express the value.
"""


def page(found: Matrix) -> str:
    """The whole page."""
    parts = [INTRO, legend(), ""]
    parts += ["## What each protocol can carry", "", "From the canonical document to each protocol.", ""]
    own = _columns(found, CANONICAL)
    parts += [*_kinds(found, own, "###")]
    for source in protocols():
        parts += [f"## From {adapter(source).title}", "", *_kinds(found, _columns(found, source), "###")]
    parts += ["## Dialects", "", "What differs from the protocol without a dialect, of requests and answers.", ""]
    parts += [*_dialects(found), ""]
    parts += ["## Models", "", "What differs by dated model data (`unified_llm.models.profile`), of requests.", ""]
    parts += [*_models(found), ""]
    parts += [*_contradictions(found)]
    return "\n".join(parts).rstrip("\n") + "\n"


def short(found: Matrix) -> str:
    """The table of the README: for each pair how much is carried as it is, in another form, and not."""
    rows = []
    for source in protocols():
        row = [f"**{HEADS.get(source, source)}**"]
        for target in protocols():
            counts = found.counts(Column(source, target))
            lost = sum(counts.get(fate, 0) for fate in ("lost", "refused", "silent", "broken"))
            other = sum(counts.get(fate, 0) for fate in ("emulated", "approximated", "parked"))
            row.append("" if source == target else f"{counts.get('native', 0)} / {other} / {lost}")
        rows.append(row)
    head = ["from \\ to", *(HEADS.get(name, name) for name in protocols())]
    lines = [head, ["---", *[":-:"] * len(protocols())], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _columns(found: Matrix, source: str) -> Matrix:
    columns = tuple(column for column in found.columns if column.source == source)
    cells = {key: cell for key, cell in found.cells.items() if key.source == source}
    return Matrix(columns, found.kinds, cells)


def _kinds(found: Matrix, one: Matrix, level: str) -> Iterator[str]:
    for kind, title in KINDS.items():
        shown = one
        if kind == "stream":
            # A stream is the response as events: only differences are shown.
            same = {
                capability
                for capability in one.capabilities
                if all(
                    _fate(one, column, "response", capability) == _fate(one, column, kind, capability)
                    for column in one.columns
                )
            }
            shown = Matrix(one.columns, one.kinds, {k: c for k, c in one.cells.items() if k.capability not in same})
            title = "Streams, where they are not as answers in one piece"
        table = marked(shown, kind, HEADS)
        if table.count("\n") > 1:
            yield from (f"{level} {title}", "", table, "")


def _fate(found: Matrix, column: Column, kind: str, capability: str) -> str:
    cell = found.cell(column, kind, capability)
    return cell.fate if cell else ""


def _dialects(base: Matrix) -> Iterator[str]:
    yield "| dialect | carried otherwise |"
    yield "| --- | --- |"
    for protocol in protocols():
        if not adapter(protocol).dialects:
            continue
        for name in dialects(protocol):
            differ = {
                key: cell
                for key, cell in matrix(CANONICAL, name, ["request", "response"]).cells.items()
                if base.cells[key._replace(target=protocol)].fate != cell.fate
            }
            yield f"| `{name}` | {_differ(differ) or 'nothing'} |"


def _differ(cells: dict[Key, Cell]) -> str:
    by_fate: dict[str, list[str]] = {}
    for key, cell in cells.items():
        name = f"`{key.capability}`" + ("" if key.kind == "request" else " (answers)")
        by_fate.setdefault(cell.fate, []).append(name)
    return "; ".join(f"{fate}: {', '.join(names)}" for fate, names in by_fate.items())


def _models(base: Matrix) -> Iterator[str]:
    yield "| protocol | models | carried otherwise |"
    yield "| --- | --- | --- |"
    for protocol, names, cells in differing_models(base.cells):
        keyed = {Key("request", CANONICAL, protocol, capability): cell for capability, cell in cells.items()}
        yield f"| `{protocol}` | {', '.join(f'`{name}`' for name in names)} | {_differ(keyed)} |"


def _contradictions(found: Matrix) -> Iterator[str]:
    wrong = [(key, cell) for key, cell in found.cells.items() if cell.fate in ("silent", "denied", "broken")]
    if wrong:
        yield from ("## Bugs", "", "Where the report and the document contradict each other.", "")
        yield from ("| way | kind | capability | |", "| --- | --- | --- | --- |")
        for key, cell in wrong:
            yield f"| `{key.source}` to `{key.target}` | {key.kind} | `{key.capability}` | {cell.fate}: {cell.detail} |"


def renewed() -> dict[Path, str]:
    """What the two files should hold."""
    found = every_pair()
    return {PAGE: page(found), README: filled(README, {"capabilities": short(found)})}


def main() -> int:
    return renew(renewed())


if __name__ == "__main__":
    sys.exit(main())
