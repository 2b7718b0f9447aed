"""The least limit of output: Messages takes 0, which fills its cache and answers nothing; others refuse it.

https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..pairs.writing import Writer

__all__ = ["raise_output_limit"]


def raise_output_limit(c: dict[str, Any], w: Writer, least: int = 1) -> None:
    """Raise the limit of a request for another protocol to the `least` that it takes, and report it."""
    limit = c.get("max_output_tokens")
    if w.crosses and type(limit) is int and limit < least:
        c["max_output_tokens"] = least
        w.report(w.doc, ("max_output_tokens",), "approximated", f"the least is {least}")
