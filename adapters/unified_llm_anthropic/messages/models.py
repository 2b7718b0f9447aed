"""The list of models and its entries.

https://docs.claude.com/en/api/models-list
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from unified_llm.mapping import IllTyped, Mapping
from unified_llm.reading import Reader
from unified_llm.writing import Writer

__all__ = ["models", "read_models", "write_models"]

Node = dict[str, Any]

models = Mapping("anthropic-messages models")
_KEYS = (("id", "id"), ("display_name", "display_name"))


def _seconds(text: Any) -> int | None:
    """The seconds since 1970 of a time that is written as we would write it."""
    if type(text) is not str:
        return None
    try:
        seconds = int(datetime.fromisoformat(text).timestamp())
    except ValueError:
        return None
    return seconds if _text(seconds) == text else None


def _text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@models.read("model")
def read_model(w: Node, r: Reader) -> Node:
    node: Node = {"type": "model", **{hub: w.pop(key) for key, hub in _KEYS if key in w}}
    seconds = _seconds(w.get("created_at"))
    if seconds is not None:
        del w["created_at"]
        node["created_at"] = seconds
    return node


@models.write("model")
def write_model(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "model", **{key: c.pop(hub) for key, hub in _KEYS if hub in c}}
    if type(c.get("created_at")) in (int, float):
        wire["created_at"] = _text(int(c.pop("created_at")))
    if not (c.get("extra") or {}).get(w.protocol) and w.source != w.protocol:
        wire.setdefault("display_name", wire.get("id", ""))
    return wire


def read_models(w: Node, r: Reader) -> Node:
    if type(w.get("data")) is not list:
        raise IllTyped("data")
    node: Node = {"models": r.nodes(models, w.pop("data"))}
    for key in ("has_more", "first_id", "last_id"):
        if key not in w:
            r.form(node, key, "absent")
    return node


def write_models(c: Node, w: Writer) -> Node:
    data = w.nodes(models, c.pop("models", None) or [])
    wire: Node = {"data": data}
    kept = ((c.get("extra") or {}).get(w.protocol) or {}).get("rest") or {}
    ids = [entry.get("id") for entry in data if type(entry) is dict]
    first, last = (ids[0], ids[-1]) if ids else (None, None)
    for key, value in (("has_more", bool(c.pop("next", None))), ("first_id", first), ("last_id", last)):
        if key not in kept and w.form(c, key) != "absent":
            wire[key] = value
    return wire
