"""Usage: the wire's disjoint counts to the canonical inclusive sums and back.

Visible output excludes thoughts, input excludes what tools fed back; the canonical sums include both and name them in
their details, so that the split follows by subtraction. Counts by modality are details of the same sums.

https://ai.google.dev/gemini-api/docs/tokens
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ...usage import apart
from .tables import MODALITIES

__all__ = ["read_usage", "usage_of", "write_usage"]

Node = dict[str, Any]

_BY: tuple[tuple[str, str, str | None], ...] = (
    # wire list, canonical details, key below them
    ("input_tokens_by_modality", "input_tokens_details", None),
    ("output_tokens_by_modality", "output_tokens_details", None),
    ("cached_tokens_by_modality", "input_tokens_details", "cached_tokens_details"),
    ("tool_use_tokens_by_modality", "input_tokens_details", "tool_tokens_details"),
)
_COUNTED = frozenset(MODALITIES.values())
_TOOLS = {"google_search": "web_search", "google_maps": "maps", "retrieval": "retrieval"}
_TOOLS_BACK = {hub: wire for wire, hub in _TOOLS.items()}
# sum, its own count on the wire, the part counted apart, that part's details and key
_SUMS = (
    ("input_tokens", "total_input_tokens", "total_tool_use_tokens", "input_tokens_details", "tool_tokens"),
    ("output_tokens", "total_output_tokens", "total_thought_tokens", "output_tokens_details", "reasoning_tokens"),
)


def read_usage(w: Node, wire: Node, r: Reader) -> Node:
    """The canonical usage of `w`, an object that is ours to pop from; `wire` is where it came from."""
    usage: Node = {}
    for total, visible, separate, home, counted in _SUMS:
        part = w.get(separate)
        if type(part) is int:
            usage.setdefault(home, {})[counted] = w.pop(separate)
            r.place(usage, (home, counted), (separate,))
        if type(w.get(visible)) is int:
            usage[total] = w.pop(visible) + (part if type(part) is int else 0)
            r.place(usage, (total,), (visible,))
    if type(w.get("total_cached_tokens")) is int:
        usage.setdefault("input_tokens_details", {})["cached_tokens"] = w.pop("total_cached_tokens")
        r.place(usage, ("input_tokens_details", "cached_tokens"), ("total_cached_tokens",))
    if "total_tokens" in w:
        usage["total_tokens"] = w.pop("total_tokens")
    for name, details, key in _BY:
        if type(w.get(name)) is list:
            counts = _counts(w[name], "modality", "tokens", MODALITIES)
            if counts is not None:
                del w[name]
                into = usage.setdefault(details, {})
                (into if key is None else into.setdefault(key, {})).update(counts)
                path = (details,) if key is None else (details, key)
                if key is not None:
                    r.place(usage, path, (name,))
                for index, count in enumerate(counts):
                    r.place(usage, (*path, count), (name, index, "tokens"))
                r.form(usage, name, " ".join(counts))
    if type(w.get("grounding_tool_count")) is list:
        counts = _counts(w["grounding_tool_count"], "type", "count", _TOOLS)
        if counts is not None:
            del w["grounding_tool_count"]
            usage["hosted_tools"] = counts
            for index, count in enumerate(counts):
                r.place(usage, ("hosted_tools", count), ("grounding_tool_count", index, "count"))
    return r.made(usage, wire)


def usage_of(wire: Node, r: Reader) -> Node | None:
    """The canonical usage of an interaction."""
    usage = wire.get("usage")
    return read_usage(usage.copy(), usage, r) if type(usage) is dict else None


def _counts(entries: list[Any], name: str, count: str, known: dict[str, str]) -> Node | None:
    """Entries as one object; None when they would not come back as they are."""
    out: Node = {}
    for entry in entries:
        if type(entry) is not dict or entry.keys() != {name, count} or type(entry[count]) is not int:
            return None
        key = known.get(entry[name]) if type(entry[name]) is str else None
        if key is None or key in out:
            return None
        out[key] = entry[count]
    return out


def write_usage(c: Node, w: Writer) -> Node:
    """Write the usage of an interaction, with the counts by modality."""
    wire: Node = {}
    details = {
        name: take(c, name) for name in ("input_tokens_details", "output_tokens_details") if type(c.get(name)) is dict
    }
    nothing: Node = {}
    marked = w.marked(c)
    for name, home, key in _BY:
        found = details.get(home, nothing)
        if key is not None:
            found = take(found, key) if type(found.get(key)) is dict else nothing
        if not found and name not in marked:
            continue
        marker, counts = w.form(c, name), []
        if not _COUNTED.isdisjoint(found):
            ordered = _ordered(marker, MODALITIES)
            counts = [(word, found.pop(count)) for word, count in ordered if type(found.get(count)) is int]
        if counts or marker == "":
            wire[name] = [{"modality": word, "tokens": tokens} for word, tokens in counts]
    for total, visible, separate, home, key in _SUMS:
        found = details.get(home, nothing)
        part = apart(c, total, found, key, w)
        if part is not None:
            wire[separate] = part
        if type(c.get(total)) is int:
            wire[visible] = c.pop(total) - (part or 0)
    cached = details.get("input_tokens_details", nothing)
    if type(cached.get("cached_tokens")) is int:
        wire["total_cached_tokens"] = cached.pop("cached_tokens")
    if "total_tokens" in c:
        wire["total_tokens"] = c.pop("total_tokens")
    if type(c.get("hosted_tools")) is dict:
        tools = take(c, "hosted_tools")
        known = [key for key in tools if key in _TOOLS_BACK and type(tools[key]) is int]
        if known or not tools:
            wire["grounding_tool_count"] = [{"type": _TOOLS_BACK[key], "count": tools.pop(key)} for key in known]
    return wire


def _ordered(marker: str | None, known: dict[str, str]) -> list[tuple[str, str]]:
    """Words and keys in the order the wire had them."""
    order = marker.split() if type(marker) is str else []
    if not order:
        return list(known.items())
    return sorted(known.items(), key=lambda pair: order.index(pair[1]) if pair[1] in order else len(order))
