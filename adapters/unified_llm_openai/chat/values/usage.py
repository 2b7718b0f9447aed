"""Usage: the sums renamed, the details under their own names, and the counts in other places.

Canonical sums include their parts. A server whose `completion_tokens` leaves reasoning out (the total shows it) is read
inclusively and written as it was; a server's own counters stay with the usage object.

https://platform.openai.com/docs/api-reference/chat/object#chat/object-usage
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Owned, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ..request.controls import set_at
from .tables import CACHED_SPELLINGS, INPUT_DETAILS, OUTPUT_DETAILS
from .timings import has_timings, read_timings

__all__ = ["USAGE_PLACES", "is_told", "read_usage", "usage_of", "write_usage"]

Node = dict[str, Any]

_SUMS = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"), ("total_tokens", "total_tokens"))
_DETAILS = (
    ("prompt_tokens_details", "input_tokens_details", INPUT_DETAILS),
    ("completion_tokens_details", "output_tokens_details", OUTPUT_DETAILS),
)


_NAMES = (*((hub, name) for name, hub in _SUMS), *((hub, name) for name, hub, _ in _DETAILS))
_PLACES = tuple(((hub,), (name,)) for hub, name in _NAMES)
USAGE_PLACES = tuple((("usage", hub), ("usage", name)) for hub, name in _NAMES)
"""Where the counts of an answer are, below the answer."""


_COUNTS = frozenset((int, type(None)))


def read_usage(wire: Node, r: Reader) -> Node:
    """The canonical usage of a wire usage object."""
    w = wire.copy()
    usage: Node = {}
    for name, hub in _SUMS:
        if name in w and type(w[name]) in _COUNTS:
            usage[hub] = w.pop(name)
    for name, hub, keys in _DETAILS:
        if name in w and w[name] is None:
            usage[hub] = w.pop(name)
        elif type(w.get(name)) is dict:
            inner = w[name]
            usage[hub] = known = {key: inner[key] for key in keys if key in inner and type(inner[key]) in _COUNTS}
            if len(known) == len(inner):
                del w[name]
            else:
                w[name] = Owned({key: value for key, value in inner.items() if key not in known})
    spelled = None
    for spelling in CACHED_SPELLINGS:
        if type(w.get(spelling)) is int and "input_tokens_details" not in usage:
            usage["input_tokens_details"] = {"cached_tokens": w.pop(spelling)}
            r.form(usage, "cached", spelling)
            spelled = spelling
    if "usage" in r.dialect:
        paths = [path for hub, path in r.dialect["usage"].items() if _read_path(w, usage, hub, path, r)]
        if paths:
            r.form(usage, "paths", paths)
    reasoning = (usage.get("output_tokens_details") or {}).get("reasoning_tokens")
    total = usage.get("total_tokens", _sum(usage, reasoning or 0) if r.dialect.get("usage_apart") else None)
    if reasoning and _sum(usage) is not None and total == _sum(usage, reasoning):
        usage["output_tokens"] += reasoning
        r.form(usage, "reasoning", "apart")
    r.lay(usage, _PLACES)
    if spelled is not None:
        r.place(usage, ("input_tokens_details",), (spelled,))
        r.place(usage, ("input_tokens_details", "cached_tokens"), (spelled,))
    if "total_tokens" not in usage:
        r.form(usage, "total", "absent")
    if w:
        r.keep(usage, w)
    return r.made(usage, wire)


def usage_of(wire: Node, r: Reader) -> Node | None:
    """The canonical usage of a completion."""
    if has_timings(wire):
        return read_timings(wire, r)
    usage = wire.get("usage")
    return read_usage(usage, r) if type(usage) is dict else None


def _read_path(w: Node, usage: Node, hub: str, path: str, r: Reader) -> bool:
    """A count that the server of the dialect sends in another place, unless it is there already."""
    *above, leaf = path.split(".")
    group, _, key = hub.rpartition(".")
    node: Any = w
    for name in above:
        node = node.get(name) if type(node) in (dict, Owned) else None
    if type(node) not in (dict, Owned) or type(node.get(leaf)) is not int:
        return False
    if type(usage.get(group, {})) is not dict or key in usage.get(group, ()):
        return False
    node = w
    for name in above:
        node = node[name] if type(node[name]) is Owned else take(node, name)
    usage.setdefault(group, {})[key] = node.pop(leaf)
    r.place(usage, (group, key), (*above, leaf))
    return True


def _sum(usage: Node, *more: int) -> int | None:
    counts = (usage.get("input_tokens"), usage.get("output_tokens"))
    return sum(counts) + sum(more) if None not in counts else None  # type: ignore[arg-type]


def write_usage(c: Node, w: Writer) -> Node:
    """The wire usage of a canonical one; pops what it understands."""
    wire: Node = {}
    spelling = w.form(c, "cached")
    apart = w.form(c, "reasoning") == "apart" or (bool(w.dialect.get("usage_apart")) and not w.same)
    for name, hub in _SUMS:
        if hub in c:
            wire[name] = c.pop(hub)
    if (
        "total_tokens" not in wire
        and type(wire.get("prompt_tokens")) is int
        and type(wire.get("completion_tokens")) is int
    ):
        if w.form(c, "total") != "absent":
            wire["total_tokens"] = wire["prompt_tokens"] + wire["completion_tokens"]
            w.added(wire, "total_tokens", "the sum of both")
    for name, hub, keys in _DETAILS:
        if hub not in c:
            continue
        if type(c[hub]) is not dict:
            wire[name] = c.pop(hub)
            continue
        own = take(c, hub)
        details = {key: own.pop(key) for key in keys if key in own}
        if spelling and "cached_tokens" in details:
            wire[spelling] = details.pop("cached_tokens")
            if not details:
                continue
        wire[name] = details
    marked = w.form(c, "paths") or ()
    for hub, path in w.dialect.get("usage", {}).items():
        if path in marked if w.same else True:
            _write_path(wire, hub, path)
    if wire and w.crosses:
        _complete(wire, w)
    if apart and type(wire.get("completion_tokens")) is int:
        wire["completion_tokens"] -= (wire.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    return wire


def _complete(wire: Node, w: Writer) -> None:
    """Give usage of which the source counts something the sums that the API's clients require.

    And to details the count that they always have at the API, of cached or of reasoning tokens.
    """
    sums = {name: wire[name] for name, _ in _SUMS if type(wire.get(name)) is int}
    for name, _ in _SUMS:
        if name in sums:
            continue
        if name == "total_tokens" or "total_tokens" not in sums:
            wire[name] = sum(sums.values()) if name == "total_tokens" else 0
            w.added(wire, name, "required; not in the source")
        else:
            wire[name] = max(0, 2 * sums["total_tokens"] - sum(sums.values()))
            w.added(wire, name, "the total without what is counted")
            sums[name] = wire[name]
    for name, _, keys in _DETAILS if "usage" not in w.dialect else ():
        details = wire.get(name)
        if type(details) is dict and type(details.get(keys[0])) is not int:
            details[keys[0]] = 0
            w.added(details, keys[0], "count not in the source; 0 written")


def is_told(wire: Node, usage: Node, w: Writer) -> bool:
    """Whether a usage object has content: an empty one is sent only where it came from this protocol."""
    return bool(wire) or w.form(usage, "total") is not None


_WIRE_GROUPS = {hub: name for name, hub, _ in _DETAILS}


def _write_path(wire: Node, hub: str, path: str) -> None:
    """Write a count where the server of the dialect has it."""
    group, _, key = hub.rpartition(".")
    details = wire.get(_WIRE_GROUPS[group])
    if type(details) is not dict or key not in details:
        return
    value = details.pop(key)
    if not details and not path.startswith(_WIRE_GROUPS[group]):
        del wire[_WIRE_GROUPS[group]]
    set_at(wire, path, value)
