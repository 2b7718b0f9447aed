"""Tools of which one needs approval, and what of them has run."""

from __future__ import annotations

import unified_llm as ul

RAN: list[str] = []


@ul.tool(needs_approval=True)
def delete(name: str) -> str:
    """Delete a file."""
    RAN.append(f"delete {name}")
    return f"{name} is gone"


@ul.tool
def find(name: str) -> str:
    """Find a file."""
    RAN.append(f"find {name}")
    return f"{name} found"


TOOLS = [delete, find]
