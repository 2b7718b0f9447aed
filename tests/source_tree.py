"""The Python files of the source, parsed, and the modules they are."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ROOT / "unified_llm"
ADAPTERS = sorted(p for p in (ROOT / "adapters").iterdir() if p.is_dir() and p.name != "__pycache__")
SOURCES = sorted(p for top in (CORE, *ADAPTERS) for p in top.rglob("*.py"))


def name_of(path: Path) -> str:
    base = CORE.parent if path.is_relative_to(CORE) else ROOT / "adapters"
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))
