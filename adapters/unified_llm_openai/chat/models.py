"""The list of models: `{"object": "list", "data": [...]}` and its entries.

https://platform.openai.com/docs/api-reference/models/list
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import IllTyped, Mapping
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ..model_fields import read_fields, write_fields

__all__ = ["models", "read_models", "write_models"]

Node = dict[str, Any]

models = Mapping("openai-chat models", tag="object", default="model")


@models.read("model")
def read_model(w: Node, r: Reader) -> Node:
    return {"type": "model", **read_fields(w)}


@models.write("model")
def write_model(c: Node, w: Writer) -> Node:
    wire: Node = {"object": "model"}
    if w.form(c, "tag") == "absent":
        del wire["object"]
    write_fields(c, wire, w, w.source == w.protocol)
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
