"""Breakpoints of cached prompts, which parts of both APIs have alike.

https://platform.openai.com/docs/guides/prompt-caching
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.nearest_values import fit_lifetime

from .effort import model_of

__all__ = [
    "mark_last_text",
    "read_cache",
    "read_text_control",
    "write_cache",
    "write_control",
    "write_own_control",
    "write_text_control",
]

Node = dict[str, Any]

_LIFETIMES = ("30m", "12h")
# Those of Anthropic's spelling, which gateways pass on. https://openrouter.ai/docs/features/prompt-caching
_CONTROL_LIFETIMES = ("5m", "1h")
_CONTROL = {"type": "ephemeral"}
_TEXTS = frozenset(("input_text", "output_text", "text"))


def read_cache(w: Node, part: Node, r: Reader) -> Node:
    """The part with its breakpoint in either spelling; which one it was is a form."""
    if "prompt_cache_breakpoint" in w:
        part["cache"] = w.pop("prompt_cache_breakpoint")
    elif type(w.get("cache_control")) is dict:
        control = w["cache_control"]
        if control.get("type") == "ephemeral" and control.keys() <= {"type", "ttl"}:
            part["cache"] = {"mode": "explicit", **{key: control[key] for key in ("ttl",) if key in control}}
            del w["cache_control"]
            r.form(part, "cache", "control")
            r.place(part, ("cache",), ("cache_control",))
            r.place(part, ("cache", "mode"), ("cache_control", "type"))
    return part


def _is_control(c: Node, w: Writer) -> bool:
    cache = c["cache"]
    if type(cache) is not dict or cache.get("mode", "explicit") != "explicit" or not cache.keys() <= {"mode", "ttl"}:
        return False
    return _spelling(c, w) == "cache_control"


def _spelling(c: Node, w: Writer) -> str | None:
    """How the target spells a breakpoint; None where the server of a dialect takes none."""
    if w.dialect and not w.same:
        return w.dialect.get("cache_key")
    return "cache_control" if w.form(c, "cache") is not None else "prompt_cache_breakpoint"


def write_control(c: Node, wire: Node, w: Writer) -> Node:
    """The part with its breakpoint in Anthropic's spelling."""
    said = c["cache"].get("ttl")
    wire["cache_control"] = {**_CONTROL, **({"ttl": said} if "ttl" in c["cache"] else {})}
    if said is None or said in _CONTROL_LIFETIMES or w.source == w.protocol:
        del c["cache"]
    else:
        fit_lifetime(c, wire["cache_control"], _CONTROL_LIFETIMES)
    return wire


def write_own_control(c: Node, wire: Node, w: Writer) -> Node:
    """A request or a message with its breakpoint, which has Anthropic's spelling alone there."""
    return write_control(c, wire, w) if "cache" in c and _is_control(c, w) else wire


def read_text_control(item: Node, rest: Node, wire: Node, r: Reader) -> None:
    """A breakpoint beside a text is that of the text. https://docs.litellm.ai/docs/completion/prompt_caching"""
    kind = "output_text" if item.get("role") == "assistant" else "input_text"
    part = read_cache(rest, {"type": kind, "text": item["content"]}, r)
    if "cache" in part:
        r.form(part, "string", True)
        r.place(part, ("text",), ("content",))
        item["content"] = [r.made(part, wire)]


def write_text_control(c: Node, w: Writer) -> Node:
    """The inverse, for the protocol it came from."""
    return write_own_control(c, {"content": c.pop("text", "")}, w)


def write_cache(c: Node, wire: Node, w: Writer) -> Node:
    """The part with its breakpoint, if it has one; what others call a lifetime becomes the nearest there is."""
    if "cache" in c:
        cache = c["cache"]
        if _is_control(c, w):
            return write_control(c, wire, w)
        if _spelling(c, w) is None:
            c["cache"] = Fated("lost", "the server takes no cache breakpoints")
            return wire
        if w.crosses and model_of(w).breakpoints is False:
            c["cache"] = Fated("lost", "the model takes no cache breakpoints")
            return wire
        said = cache.get("ttl") if type(cache) is dict else None
        if said is None or said in _LIFETIMES or w.source == w.protocol:
            wire["prompt_cache_breakpoint"] = c.pop("cache")
        else:
            wire["prompt_cache_breakpoint"] = fitted = cache.copy()
            fit_lifetime(c, fitted, _LIFETIMES)
    return wire


def mark_last_text(c: Node, output: Any, w: Writer) -> Any:
    """The output of a call's result with the result's own breakpoint at its end, on the text that is the last part.

    Parts alone have breakpoints in these APIs, and the end of a result is that of its last part. Consumes `cache` of
    `c`; leaves it, and so has it reported, where no text can have it.
    """
    if "cache" not in c or not w.crosses or type(c["cache"]) is not dict:
        return output
    spelling = _spelling(c, w)
    if spelling is None or (spelling != "cache_control" and model_of(w).breakpoints is False):
        return output
    parts = [{"type": "input_text", "text": output}] if type(output) is str else output
    last = parts[-1] if type(parts) is list and parts else {}
    if last.get("type") not in _TEXTS or not last.get("text") or "cache" in last:
        return output
    known = _CONTROL_LIFETIMES if spelling == "cache_control" else _LIFETIMES
    cache = c["cache"].copy()
    if cache.get("ttl") is None or cache["ttl"] in known:
        del c["cache"]
    else:
        fit_lifetime(c, cache, known)
    marked = {**last, "cache": cache}
    if parts is output:
        w.context.setdefault("replaced", []).append((marked, last))
    return [*parts[:-1], marked]
