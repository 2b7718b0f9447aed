"""Usage: Messages counts fresh, cache-read and cache-written input apart; the canonical sum includes all three.

The split is exact both ways, because every part is in the details. Iterations, fallback credit, speed and place stay
with the usage object; the tier that served the request belongs to the response.

https://docs.claude.com/en/docs/build-with-claude/prompt-caching#tracking-cache-performance
"""

from __future__ import annotations

from functools import partial
from typing import Any

from unified_llm.engine import Context, Shape, integer, json
from unified_llm.engine.bridge import read_part, write_part
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from .tables import PROTOCOL

__all__ = ["read_usage", "usage_of", "write_usage"]

Node = dict[str, Any]

UNSAID = "no value in the source"
counts = Shape(
    {
        "input_tokens?": integer("input_tokens").required(0, UNSAID),
        "cache_creation_input_tokens?": integer("input_tokens_details.cache_write_tokens").nullable(),
        "cache_read_input_tokens?": integer("input_tokens_details.cached_tokens").nullable(),
        "cache_creation?": json("input_tokens_details.cache_write_tokens_details", dict).nullable(),
        "output_tokens?": integer("output_tokens").required(0, UNSAID),
        "output_tokens_details?": {"thinking_tokens?": integer("output_tokens_details.reasoning_tokens").nullable()},
        "server_tool_use?": {
            "web_search_requests?": integer("hosted_tools.web_search").required(0, UNSAID),
            "web_fetch_requests?": integer("hosted_tools.web_fetch").required(0, UNSAID),
        },
    },
    name=f"{PROTOCOL} usage",
    node="usage",
)
_PARTS = ("cached_tokens", "cache_write_tokens")
# (By the lifetimes alone, as Bedrock names them.)
_TTLS = {ttl: f"ephemeral_{ttl}_input_tokens" for ttl in ("5m", "1h")}
_LIFETIMES = {*_TTLS.values()}


def read_usage(wire: Node, r: Reader) -> Node:
    """The canonical usage of a wire usage object."""
    usage = read_part(counts, wire, r, whole=False)
    details = usage.get("input_tokens_details") or {}
    if "input_tokens" in usage:
        usage["input_tokens"] += sum(details.get(key) or 0 for key in _PARTS)
        if "output_tokens" in usage:
            usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
            r.place(usage, ("total_tokens",), ())
    return r.made(usage, wire)


def usage_of(wire: Node, r: Reader) -> Node | None:
    """The canonical usage of a message."""
    usage = wire.get("usage")
    return read_usage(usage.copy(), r) if type(usage) is dict else None


def write_usage(c: Node, w: Writer) -> Node:
    """The wire usage of a canonical one."""
    own = (c.get("extra") or {}).get(w.protocol) is not None or bool(w.context.get("own"))
    c.clear()
    return write_part(counts, w.doc, w, partial(_part, own=own), whole=False, own=own)


def _part(c: Node, x: Context, own: bool) -> None:
    """Take the parts out of the sum of the input, and leave out what follows from the other counts."""
    details = c["input_tokens_details"] = dict(c.get("input_tokens_details") or {})
    total, output = c.get("input_tokens"), c.get("output_tokens")
    if type(total) is int:
        if type(output) is int and c.get("total_tokens") == total + output:
            x.carried(c, "total_tokens")
            if not own:
                x.approximated(c, ("total_tokens",), "omitted; derivable from other counts")
            del c["total_tokens"]
        for key in _PARTS:
            said = details.get(key)
            if type(said) is not int:
                continue
            if said > total and not own:
                # Some servers count what was read from a cache as written to it too; here the counts are apart.
                details[key] = said = max(0, total)
                x.approximated(c, ("input_tokens_details", key), f"sent as {said}: the parts exceed their sum")
            total -= said
        c["input_tokens"] = max(0, total)
    written = details.get("cache_write_tokens_details")
    if not own and type(written) is dict and written.keys() <= _TTLS.keys():
        written = details["cache_write_tokens_details"] = {key: written.get(ttl, 0) for ttl, key in _TTLS.items()}
    if not own and written is not None and (type(written) is not dict or written.keys() != _LIFETIMES):
        x.lost(c, ("input_tokens_details", "cache_write_tokens_details"))
        del details["cache_write_tokens_details"]
