"""Calls of functions whose results are in the same answer: they were executed, and a client must not do so again.

A stored interaction has them where it contains the input of its turn, and so has one whose functions a server ran.

https://ai.google.dev/gemini-api/docs/interactions
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import call_id_of

__all__ = ["CALL", "RESULT", "is_run", "mark_answered", "settle"]

Node = dict[str, Any]

CALL = "function_call"
RESULT = "function_call_output"


def mark_answered(items: Iterable[Node], r: Reader) -> None:
    """Mark the calls of an answer that have a result behind them, and these results: no client executes them."""
    waiting: dict[str | None, list[Node]] = {}
    for item in items:
        if item.get("type") == CALL:
            waiting.setdefault(call_id_of(item), []).append(item)
        elif item.get("type") == RESULT and waiting.get(call_id_of(item)):
            settle((waiting[call_id_of(item)].pop(0), item), r)


def settle(nodes: Iterable[Node], r: Reader) -> None:
    """Mark a call and its result, which go back to their own protocol as they came."""
    for node in nodes:
        node["executor"] = "provider"
        r.form(node, "executor", "answered")


def is_run(c: Node, w: Writer) -> bool:
    """Whether another provider executed a call, or made a result; those that this reader marked are steps here."""
    if c.get("executor") == "provider" and w.form(c, "executor"):
        del c["executor"]
    return c.get("executor") == "provider"
