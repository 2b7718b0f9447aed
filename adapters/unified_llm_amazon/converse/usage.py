"""Token counts of Converse, where cached input is counted apart; it is part of the sum elsewhere."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, Owned, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from .values import LIFETIMES, is_own, move

__all__ = ["read_usage", "write_usage"]

Node = dict[str, Any]

_PARTS = {"cacheReadInputTokens": "cached_tokens", "cacheWriteInputTokens": "cache_write_tokens"}


def read_usage(w: Node, r: Reader) -> Node:
    """The canonical usage of a wire usage object, which is consumed."""
    usage: Node = {}
    details: Node = {}
    wire = dict(w)
    for key, name in _PARTS.items():
        if type(w.get(key)) is int:
            details[name] = w.pop(key)
            r.place(usage, ("input_tokens_details", name), (key,))
    if type(w.get("inputTokens")) is int:
        usage["input_tokens"] = w.pop("inputTokens") + sum(details.values())
        r.place(usage, ("input_tokens",), ("inputTokens",))
    move(w, "outputTokens", usage, "output_tokens", r, (), int)
    said, both = w.get("totalTokens"), ("input_tokens" in usage and "output_tokens" in usage)
    if type(said) is int and both:
        total = usage["input_tokens"] + usage["output_tokens"]
        if said in (total, total - sum(details.values())):
            move(w, "totalTokens", usage, "total_tokens", r, (), int)
            usage["total_tokens"] = total
            if said != total:
                r.form(usage, "total", "fresh")
    if "total_tokens" not in usage and "totalTokens" not in w:
        r.form(usage, "total", "absent")
    written = w.get("cacheDetails")
    if type(written) is list and written and _is_written(written):
        details["cache_write_tokens_details"] = {each["ttl"]: each["inputTokens"] for each in written}
        del w["cacheDetails"]
        r.place(usage, ("input_tokens_details", "cache_write_tokens_details"), ("cacheDetails",))
    if details:
        usage["input_tokens_details"] = details
    if w:
        r.keep(usage, w)
    return r.made(usage, wire)


def _is_written(entries: list[Any]) -> bool:
    """Whether these are counts of written tokens by lifetime, one for each."""
    if any(type(each) is not dict or each.keys() != {"ttl", "inputTokens"} for each in entries):
        return False
    words = [each["ttl"] for each in entries]
    return all(type(word) is str for word in words) and len({*words}) == len(words)


def write_usage(c: Node, w: Writer) -> Node:
    """The wire usage of a canonical one, which is consumed."""
    own = is_own(w)
    details = take(c, "input_tokens_details") if type(c.get("input_tokens_details")) is dict else Owned()
    if type(c.get("output_tokens_details")) is dict:
        take(c, "output_tokens_details")
    counts = [c.get(key) if type(c.get(key)) is int else None for key in ("input_tokens", "output_tokens")]
    parts = {key: details[name] for key, name in _PARTS.items() if type(details.get(name)) is int}
    wire: Node = {}
    if counts[0] is not None:
        fresh = c.pop("input_tokens")
        for key, count in parts.items():
            if count > fresh and not own:
                # Some servers count what was read from a cache as written to it too; here the counts are apart.
                parts[key] = max(0, fresh)
            fresh -= parts[key]
        if fresh < 0 and not own:
            c["input_tokens"], fresh = Fated("approximated", "sent as 0: no count is negative"), 0
        wire["inputTokens"] = fresh
    if counts[1] is not None:
        wire["outputTokens"] = c.pop("output_tokens")
    total, form = c.get("total_tokens"), w.form(c, "total")
    if type(total) is int:
        both = None if counts[0] is None or counts[1] is None else counts[0] + counts[1]
        wire["totalTokens"] = c.pop("total_tokens")
        if form == "fresh" and total == both:
            wire["totalTokens"] -= sum(parts.values())
    if not own:
        for key, value in (("inputTokens", 0), ("outputTokens", 0)):
            if key not in wire:
                wire[key] = value
                w.added(wire, key, "required by amazon-converse; count not in the source")
        if "totalTokens" not in wire:
            wire["totalTokens"] = wire["inputTokens"] + wire["outputTokens"] + sum(parts.values())
            w.added(wire, "totalTokens", "required by amazon-converse; the sum")
    for key, name in _PARTS.items():
        if key in parts:
            wire[key], count = parts[key], details.pop(name)
            if count != parts[key]:
                details[name] = Fated("approximated", f"sent as {parts[key]}: the parts exceed their sum")
    written = details.get("cache_write_tokens_details")
    if type(written) is dict and all(type(each) is int for each in written.values()):
        if own or written.keys() <= {*LIFETIMES}:
            wire["cacheDetails"] = [{"ttl": ttl, "inputTokens": count} for ttl, count in written.items()]
            del details["cache_write_tokens_details"]
        elif written.keys() <= {f"ephemeral_{ttl}_input_tokens" for ttl in LIFETIMES}:
            wire["cacheDetails"] = [{"ttl": key.split("_")[1], "inputTokens": count} for key, count in written.items()]
            del details["cache_write_tokens_details"]
    return wire
