"""Usage: separate counts to inclusive sums and back.

`candidatesTokenCount` leaves thoughts out and `promptTokenCount` what tools fed back; canonical sums include their
parts, and the separate counts follow by subtraction. A count that was absent stays absent.

https://ai.google.dev/api/generate-content#UsageMetadata
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ...usage import apart
from .enums import GEMINI, MARKER, name_of, number_of

__all__ = ["counts_of", "is_numbered", "read_details", "read_usage", "usage_of", "write_details", "write_usage"]

Node = dict[str, Any]

_MODALITIES = {"TEXT": "text", "IMAGE": "image", "VIDEO": "video", "AUDIO": "audio", "DOCUMENT": "document"}
_WORDS = {hub: word for word, hub in _MODALITIES.items()}
_INPUT, _OUTPUT = "input_tokens_details", "output_tokens_details"


def read_usage(wire: Node, r: Reader) -> Node:
    """The canonical usage of a `usageMetadata`."""
    usage, places = counts_of(wire, r)
    for keys, place in places:
        r.place(usage, keys, place)
    r.lay(usage, _PLACES)
    return r.made(usage, wire)


def counts_of(wire: Node, r: Reader) -> tuple[Node, list[tuple[tuple[str, ...], tuple[Any, ...]]]]:
    """The same, and where its counts by modality stand in it; nothing is noted."""
    w = wire.copy()
    usage: Node = {}
    places: list[tuple[tuple[str, ...], tuple[Any, ...]]] = []
    prompt, tool, answer, thoughts, total, cached = [
        w.pop(name) if name in w and type(w[name]) is int else None for name in _COUNTS
    ]
    inner: Node = {}
    outer: Node = {}
    if prompt is not None or tool is not None:
        usage["input_tokens"] = (prompt or 0) + (tool or 0)
    if answer is not None or thoughts is not None:
        usage["output_tokens"] = (answer or 0) + (thoughts or 0)
    if total is not None:
        usage["total_tokens"] = total
    elif prompt is not None and answer is not None:
        r.form(usage, "total", "absent")
    if prompt is None and tool is not None:
        r.form(usage, "prompt", "absent")
    if answer is None and thoughts is not None:
        r.form(usage, "candidates", "absent")
    if cached is not None:
        inner["cached_tokens"] = cached
    if tool is not None:
        inner["tool_tokens"] = tool
    if thoughts is not None:
        outer["reasoning_tokens"] = thoughts
    numbered = is_numbered(w, *_DETAILS)
    # Another number is another modality, so the whole entry is what a count was read from.
    entry = () if numbered else ("tokenCount",)
    if numbered:
        r.form(usage, MARKER, GEMINI)
    for name, details, group in (("promptTokensDetails", inner, _INPUT), ("candidatesTokensDetails", outer, _OUTPUT)):
        found = read_details(w[name], numbered) if name in w else None
        if found is not None:
            del w[name]
            for index, hub in enumerate(found):
                details[f"{hub}_tokens"] = found[hub]
                places.append(((group, f"{hub}_tokens"), (name, index, *entry)))
            if not found:
                r.form(usage, name, "empty")
    for name, key in _SPLITS:
        found = read_details(w[name], numbered) if name in w else None
        if found is not None:
            del w[name]
            inner[key] = found
            places += [((_INPUT, key, hub), (name, index, *entry)) for index, hub in enumerate(found)]
    if inner:
        usage[_INPUT] = inner
    if outer:
        usage[_OUTPUT] = outer
    if w:
        r.keep(usage, w)
    return usage, places


def usage_of(wire: Node, r: Reader) -> Node | None:
    """The canonical usage of a response."""
    usage = wire.get("usageMetadata")
    return read_usage(usage, r) if type(usage) is dict else None


_COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
    "cachedContentTokenCount",
)
_SPLITS = (("cacheTokensDetails", "cached_tokens_details"), ("toolUsePromptTokensDetails", "tool_tokens_details"))
_DETAILS = ("promptTokensDetails", "candidatesTokensDetails", *(name for name, _ in _SPLITS))
_PLACES = (
    (("input_tokens",), ("promptTokenCount",)),
    (("output_tokens",), ("candidatesTokenCount",)),
    (("total_tokens",), ("totalTokenCount",)),
    ((_INPUT, "cached_tokens"), ("cachedContentTokenCount",)),
    ((_INPUT, "tool_tokens"), ("toolUsePromptTokenCount",)),
    ((_INPUT, "cached_tokens_details"), ("cacheTokensDetails",)),
    ((_INPUT, "tool_tokens_details"), ("toolUsePromptTokensDetails",)),
    ((_OUTPUT, "reasoning_tokens"), ("thoughtsTokenCount",)),
)


def is_numbered(usage: Node, *names: str) -> bool:
    """Whether lists of counts by modality name these by their numbers."""
    for name in names:
        if name in usage and type(usage[name]) is list:
            for each in usage[name]:
                if type(each) is dict and "modality" in each and type(each["modality"]) is int:
                    return True
    return False


def read_details(value: Any, numbered: bool = False) -> Node | None:
    """Counts by modality, these all as names or all as numbers; None for a list with other than one count of each."""
    if type(value) is not list:
        return None
    out: Node = {}
    for each in value:
        if type(each) is not dict or each.keys() != {"modality", "tokenCount"} or type(each["tokenCount"]) is not int:
            return None
        word = name_of(each["modality"], "Modality") if numbered else each["modality"]
        hub = _MODALITIES.get(word) if type(word) is str else None
        if hub is None or hub in out:
            return None
        out[hub] = each["tokenCount"]
    return out


def write_details(counts: Node, whose: Any = None) -> list[Node]:
    """The list of counts by modality, these as `whose` numbers where they came as such."""
    return [{"modality": number_of(_WORDS[hub], "Modality", whose), "tokenCount": n} for hub, n in counts.items()]


def write_usage(c: Node, w: Writer) -> Node:
    """The `usageMetadata` of a canonical usage; pops what it understands."""
    wire: Node = {}
    inner = take(c, _INPUT) if type(c.get(_INPUT)) is dict else {}
    outer = take(c, _OUTPUT) if type(c.get(_OUTPUT)) is dict else {}
    tool = apart(c, "input_tokens", inner, "tool_tokens", w)
    thoughts = apart(c, "output_tokens", outer, "reasoning_tokens", w)
    sums = (
        ("input_tokens", tool, "promptTokenCount", "prompt"),
        ("output_tokens", thoughts, "candidatesTokenCount", "candidates"),
    )
    for hub, part, name, marker in sums:
        if type(c.get(hub)) is int:
            rest = c.pop(hub) - (part or 0)
            if rest or w.form(c, marker) != "absent":
                wire[name] = rest
    if type(c.get("total_tokens")) is int:
        wire["totalTokenCount"] = c.pop("total_tokens")
    elif w.form(c, "total") is None and {"promptTokenCount", "candidatesTokenCount"} <= wire.keys():
        wire["totalTokenCount"] = sum(wire.values()) + (tool or 0) + (thoughts or 0)
        w.added(wire, "totalTokenCount", "the sum")
    if tool is not None:
        wire["toolUsePromptTokenCount"] = tool
    if thoughts is not None:
        wire["thoughtsTokenCount"] = thoughts
    cached = _count(inner, "cached_tokens")
    if cached is not None:
        wire["cachedContentTokenCount"] = cached
    for name, details in (("promptTokensDetails", inner), ("candidatesTokensDetails", outer)):
        counts = {
            key[:-7]: details.pop(key) for key in tuple(details) if key[:-7] in _WORDS and type(details[key]) is int
        }
        if counts or w.form(c, name) == "empty":
            wire[name] = write_details(counts, w.form(c, MARKER))
    for name, key in _SPLITS:
        split = inner.get(key)
        if type(split) is dict and all(hub in _WORDS for hub in split):
            wire[name] = write_details(inner.pop(key), w.form(c, MARKER))
    return wire


def _count(details: Node, key: str) -> int | None:
    return details.pop(key) if type(details.get(key)) is int else None
