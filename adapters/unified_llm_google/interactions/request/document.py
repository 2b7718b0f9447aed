"""Requests of Interactions: a model or an agent, the input in any of its forms, and the settings.

`input` is a string, one content, a list of contents, a list of steps, or turns of older clients; which it was is a
marker of form. The system instruction is plain text: the leading system messages of other protocols are joined in it.

https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.nearest_values import raise_output_limit
from unified_llm.foundation.errors import CapabilityRefused, InvalidBody

from ..parts import user_parts
from ..turns.timeline import read_steps, write_steps
from ..values.tables import CONTENTS, KEEPING, REQUEST
from .settings import read_settings, write_settings

__all__ = ["read_input", "read_request", "write_input", "write_request"]

Node = dict[str, Any]

_SYSTEM = ("system", "developer")


def read_request(w: Node, r: Reader) -> Node:
    """Read a request. Raises `InvalidBody` for one that is malformed."""
    _check(w, r)
    node: Node = {}
    read_input(w, node, r)
    read_settings(w, node, r, REQUEST)
    return node


def write_request(c: Node, w: Writer) -> Node:
    """Write a request. Raises `CapabilityRefused` without a model and an agent."""
    wire: Node = {}
    if w.source is None and w.facing == "provider" and not w.model and not (c.get("model") or c.get("agent")):
        raise CapabilityRefused("/model", "metadata", _NEITHER)
    if w.model and not c.get("agent"):
        wire["model"] = w.model
        c.pop("model", None)
    _choose(c, w)
    _hoist(c, w)
    if "input" in c:
        wire["input"] = write_input(c, w)
    raise_output_limit(c, w)
    write_settings(c, wire, w, REQUEST)
    _keep_nothing(wire, w)
    w.http.update(method="POST", path="/interactions")
    return wire


def _keep_nothing(wire: Node, w: Writer) -> None:
    """Write a default of storing, where the source's own provider would keep nothing.

    Not for what lives on the server anyway: a run in the background, an agent, a conversation that is gone on with.
    """
    if w.source is None or w.source in KEEPING or "store" in wire:
        return
    if not (wire.get("background") or wire.get("agent") or wire.get("previous_interaction_id")):
        wire["store"] = False
        w.added(wire, "store", "written because the target's default differs")


def _choose(c: Node, w: Writer) -> None:
    """What does not go with a model, or with an agent, is left out: the service refuses it."""
    agent = c.get("agent") is not None
    model = c.get("model") is not None or (w.model and not agent)
    left: tuple[str, ...] = ("model", "cached_content") if agent else ("agent_config",) if model else ()
    for key in left:
        if c.get(key) is not None:
            del c[key]
            w.report(w.doc, (key,), "lost", "not with an agent" if agent else "not with a model")


_NEITHER = "a model or an agent is required"


def _check(w: Node, r: Reader) -> None:
    """What a request cannot be: the official SDK refuses the same before it sends anything."""
    if w.get("model") is None and w.get("agent") is None:
        r.context["misfits"] = [(("model",), _NEITHER)]  # reported to strict readers
    if w.get("model") is not None and w.get("agent") is not None:
        raise InvalidBody("/agent", "set model or agent, not both")
    refused: tuple[str, ...] = ("generation_config", "cached_content") if w.get("agent") is not None else ()
    refused = ("agent_config",) if w.get("model") is not None else refused
    for key in refused:
        if w.get(key) is not None:
            raise InvalidBody(f"/{key}", f"not with {'a model' if key == 'agent_config' else 'an agent'}")
    if w.get("background") is True and w.get("store") is False:
        raise InvalidBody("/store", "background=true requires store=true")
    if type(w.get("input", "")) not in (str, list, dict, type(None)):
        raise InvalidBody("/input", "a string, a content, or a list of contents or steps is required")


# ---- input ----------------------------------------------------------------------------------------------------------


def read_input(w: Node, node: Node, r: Reader) -> None:
    """Read `input` (a string, contents, steps or older turns) into `node`."""
    if "input" not in w:
        return
    value = w.pop("input")
    if type(value) is dict:
        value = [value]
        r.form(node, "input", "single")
    node["input"] = value if value is None or type(value) is str else read_steps(value, r)
    if r.context.get("bare") and len(set(map(_is_content, value))) > 1:
        r.form(node, "input", "mixed")


def _is_content(wire: Any) -> bool:
    return type(wire) is dict and wire.get("type") in CONTENTS


def write_input(c: Node, w: Writer) -> Any:
    """The wire input: a string stays one, items become steps."""
    items = c.pop("input")
    if items is None or type(items) is str:
        return items
    wires = write_steps(items, w, bare=w.form(c, "input") == "mixed")
    return wires[0] if len(wires) == 1 and w.form(c, "input") == "single" else wires


# ---- the system instruction -----------------------------------------------------------------------------------------


def _hoist(c: Node, w: Writer) -> None:
    """Instructions in parts, and the leading run of system messages, become the one text the wire takes."""
    texts: list[str] = []
    said: list[tuple[Node, str]] = []  # where each text stands
    instructions = c.get("instructions")
    if type(instructions) is list:
        texts += _text_of(c.pop("instructions"), w, said)
    elif type(instructions) is str:
        texts.append(instructions)
        said.append((w.doc, "instructions"))
    items = c.get("input")
    count = 0
    for item in items if type(items) is list else ():
        if item.get("type") != "message" or item.get("role") not in _SYSTEM:
            break
        texts += w.piece(partial(_write_system, item, said), item)
        count += 1
    if len(texts) > 1:
        for node, key in said:
            w.report(node, (key,), "approximated", "joined to one text")
    if count or type(instructions) is list:
        c["instructions"] = "\n\n".join(texts)
        if count:
            c["input"] = items[count:]  # type: ignore[index]


def _write_system(item: Node, said: list[tuple[Node, str]], c: Node, w: Writer) -> list[str]:
    if c.get("role") == "system":
        del c["role"]
    else:
        c["role"] = Fated("approximated", "sent as the system instruction")
    content = c.pop("content", None)
    if type(content) is not str:
        return _text_of(content or (), w, said)
    said.append((item, "content"))
    return [content]


def _text_of(parts: Any, w: Writer, said: list[tuple[Node, str]]) -> list[str]:
    """The texts of parts; what is not a text is reported."""
    out = []
    for part in parts:
        if (
            w.crosses
            and part.get("annotations")
            and type(part["annotations"]) is list
            and type(part.get("text")) is str
        ):
            out.append(w.piece(_uncited, part))
            said.append((part, "text"))
            continue
        wire = w.node(user_parts, part) if part.get("type") in ("input_text", "text", "output_text") else None
        if wire is None:
            if part.get("type") not in ("input_text", "text", "output_text"):
                w.drop(part, "the system instruction is plain text")
            continue
        out.append(wire["text"])
        said.append((part, "text"))
    return out


def _uncited(c: Node, w: Writer) -> Any:
    for note in c.pop("annotations"):
        w.drop(note, "the system instruction cites nothing")
    return c.pop("text")
