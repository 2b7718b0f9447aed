"""Breakpoints of cached prompts, which parts of both APIs bear alike.

https://platform.openai.com/docs/guides/prompt-caching
"""

from __future__ import annotations

from typing import Any

from unified_llm.lifetimes import fit_lifetime
from unified_llm.writing import Writer

__all__ = ["write_cache"]

Node = dict[str, Any]

_LIFETIMES = ("30m", "12h")


def write_cache(c: Node, wire: Node, w: Writer) -> Node:
    """The part with its breakpoint, if it has one; what others call a lifetime becomes the nearest there is."""
    if "cache" in c:
        cache = c["cache"]
        said = cache.get("ttl") if type(cache) is dict else None
        if said is None or said in _LIFETIMES or w.source == w.protocol:
            wire["prompt_cache_breakpoint"] = c.pop("cache")
        else:
            wire["prompt_cache_breakpoint"] = fitted = cache.copy()
            fit_lifetime(c, fitted, _LIFETIMES)
    return wire
