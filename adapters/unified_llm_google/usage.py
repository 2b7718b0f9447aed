"""Counts that the wire has apart from the count which includes them elsewhere: thoughts, and what tools fed back."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.writing import Writer

__all__ = ["apart"]

Node = dict[str, Any]


def apart(c: Node, total: str, details: Node, key: str, w: Writer) -> int | None:
    """Take the part `key` of the sum `total` out of its details; None where it is absent.

    Some servers count more thoughts than output. What is left of a sum is never negative: the part is cut.
    """
    part, whole = details.get(key), c.get(total)
    if type(part) is not int:
        return None
    del details[key]
    if w.crosses and type(whole) is int and part > whole >= 0:
        details[key] = Fated("approximated", f"sent as {whole}: the parts exceed their sum")
        return whole
    return part
