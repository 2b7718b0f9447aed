"""Usage: the canonical sums are this wire's own, details under the same names.

Clients of the API require every count, as an integer; one that is not in the source is 0 and recorded as added.

https://platform.openai.com/docs/api-reference/responses/object
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import json_types, take, without
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

__all__ = ["complete_usage", "read_usage", "usage_of", "write_usage"]

Node = dict[str, Any]

_SUMS = ("input_tokens", "output_tokens", "total_tokens")
_DETAILS = {
    "input_tokens_details": ("cached_tokens", "cache_write_tokens", "cache_write_tokens_details"),
    "output_tokens_details": ("reasoning_tokens",),
}
# The key of the details of cache writes; other protocols count them by lifetimes of their own.
_LIFETIMES = frozenset(("ttl_30m_tokens", "ttl_12h_tokens"))
_TYPES = {key: json_types(f"usage.{key}") for key in _DETAILS}


def read_usage(w: Node, r: Reader) -> Node:
    """The canonical usage of the wire node with `usage`; what is not understood stays there."""
    wire = w["usage"]
    own = take(w, "usage")
    usage: Node = {}
    for key in _SUMS:
        if key in own and (type(own[key]) is int or own[key] is None):
            usage[key] = own.pop(key)
    for key, types in _TYPES.items():
        if key in own and own[key] is None:
            usage[key] = own.pop(key)
        elif type(own.get(key)) is dict:
            details = own[key]
            known = {name: details[name] for name in details if name in types and type(details[name]) in types[name]}
            usage[key] = known
            if len(known) == len(details):
                del own[key]
            else:
                own[key] = without(details, known)
    if not own:
        del w["usage"]
    return r.made(usage, wire)


def usage_of(wire: Node, r: Reader) -> Node | None:
    """The canonical usage of a response."""
    usage = wire.get("usage")
    return read_usage({"usage": usage}, r) if type(usage) is dict else None


def write_usage(c: Node, w: Writer, own: bool) -> Node:
    """The wire usage of the canonical node with `usage`; what has no form is left there."""
    wire: Node = w.piece(lambda usage, _: _write_counts(usage, own), c.pop("usage"))
    return wire


def _write_counts(usage: Node, own: bool) -> Node:
    wire: Node = {key: usage.pop(key) for key in _SUMS if key in usage}
    for key, names in _DETAILS.items():
        if type(usage.get(key)) is dict:
            details = usage[key]
            wire[key] = {
                name: details[name]
                for name in details
                if own or (name in names and (name != "cache_write_tokens_details" or _is_ours(details[name])))
            }
            usage[key] = without(details, wire[key])
        elif key in usage:
            wire[key] = usage.pop(key)
    return wire


def _is_ours(lifetimes: Any) -> bool:
    return type(lifetimes) is dict and lifetimes.keys() == _LIFETIMES


def complete_usage(wire: Node, w: Writer) -> None:
    """Give the response its usage, whole."""
    usage = wire.get("usage")
    if type(usage) is not dict:
        usage = wire["usage"] = {}
        w.added(wire, "usage", "count not in the source; 0 written")
    sums = [usage.get("input_tokens"), usage.get("output_tokens")]
    for key in _SUMS:
        if type(usage.get(key)) is not int:
            known = [each for each in sums if type(each) is int] if key == "total_tokens" else []
            usage[key] = sum(known)
            w.added(usage, key, "the sum of both" if len(known) == 2 else "count not in the source; 0 written")
    for key, names in _DETAILS.items():
        details = usage.get(key)
        if type(details) is not dict:
            details = usage[key] = {}
        for name in names[:2]:
            if type(details.get(name)) is not int:
                details[name] = 0
                w.added(details, name, "count not in the source; 0 written")
