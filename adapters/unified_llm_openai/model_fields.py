"""The fields of an entry in a list of models, which both APIs have alike.

https://platform.openai.com/docs/api-reference/models/object
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer

__all__ = ["read_fields", "write_fields"]

Node = dict[str, Any]

_KEYS = (("id", "id"), ("created", "created_at"), ("owned_by", "owned_by"))
# Clients read both of each model; other protocols have no owner, and some no time.
_REQUIRED: Node = {"created": 0, "owned_by": ""}


def read_fields(wire: Node) -> Node:
    """The canonical fields of an entry; they are taken out of it."""
    return {key: wire.pop(name) for name, key in _KEYS if name in wire}


def write_fields(c: Node, wire: Node, w: Writer, is_own: bool) -> None:
    """Write the fields, for an entry of another protocol with those that clients require."""
    for name, key in _KEYS:
        if key in c:
            wire[name] = c.pop(key)
        elif name in _REQUIRED and not is_own:
            wire[name] = _REQUIRED[name]
            w.added(wire, name)
