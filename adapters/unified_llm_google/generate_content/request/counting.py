"""Counting tokens: contents alone, or a whole request inside the counting one, and the count that comes back.

https://ai.google.dev/api/tokens#method:-models.counttokens
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import IllTyped, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ..values.enums import GEMINI, MARKER
from ..values.usage import is_numbered, read_details, write_details
from .document import read_request, write_request
from .route import write_route

__all__ = ["read_count", "read_count_request", "write_count", "write_count_request"]

Node = dict[str, Any]

_WHOLE = "generateContentRequest"


def read_count_request(w: Node, r: Reader) -> Node:
    """The request whose tokens are counted."""
    inner = w.get(_WHOLE)
    if type(inner) is not dict:
        return read_request(w, r)
    own = take(w, _WHOLE)
    node = read_request(own, r)
    r.form(node, "count", "whole")
    return node


def write_count_request(c: Node, w: Writer) -> Node:
    """Contents alone where there is nothing else, the whole request where it matters for the count."""
    model = c.get("model")
    form = w.form(c, "count")
    body = write_request(c, w)
    write_route({"model": model}, {}, w, "countTokens")
    w.http.pop("query", None)
    if form is None and (body.keys() == {"contents"} or w.dialect.get("publishers") or w.source in (None, w.protocol)):
        return body
    if "model" not in body and type(model) is str and form is None:
        body["model"] = w.http.get("path", "").rpartition(":")[0]
        w.added(body, "model", "the counted request names its model")
    return {_WHOLE: body}


def read_count(w: Node, r: Reader) -> Node:
    """The count, as a usage with its input alone."""
    if type(w.get("totalTokens")) is not int:
        raise IllTyped("totalTokens")
    node: Node = {"input_tokens": w.pop("totalTokens")}
    r.place(node, ("input_tokens",), ("totalTokens",))
    details: Node = {}
    if type(w.get("cachedContentTokenCount")) is int:
        details["cached_tokens"] = w.pop("cachedContentTokenCount")
    numbered = is_numbered(w, "promptTokensDetails")
    found = read_details(w.get("promptTokensDetails"), numbered)
    if found:
        if numbered:
            r.form(node, MARKER, GEMINI)
        del w["promptTokensDetails"]
        details.update({f"{hub}_tokens": value for hub, value in found.items()})
        for hub in found:
            r.place(node, ("input_tokens_details", f"{hub}_tokens"), ("promptTokensDetails",))
    if details:
        node["input_tokens_details"] = details
    return node


def write_count(c: Node, w: Writer) -> Node:
    """Write a token count, `totalTokens`, with the counts by modality."""
    c.pop("object", None)
    wire: Node = {"totalTokens": c.pop("input_tokens", 0)}
    if type(c.get("input_tokens_details")) is not dict:
        return wire
    details = take(c, "input_tokens_details")
    if type(details.get("cached_tokens")) is int:
        wire["cachedContentTokenCount"] = details.pop("cached_tokens")
    hubs = [key[:-7] for key in details if key[:-7] in ("text", "image", "video", "audio", "document")]
    counts = {hub: details.pop(f"{hub}_tokens") for hub in hubs if type(details[f"{hub}_tokens"]) is int}
    if counts:
        wire["promptTokensDetails"] = write_details(counts, w.form(c, MARKER))
    return wire
