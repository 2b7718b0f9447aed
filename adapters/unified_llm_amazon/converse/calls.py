"""Calls of tools and their results, reasoning, and changes of the tools: blocks that are items of their own.

A call with a `type` is executed by the provider, and its result stands in the assistant's message too. Reasoning is
text with a signature, or redacted; another provider's data travels towards a client in an envelope in `signature`.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ReasoningContentBlock.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.record import NOTE
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.json_codec import dump_text, load_text
from unified_llm.provenance.opaque import anchor_of, is_envelope, opaque_piece, restore, seal, split_opaque

from .parts import parts, written
from .passes.requests import taken
from .values import PROTOCOL, is_own, move, need

__all__ = ["blocks", "sealed", "thoughts"]

Node = dict[str, Any]

blocks = Mapping(f"{PROTOCOL} blocks", tag="")
RAW = "_raw"
_SERVER = "server_tool_use"
_REFUSED = "the envelope is refused: damaged, moved, or not ours"

# ---- calls and results ----------------------------------------------------------------------------------------------


@blocks.read("toolUse")
def _read_call(w: Node, r: Reader) -> Node:
    own = take(w, "toolUse")
    node: Node = {"type": "function_call"}
    need(own, "toolUseId", node, "call_id", r, ("toolUse",), str)
    need(own, "name", node, "name", r, ("toolUse",), str)
    node["arguments"] = dump_text(own.pop("input"))
    r.place(node, ("arguments",), ("toolUse", "input"))
    if own.get("type") == _SERVER:
        del own["type"]
        node["executor"] = "provider"
        r.place(node, ("executor",), ("toolUse", "type"))
    return node


@written(blocks, "function_call")
def _write_call(c: Node, w: Writer) -> Node:
    wire = _call(c, w)
    text = c.pop("arguments", None)
    wire["input"] = _input(text, c, w)
    if text is None:
        w.added(wire, "input", "required by amazon-converse")
    return {"toolUse": wire}


def _call(c: Node, w: Writer) -> Node:
    key = "call_id" if c.get("call_id") is not None or c.get("id") is None else "id"
    name = c.pop("name", None)
    wire = {"toolUseId": c.pop(key, None) or "", "name": name or ""}
    if c.get("executor") in ("provider", "client"):
        if c.pop("executor") == "provider":
            wire["type"] = _SERVER
    if not wire["toolUseId"]:
        w.added(wire, "toolUseId", "required by amazon-converse")
    if name is None:
        w.added(wire, "name", "required by amazon-converse")
    return wire


def _input(text: Any, c: Node, w: Writer) -> Any:
    value: Any = {} if text in (None, "") else text
    try:
        value = load_text(text) if type(text) is str and text else value
    except ValueError:
        pass
    if type(value) is not dict and not (is_own(w) and value is not text):
        c["arguments"] = Fated("approximated", f"no JSON object: wrapped as {RAW}")
        return {RAW: text}
    return value


@written(blocks, "custom_tool_call")
def _write_custom(c: Node, w: Writer) -> Node:
    wire = _call(c, w)
    given = c.get("input")
    if given is not None:
        c["input"] = Fated("approximated", "sent as a call of a function of one string")
    c["type"] = Fated("approximated", "sent as a call of a function of one string")
    return {"toolUse": {**wire, "input": {"input": given if type(given) is str else ""}}}


@blocks.read("toolResult")
def _read_result(w: Node, r: Reader) -> Node:
    own = take(w, "toolResult")
    node: Node = {"type": "function_call_output"}
    need(own, "toolUseId", node, "call_id", r, ("toolResult",), str)
    content = own.pop("content")
    if type(content) is list and len(content) == 1 and type(content[0]) is dict and content[0].keys() == {"text"}:
        # Text alone is what most others have for a result.
        move(content[0].copy(), "text", node, "output", r, ("toolResult", "content", 0), str)
    if "output" not in node:
        node["output"] = r.nodes(parts, content)
    if own.get("status") in ("success", "error"):
        node["is_error"] = own.pop("status") == "error"
        r.place(node, ("is_error",), ("toolResult", "status"))
    if type(own.get("type")) is str:
        node["executor"] = "provider"
        r.place(node, ("executor",), ("toolResult", "type"))
    return node


@written(blocks, "custom_tool_call_output")
def _write_custom_result(c: Node, w: Writer) -> Any:
    c["type"] = Fated("approximated", "sent as the result of a function")
    return _write_result(c, w)


@written(blocks, "function_call_output")
def _write_result(c: Node, w: Writer) -> Node:
    output = c.pop("output", None)
    wire: Node = {"toolUseId": c.pop("call_id", None) or ""}
    if type(output) is list:
        wire["content"] = w.nodes(parts, taken(output, w, result=True))
    else:
        wire["content"] = [{"text": output}] if type(output) is str and (output or is_own(w)) else []
    if type(c.get("is_error")) is bool:
        wire["status"] = "error" if c.pop("is_error") else "success"
    if c.get("executor") in ("provider", "client") and is_own(w):
        del c["executor"]
    elif c.get("executor") == "client":
        del c["executor"]
    elif c.get("executor") == "provider":
        c["executor"] = Fated("approximated", "represented by its call")
    return {"toolResult": wire}


# ---- reasoning ------------------------------------------------------------------------------------------------------


def thoughts(item: Node) -> str:
    """The readable text of a reasoning item."""
    texts = [part.get("text") for key in ("summary", "content") for part in item.get(key) or () if type(part) is dict]
    return "\n\n".join(text for text in texts if type(text) is str and text)


def sealed(item: Node, text: str, w: Writer) -> str:
    """The envelope of a reasoning item of another provider, for the signature of a block."""
    return seal({key: item[key] for key in item if key not in ("turn", "cache")}, anchor_of({"text": text}), w.secret)


@blocks.read("reasoningContent")
def _read_reasoning(w: Node, r: Reader) -> Node:
    own = take(w, "reasoningContent")
    at = ("reasoningContent",)
    if type(own.get("redactedContent")) is str:
        item: Node = {
            "type": "reasoning",
            "summary": [],
            "opaque": [opaque_piece("redacted", own["redactedContent"], r)],
        }
        del own["redactedContent"]
        r.place(item, ("opaque",), (*at, "redactedContent"))
        return item
    inner = take(own, "reasoningText")
    text, signature = inner["text"], inner.get("signature")
    if type(text) is not str:
        raise IllTyped("text")
    del inner["text"]
    item = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}] if text else []}
    r.place(item, ("content", 0, "text"), (*at, "reasoningText", "text"))
    if is_envelope(signature, r):
        restored = restore(inner.pop("signature"), item, anchor_of({"text": text}), r)
        if restored is None:
            r.note(item, ("opaque",), "lost", _REFUSED)
        return restored or item
    if type(signature) is str:
        item["opaque"] = [opaque_piece("signature", inner.pop("signature"), r)]
        r.place(item, ("opaque",), (*at, "reasoningText", "signature"))
    elif "signature" not in inner:
        r.form(item, "signature", "absent")
    return item


@written(blocks, "reasoning")
def _write_reasoning(c: Node, w: Writer) -> Node | None:
    item = {"type": "reasoning", **c}
    own, foreign = split_opaque(c, w)
    kinds = {piece.get("kind"): piece["data"] for piece in own}
    text = thoughts(item)
    if len(own) == 1 and not foreign and "redacted" in kinds:
        c.pop("summary", None)
        if not c.get("content"):
            c.pop("content", None)
        return {"reasoningContent": {"redactedContent": kinds["redacted"]}}
    if len(own) == 1 and not foreign and "signature" in kinds:
        return _block(c, text, kinds["signature"])
    if not own and not foreign and w.form(c, "signature") == "absent":
        return _block(c, text, None)
    if w.facing == "client":
        wire = _block(c, text, sealed(item, text, w))
        if item.get("summary") and w.secret is None and w.vault is None:
            c["summary"] = Fated("approximated", "sent as reasoning text")
        if own or foreign:
            c["opaque"] = Fated("parked", NOTE)
        for key, value in c.items():
            if key not in ("extra", "turn") and type(value) is not Fated and value not in (None, []):
                c[key] = Fated("parked", NOTE)
        if "extra" in c:
            c["extra"] = {}
        return wire
    if own or foreign:
        c["opaque"] = own + foreign
    return None


def _block(c: Node, text: str, signature: str | None) -> Node:
    shown = [*(c.pop("summary", None) or ()), *(c.pop("content", None) or ())]
    if len([part for part in shown if type(part) is dict and part.get("text")]) > 1:
        c["content"] = Fated("approximated", "joined to one text")
    wire: Node = {"text": text}
    if signature is not None:
        wire["signature"] = signature
    return {"reasoningContent": {"reasoningText": wire}}


# ---- changes of the tools -------------------------------------------------------------------------------------------


def _changes(key: str, action: str) -> None:
    @blocks.read(key)
    def read(w: Node, r: Reader) -> Node:
        own = take(w, key)
        tool = take(own, "tool")
        node: Node = {"type": "tool_change", "action": action}
        move(tool, "name", node, "name", r, (key, "tool"), str)
        move(tool, "serverName", node, "server_label", r, (key, "tool"), str)
        r.place(node, ("action",), (key,))
        return node


_changes("toolAddition", "add")
_changes("toolRemoval", "remove")


@written(blocks, "tool_change")
def _write_change(c: Node, w: Writer) -> Node | None:
    key = {"add": "toolAddition", "remove": "toolRemoval"}.get(str(c.get("action")))
    if key is None:
        return None
    del c["action"]
    tool = {wire: c.pop(name) for wire, name in (("name", "name"), ("serverName", "server_label")) if c.get(name)}
    return {key: {"tool": tool}}
