"""The tables in docs/protocols that repeat what an adapter declares, written from the declarations.

`python docs/_protocols.py` renews them, `--check` only checks that they are current (a test does the same). A page is
found by its name, the protocol's id; a table stands between `<!-- natives -->` or `<!-- cannot -->` and `<!-- end -->`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from _pages import filled, renew
from unified_llm.engine.adapter import Adapter
from unified_llm.engine.registry import adapter
from unified_llm.foundation.capabilities import CAPABILITIES

PAGES = Path(__file__).parent / "protocols"


def natives(found: Adapter) -> str:
    """What only this protocol has: wire keys and types, under the capability a loss of them is reported with."""
    rows: dict[str, list[str]] = {}
    for key, capability in found.natives.items():
        rows.setdefault(capability, []).append(key)
    lines = ["| capability | fields and types of the wire |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| `{name}` | {_codes(rows[name])} |" for name in CAPABILITIES if name in rows)])


def cannot(found: Adapter) -> str:
    """What the canonical model has and this protocol has not, by reason, the one with the most first."""
    written = {*found.by_hand}
    for mapping in found.mappings:
        written |= {*mapping.writes, *mapping.same_keys}
    rows: dict[str, set[str]] = {}
    for type_, reason in _refused(found):
        rows.setdefault(reason, set()).add(type_)
    lines = ["| why | never has a form | has one only in some places |", "| --- | --- | --- |"]
    for reason, types in sorted(rows.items(), key=lambda row: (-len(row[1]), row[0])):
        never, sometimes = sorted(types - written), sorted(types & written)
        lines.append(f"| {reason} | {_codes(never)} | {_codes(sometimes)} |")
    return "\n".join(lines)


def _refused(found: Adapter) -> Iterator[tuple[str, str]]:
    yield from found.refuses.items()
    for mapping in found.mappings:
        yield from mapping.cannots.items()


def _codes(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def renewed(page: Path) -> str:
    """The text of a page with its tables as the adapter declares them now."""
    found = adapter(page.stem)
    return filled(page, {"natives": natives(found), "cannot": cannot(found)})


def main() -> int:
    return renew({page: renewed(page) for page in sorted(PAGES.glob("*.md"))})


if __name__ == "__main__":
    sys.exit(main())
