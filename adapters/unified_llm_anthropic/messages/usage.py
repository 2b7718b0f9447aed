"""Usage: Messages counts fresh, cache-read and cache-written input apart; the canonical sum includes all three.

The split is exact both ways, because every part is in the details. Iterations, fallback credit, speed and place stay
with the usage object; the tier that served the request belongs to the response.

https://docs.claude.com/en/docs/build-with-claude/prompt-caching#tracking-cache-performance
"""

from __future__ import annotations

from typing import Any

from unified_llm.mapping import Fated, take
from unified_llm.reading import Reader
from unified_llm.writing import Writer

__all__ = ["read_usage", "write_usage"]

Node = dict[str, Any]

_PARTS = (("cache_read_input_tokens", "cached_tokens"), ("cache_creation_input_tokens", "cache_write_tokens"))
_LIFETIMES = {"ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"}
_HOSTED = {"web_search_requests": "web_search", "web_fetch_requests": "web_fetch"}


def _is_count(value: Any) -> bool:
    return type(value) is int or value is None


def read_usage(wire: Node, r: Reader) -> Node:
    """The canonical usage of a wire usage object."""
    w = wire.copy()
    usage: Node = {}
    details: Node = {}
    for key, hub in _PARTS:
        if key in w and _is_count(w[key]):
            details[hub] = w.pop(key)
            r.place(usage, ("input_tokens_details", hub), (key,))
    if type(w.get("cache_creation")) is dict or w.get("cache_creation", 0) is None:
        details["cache_write_tokens_details"] = w.pop("cache_creation")
        r.place(usage, ("input_tokens_details", "cache_write_tokens_details"), ("cache_creation",))
    if type(w.get("input_tokens")) is int:
        usage["input_tokens"] = w.pop("input_tokens") + sum(details.get(hub) or 0 for _, hub in _PARTS)
        r.place(usage, ("input_tokens",), ("input_tokens",))
    if type(w.get("output_tokens")) is int:
        usage["output_tokens"] = w.pop("output_tokens")
    if "input_tokens" in usage and "output_tokens" in usage:
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
        r.place(usage, ("total_tokens",), ())
    if details:
        usage["input_tokens_details"] = details
    if type(w.get("output_tokens_details")) is dict and _is_count(w["output_tokens_details"].get("thinking_tokens")):
        if "thinking_tokens" in w["output_tokens_details"]:
            own = take(w, "output_tokens_details")
            usage["output_tokens_details"] = {"reasoning_tokens": own.pop("thinking_tokens")}
            r.place(usage, ("output_tokens_details", "reasoning_tokens"), ("output_tokens_details", "thinking_tokens"))
    elif w.get("output_tokens_details", 0) is None:
        usage["output_tokens_details"] = w.pop("output_tokens_details")
    _read_hosted(w, usage, r)
    if w:
        r.keep(usage, w)
    return r.made(usage, wire)


def _read_hosted(w: Node, usage: Node, r: Reader) -> None:
    counts = w.get("server_tool_use")
    if counts is None and "server_tool_use" in w:
        usage["hosted_tools"] = w.pop("server_tool_use")
    elif type(counts) is dict and any(key in counts for key in _HOSTED):
        own = take(w, "server_tool_use")
        usage["hosted_tools"] = {hub: own.pop(key) for key, hub in _HOSTED.items() if key in own}
        for key, hub in _HOSTED.items():
            r.place(usage, ("hosted_tools", hub), ("server_tool_use", key))
    r.place(usage, ("hosted_tools",), ("server_tool_use",))


def _cut(parts: Node, total: int, details: Node) -> None:
    """Some servers count what was read from a cache as written to it too; here the counts are apart, and add up."""
    for key, hub in _PARTS:
        said = parts.get(key)
        if type(said) is not int:
            continue
        parts[key] = min(said, total)
        total -= parts[key]
        if parts[key] != said:
            details[hub] = Fated("approximated", f"sent as {parts[key]}: the parts exceed their sum")


def write_usage(c: Node, w: Writer) -> Node:
    """The wire usage of a canonical one; pops what it understands."""
    wire: Node = {}
    own = (c.get("extra") or {}).get(w.protocol) is not None or w.context.get("own")
    details = take(c, "input_tokens_details") if type(c.get("input_tokens_details")) is dict else {}
    parts = {key: details.pop(hub) for key, hub in _PARTS if hub in details}
    total, output = c.get("input_tokens"), c.get("output_tokens")
    if type(total) is int and not own:
        _cut(parts, total, details)
    if type(total) is int:
        wire["input_tokens"] = max(0, c.pop("input_tokens") - sum(value or 0 for value in parts.values()))
    elif not own:
        wire["input_tokens"] = 0
        w.added(wire, "input_tokens", "the source does not say")
    for key, _ in reversed(_PARTS):
        if key in parts:
            wire[key] = parts[key]
    written = details.get("cache_write_tokens_details")
    if "cache_write_tokens_details" in details and (own or (type(written) is dict and written.keys() == _LIFETIMES)):
        wire["cache_creation"] = details.pop("cache_write_tokens_details")
    if type(output) is int:
        wire["output_tokens"] = c.pop("output_tokens")
    elif not own:
        wire["output_tokens"] = 0
        w.added(wire, "output_tokens", "the source does not say")
    if type(total) is int and type(output) is int and c.get("total_tokens") == total + output:
        if own:
            del c["total_tokens"]
        else:
            c["total_tokens"] = Fated("approximated", "follows from the other counts")
    if type(c.get("output_tokens_details")) is dict:
        spent = take(c, "output_tokens_details")
        if "reasoning_tokens" in spent and (spent["reasoning_tokens"] is not None or own):
            wire["output_tokens_details"] = {"thinking_tokens": spent.pop("reasoning_tokens")}
    elif "output_tokens_details" in c:
        wire["output_tokens_details"] = c.pop("output_tokens_details")
    if type(c.get("hosted_tools")) is dict:
        counts = take(c, "hosted_tools")
        told = {key: counts.pop(hub) for key, hub in _HOSTED.items() if hub in counts}
        if told:
            wire["server_tool_use"] = told
            for key in () if own else _HOSTED:
                if type(told.get(key)) is not int:
                    told[key] = 0
                    w.added(told, key, "the source does not say")
    elif "hosted_tools" in c:
        wire["server_tool_use"] = c.pop("hosted_tools")
    return wire
