"""Lists of models, and one model alone.

https://ai.google.dev/api/models
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import IllTyped, Mapping
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from .values.tables import PROTOCOL

__all__ = ["models", "read_model_list", "write_model_list"]

Node = dict[str, Any]


models = Mapping(f"{PROTOCOL} models", tag="type", default="model")
_PATH = "models/"
_LISTS = ("models", "publisherModels")
_LIMITS = (("inputTokenLimit", "max_input_tokens"), ("outputTokenLimit", "max_output_tokens"))


@models.read("model")
def read_model(w: Node, r: Reader) -> Node:
    name = w.pop("name")
    if type(name) is not str:
        raise IllTyped("name")
    node: Node = {"type": "model", "id": name.removeprefix(_PATH)}
    if not name.startswith(_PATH):
        r.form(node, "name", "bare")
    if type(w.get("displayName")) is str:
        node["display_name"] = w.pop("displayName")
    node.update({hub: w.pop(key) for key, hub in _LIMITS if type(w.get(key)) is int})
    return node


@models.write("model")
def write_model(c: Node, w: Writer) -> Node:
    name = c.pop("id")
    wire: Node = {"name": name if w.form(c, "name") or name.startswith(_PATH) else _PATH + name}
    if "display_name" in c:
        wire["displayName"] = c.pop("display_name")
    wire.update({key: c.pop(hub) for key, hub in _LIMITS if type(c.get(hub)) is int})
    if (c.get("extra") or {}).get(w.protocol) is None:
        wire["supportedGenerationMethods"] = ["generateContent", "streamGenerateContent", "countTokens"]
        w.added(wire, "supportedGenerationMethods", "what is served here")
    return wire


def read_model_list(w: Node, r: Reader) -> Node:
    """A list of models, or one model alone."""
    key = next((key for key in _LISTS if type(w.get(key)) is list), None)
    if key is None:
        if type(w.get("name")) is not str:
            raise IllTyped("models")
        node: Node = {"models": r.nodes(models, [dict(w)])}
        w.clear()
        r.form(node, "list", "alone")
        return node
    node = {"models": r.nodes(models, w.pop(key))}
    if key != _LISTS[0]:
        r.form(node, "list", key)
    return node


def write_model_list(c: Node, w: Writer) -> Any:
    """Write a list of models; a single model alone where it was read so."""
    written = w.nodes(models, c.pop("models", None) or [])
    form = w.form(c, "list")
    if form == "alone" and len(written) == 1:
        return written[0]
    wire: Node = {form or _LISTS[0]: written}
    if c.get("next"):
        wire["nextPageToken"] = c.pop("next")
    return wire
