"""Citations of web pages: what clients of both OpenAI's surfaces require of one, where the source does not have it."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer

__all__ = ["name_page"]


def name_page(wire: dict[str, Any], w: Writer) -> None:
    """Give a written citation of a page its URL and title, empty where the source has none."""
    for key in ("url", "title"):
        if wire.get(key) is None:
            wire[key] = ""
            w.added(wire, key, "required; not in the source")
