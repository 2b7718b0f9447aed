"""The small documents beside requests and answers: pages of items, compactions, token counts, deletions, models.

https://platform.openai.com/docs/api-reference/responses/input-items
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import IllTyped, Mapping
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.urls import whole_number

from ...model_fields import read_fields, write_fields
from ..turns.history import is_own, read_items, write_items
from ..values.usage import read_usage, write_usage
from .complete import complete_items

__all__ = [
    "models",
    "read_compact_response",
    "read_count_tokens_response",
    "read_deleted",
    "read_input_items",
    "read_models",
    "write_compact_response",
    "write_count_tokens_response",
    "write_deleted",
    "write_input_items",
    "write_models",
]

Node = dict[str, Any]

models = Mapping("openai-responses models", tag="object", default="model")


def _object(w: Node, node: Node, name: str, r: Reader) -> None:
    """The name of the document's kind, which its writer has."""
    if w.get("object") == name:
        del w["object"]
    elif "object" not in w:
        r.form(node, "object", "absent")


def _named(wire: Node, c: Node, name: str, w: Writer) -> Node:
    kept = ((c.get("extra") or {}).get(w.protocol) or {}).get("rest") or {}
    if w.form(c, "object") != "absent" and "object" not in kept:
        wire["object"] = name
    return wire


def read_input_items(w: Node, r: Reader) -> Node:
    """Read a page of the input items of a stored response."""
    node: Node = {"input": read_items(_list(w, "data"), r)}
    _object(w, node, "list", r)
    for key in ("first_id", "last_id", "has_more"):
        if key in w:
            node[key] = w.pop(key)
    return node


def write_input_items(c: Node, w: Writer) -> Node:
    """A page of items; with `query`, all that were sent, of which the query of a client names the page."""
    query = c.pop("query", None)
    given = c.pop("input", None) or []
    wire = _named({}, c, "list", w)
    if type(query) is dict:
        return {**wire, **_page(complete_items(write_items([_in_full(item) for item in given], w), w), query)}
    data = write_items(given, w)
    wire["data"] = data if is_own(w) else complete_items(data, w)
    for key in ("first_id", "last_id", "has_more"):
        if key in c:
            wire[key] = c.pop(key)
    return wire


def _in_full(item: Node) -> Node:
    """An item as lists have it: requests may leave out the type of a message, and its parts."""
    content, role = item.get("content"), item.get("role")
    if item.get("type") != "message":
        return item
    extra = {name: {key: own[key] for key in own if key != "form"} for name, own in (item.get("extra") or {}).items()}
    item = {**item, "extra": extra}
    if type(content) is str:
        item["content"] = [{"type": "output_text" if role == "assistant" else "input_text", "text": content}]
    return item


def _page(items: list[Node], query: Node) -> Node:
    """The newest come first unless the query has another order."""
    if query.get("order") != "asc":
        items = items[::-1]
    ids = [item.get("id") for item in items]
    after = query.get("after")
    start = ids.index(after) + 1 if after is not None and after in ids else 0
    size = query.get("limit")
    size = (whole_number(size) if type(size) is str else None) or _PAGE
    found = items[start : start + min(size, _MOST)]
    ends = {"first_id": found[0].get("id"), "last_id": found[-1].get("id")} if found else {}
    more = start + len(found) < len(items)
    return {"data": found, "first_id": None, "last_id": None, **ends, "has_more": more}


_PAGE, _MOST = 20, 100


def read_compact_response(w: Node, r: Reader) -> Node:
    """Read a compaction."""
    node: Node = {"output": read_items(_list(w, "output"), r)}
    _object(w, node, "response.compaction", r)
    for key in ("id", "created_at"):
        if key in w:
            node[key] = w.pop(key)
    if type(w.get("usage")) is dict:
        node["usage"] = read_usage(w, r)
    return node


def write_compact_response(c: Node, w: Writer) -> Node:
    """Write a compaction; the items of another protocol get their required fields."""
    output = write_items(c.pop("output", None) or [], w)
    wire = _named({}, c, "response.compaction", w)
    wire["output"] = output if is_own(w) else complete_items(output, w)
    for key in ("id", "created_at"):
        if key in c:
            wire[key] = c.pop(key)
    if type(c.get("usage")) is dict:
        wire["usage"] = write_usage(c, w, is_own(w))
    return wire


def read_count_tokens_response(w: Node, r: Reader) -> Node:
    """Read a count of input tokens."""
    node: Node = {}
    _object(w, node, "response.input_tokens", r)
    if type(w.get("input_tokens")) is int:
        node["input_tokens"] = w.pop("input_tokens")
    return node


def write_count_tokens_response(c: Node, w: Writer) -> Node:
    """Write a count of input tokens."""
    wire = _named({}, c, "response.input_tokens", w)
    if "input_tokens" in c:
        wire["input_tokens"] = c.pop("input_tokens")
    return wire


def read_deleted(w: Node, r: Reader) -> Node:
    """Read the confirmation of a deletion."""
    node: Node = {}
    _object(w, node, "response.deleted", r)
    for key in ("id", "deleted"):
        if key in w:
            node[key] = w.pop(key)
    return node


def write_deleted(c: Node, w: Writer) -> Node:
    """Write the confirmation of a deletion."""
    return _named({key: c.pop(key) for key in ("id", "deleted") if key in c}, c, "response.deleted", w)


@models.read("model")
def read_model(w: Node, r: Reader) -> Node:
    return {"type": "model", **read_fields(w)}


@models.write("model")
def write_model(c: Node, w: Writer) -> Node:
    wire: Node = {} if w.form(c, "tag") == "absent" else {"object": "model"}
    write_fields(c, wire, w, is_own(w))
    return wire


def read_models(w: Node, r: Reader) -> Node:
    """Read a list of models. Raises `IllTyped` without a list."""
    node: Node = {"models": r.nodes(models, _list(w, "data"))}
    _object(w, node, "list", r)
    return node


def write_models(c: Node, w: Writer) -> Node:
    """Write a list of models."""
    wire = _named({}, c, "list", w)
    wire["data"] = w.nodes(models, c.pop("models", None) or [])
    return wire


def _list(w: Node, key: str) -> list[Any]:
    value = w.pop(key, None)
    if type(value) is not list:
        raise IllTyped(key)
    return value
