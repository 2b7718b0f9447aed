"""The counts of an answer of llama.cpp without usage: they stand beside how long it took.

A stream of its server has usage only where the request has `include_usage`, and `timings` always. `prompt_n` are the
tokens of the prompt that were processed, without those of the cache.

https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Owned, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

__all__ = ["TIMINGS", "has_timings", "is_in_timings", "read_timings", "write_timings"]

Node = dict[str, Any]

TIMINGS = "timings"
_PROMPT, _CACHED, _OUTPUT = "prompt_n", "cache_n", "predicted_n"
_DETAILS = "input_tokens_details"
_KNOWN = frozenset(("input_tokens", "output_tokens", _DETAILS, "extra"))


def has_timings(wire: Node) -> bool:
    """Whether an answer or a chunk has no usage, and timings with its tokens."""
    timings = None if type(wire.get("usage")) is dict else wire.get(TIMINGS)
    return type(timings) is dict and all(_is_count(timings.get(key)) for key in (_PROMPT, _OUTPUT))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def read_timings(wire: Node, r: Reader, *kept: Node) -> Node:
    """The canonical usage in the timings of an answer or a chunk; those that kept them keep what is left."""
    timings = wire[TIMINGS]
    left = Owned(timings)
    usage: Node = {"input_tokens": left.pop(_PROMPT), "output_tokens": left.pop(_OUTPUT)}
    r.place(usage, ("input_tokens",), (_PROMPT,))
    r.place(usage, ("output_tokens",), (_OUTPUT,))
    if _is_count(left.get(_CACHED)):
        cached = left.pop(_CACHED)
        usage["input_tokens"] += cached
        usage[_DETAILS] = {"cached_tokens": cached}
        r.place(usage, (_DETAILS, "cached_tokens"), (_CACHED,))
    for each in kept:
        if each.get(TIMINGS) is timings:
            del each[TIMINGS]
            each.update({TIMINGS: left} if left else {})
    r.form(usage, "place", TIMINGS)
    return r.made(usage, timings)


def is_in_timings(usage: Any, w: Writer) -> bool:
    """Whether the counts go back into timings: they came in them, and are no more than these can have."""
    if type(usage) is not dict or (w.dialect and not w.same) or w.form(usage, "place") != TIMINGS:
        return False
    details = usage.get(_DETAILS, {})
    if usage.keys() - _KNOWN or type(details) is not dict or details.keys() - {"cached_tokens"}:
        return False
    return all(type(usage.get(key)) is int for key in ("input_tokens", "output_tokens"))


def write_timings(c: Node, w: Writer) -> Node:
    """The counts in timings."""
    wire: Node = {_PROMPT: c.pop("input_tokens"), _OUTPUT: c.pop("output_tokens")}
    if _DETAILS in c:
        wire[_CACHED] = take(c, _DETAILS).pop("cached_tokens", None)
        wire[_PROMPT] -= wire[_CACHED] or 0
    return wire
