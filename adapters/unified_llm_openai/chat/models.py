"""The list of models: `{"object": "list", "data": [...]}` and its entries.

https://platform.openai.com/docs/api-reference/models/list
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import IllTyped, Mapping
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

__all__ = ["models", "read_models", "write_models"]

Node = dict[str, Any]

models = Mapping("openai-chat models", tag="object", default="model")
_KEYS = (("id", "id"), ("created", "created_at"), ("owned_by", "owned_by"))
# Clients read both of each model; other protocols have no owner, and some no time.
_REQUIRED: Node = {"created": 0, "owned_by": ""}


@models.read("model")
def read_model(w: Node, r: Reader) -> Node:
    return {"type": "model", **{hub: w.pop(key) for key, hub in _KEYS if key in w}}


@models.write("model")
def write_model(c: Node, w: Writer) -> Node:
    wire: Node = {"object": "model"}
    if w.form(c, "tag") == "absent":
        del wire["object"]
    for key, hub in _KEYS:
        if hub in c:
            wire[key] = c.pop(hub)
        elif key in _REQUIRED and w.source != w.protocol:
            wire[key] = _REQUIRED[key]
            w.added(wire, key)
    return wire


def read_models(w: Node, r: Reader) -> Node:
    """Read a list of models. Raises `IllTyped` without a list."""
    if type(w.get("data")) is not list:
        raise IllTyped("data")
    node: Node = {"models": r.nodes(models, w.pop("data"))}
    if w.get("object") == "list":
        del w["object"]
    else:
        r.form(node, "object", "absent")
    return node


def write_models(c: Node, w: Writer) -> Node:
    """Write a list of models."""
    wire: Node = {"object": "list"} if w.form(c, "object") != "absent" else {}
    wire["data"] = w.nodes(models, c.pop("models", None) or [])
    return wire
