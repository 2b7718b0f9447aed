"""Requests of Interactions: a model or an agent, the input in any of its forms, and the settings.

`input` is a string, one content, a list of contents, a list of steps, or turns of older clients; which it was is a
marker of form. The system instruction is plain text: the leading system messages of other protocols are joined in it.

https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from typing import Any

from unified_llm.errors import InvalidBody
from unified_llm.mapping import Fated, Reader, Writer

from .content import user_parts
from .settings import read_settings, write_settings
from .tables import CONTENTS, REQUEST
from .timeline import read_steps, write_steps

__all__ = ["read_input", "read_request", "write_input", "write_request"]

Node = dict[str, Any]

_SYSTEM = ("system", "developer")


def read_request(w: Node, r: Reader) -> Node:
    _check(w)
    node: Node = {}
    read_input(w, node, r)
    read_settings(w, node, r, REQUEST)
    return node


def write_request(c: Node, w: Writer) -> Node:
    wire: Node = {}
    if w.model and not c.get("agent"):
        wire["model"] = w.model
        c.pop("model", None)
    _hoist(c, w)
    if "input" in c:
        wire["input"] = write_input(c, w)
    write_settings(c, wire, w, REQUEST)
    w.http.update(method="POST", path="/interactions")
    return wire


def _check(w: Node) -> None:
    """What a request cannot be: the official SDK refuses the same before it sends anything."""
    if w.get("model") is not None and w.get("agent") is not None:
        raise InvalidBody("/agent", "a model or an agent, not both")
    refused: tuple[str, ...] = ("generation_config", "cached_content") if w.get("agent") is not None else ()
    refused = ("agent_config",) if w.get("model") is not None else refused
    for key in refused:
        if w.get(key) is not None:
            raise InvalidBody(f"/{key}", f"not with {'a model' if key == 'agent_config' else 'an agent'}")
    if type(w.get("input", "")) not in (str, list, dict, type(None)):
        raise InvalidBody("/input", "a string, a content, or a list of contents or steps is required")


# ---- input ----------------------------------------------------------------------------------------------------------


def read_input(w: Node, node: Node, r: Reader) -> None:
    if "input" not in w:
        return
    value = w.pop("input")
    if type(value) is dict:
        value = [value]
        r.form(node, "input", "single")
    elif type(value) is list and len({_is_content(each) for each in value}) > 1:
        r.form(node, "input", "mixed")
    node["input"] = value if value is None or type(value) is str else read_steps(value, r)


def _is_content(wire: Any) -> bool:
    return type(wire) is dict and wire.get("type") in CONTENTS


def write_input(c: Node, w: Writer) -> Any:
    items = c.pop("input")
    if items is None or type(items) is str:
        return items
    wires = write_steps(items, w, bare=w.form(c, "input") == "mixed")
    return wires[0] if len(wires) == 1 and w.form(c, "input") == "single" else wires


# ---- the system instruction -----------------------------------------------------------------------------------------


def _hoist(c: Node, w: Writer) -> None:
    """Instructions in parts, and the leading run of system messages, become the one text the wire takes."""
    texts: list[str] = []
    instructions = c.get("instructions")
    if type(instructions) is list:
        texts += _text_of(c.pop("instructions"), w)
    elif type(instructions) is str:
        texts.append(instructions)
    items = c.get("input")
    count = 0
    for item in items if type(items) is list else ():
        if item.get("type") != "message" or item.get("role") not in _SYSTEM:
            break
        texts += w.piece(_write_system, item)
        count += 1
    if count or type(instructions) is list:
        c["instructions"] = "\n\n".join(texts)
        if count:
            c["input"] = items[count:]  # type: ignore[index]


def _write_system(c: Node, w: Writer) -> list[str]:
    if c.get("role") == "system":
        del c["role"]
    else:
        c["role"] = Fated("approximated", "sent as the system instruction")
    content = c.pop("content", None)
    return [content] if type(content) is str else _text_of(content or (), w)


def _text_of(parts: Any, w: Writer) -> list[str]:
    """The texts of parts; what is no text is reported."""
    out = []
    for part in parts:
        wire = w.node(user_parts, part) if part.get("type") in ("input_text", "text", "output_text") else None
        if wire is None:
            if part.get("type") not in ("input_text", "text", "output_text"):
                w.drop(part, "the system instruction is plain text")
            continue
        out.append(wire["text"])
    return out
