"""Steps that are messages, reasoning or calls of functions, each read and written side by side.

https://ai.google.dev/gemini-api/docs/interactions https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import RAN

from ..calls.remote import steps
from ..parts import model_parts, summaries, user_parts
from .answered_calls import is_run
from .step_fields import (
    call_id,
    move,
    move_back,
    read_arguments,
    read_id,
    read_result,
    read_signature,
    write_arguments,
    write_result,
    write_signature,
)

__all__ = ["parts_of", "read_step", "steps", "write_content", "write_step"]

Node = dict[str, Any]


# ---- any step -------------------------------------------------------------------------------------------------------


def read_step(wire: Any, r: Reader) -> Node:
    """The item of a step. An unknown one may be signed all the same, and its signature is opaque."""
    item = r.nodes(steps, (wire,))[0]
    own = (item.get("extra") or {}).get(r.protocol)
    if own and "native" in own.get("form", ()) and type(wire) is dict and type(wire.get("signature")) is str:
        if wire["signature"]:
            own["rest"] = own["rest"].copy()
            read_signature(own["rest"], item, r)
    return item


def write_step(item: Node, w: Writer) -> list[Any]:
    """The inverse: the steps of an item, none where the target has no form for it."""
    wires = w.nodes(steps, (item,))
    if wires and "opaque" in item and w.form(item, "native"):
        rest, wires[0] = {"opaque": item["opaque"]}, wires[0].copy()
        write_signature(rest, wires[0], w)
        if "opaque" in rest:
            fate, detail = rest["opaque"]
            w.report(item, ("opaque",), fate, detail)
    return wires


# ---- messages, reasoning, functions ---------------------------------------------------------------------------------


def parts_of(role: str) -> Mapping:
    """The mapping of content parts for a role."""
    return model_parts if role == "assistant" else user_parts


@steps.read("user_input")
def read_user(w: Node, r: Reader) -> Node:
    return _read_message(w, "user", r)


@steps.read("model_output")
def read_model(w: Node, r: Reader) -> Node:
    return _read_message(w, "assistant", r)


def _read_message(w: Node, role: str, r: Reader) -> Node:
    item: Node = {"type": "message", "role": role}
    if "content" in w:
        content = w.pop("content")
        if type(content) is str:
            r.form(item, "content", "string")
        item["content"] = content if content is None else r.parts(parts_of(role), content)
    return item


@steps.write("message")
def write_message(c: Node, w: Writer) -> Node:
    role = c.pop("role")
    wire: Node = {"type": "model_output" if role == "assistant" else "user_input"}
    if role not in ("user", "assistant"):
        c["role"] = Fated("approximated", "sent as the user's")
    if "content" in c:
        wire["content"] = write_content(c, role, w)
    write_signature(c, wire, w)
    return wire


def write_content(c: Node, role: str, w: Writer) -> Any:
    """The wire content of a message of a role; None for a content that is null."""
    content = c.pop("content")
    if content is None:
        return None
    if type(content) is str:
        return content if w.form(c, "content") == "string" else [{"type": "text", "text": content}]
    return w.nodes(parts_of(role), content)


@steps.read("thought")
def read_thought(w: Node, r: Reader) -> Node:
    item: Node = {"type": "reasoning", "summary": []}
    if "summary" in w and w["summary"] is not None:
        item["summary"] = r.nodes(summaries, w.pop("summary"))
        if not item["summary"]:
            r.form(item, "summary", "empty")
    if "signature" not in w:
        r.form(item, "signature", "absent")
    else:
        read_signature(w, item, r)
    return item


@steps.write("reasoning")
def write_reasoning(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "thought"}
    summary = [*(c.pop("summary", None) or ()), *(c.pop("content", None) or ())]
    if summary or w.form(c, "summary") == "empty":
        wire["summary"] = w.nodes(summaries, summary)
    write_signature(c, wire, w)
    return wire


@steps.read("function_call")
def read_call(w: Node, r: Reader) -> Node:
    item: Node = {"type": "function_call", "call_id": read_id(w, "id"), "name": w.pop("name")}
    if type(item["name"]) is not str:
        raise IllTyped("name")
    read_arguments(w, item, r)
    if "signature" in w:
        read_signature(w, item, r)
    return item


steps.cannot("function_call custom_tool_call function_call_output custom_tool_call_output", RAN)


@steps.write("function_call")
def write_call(c: Node, w: Writer) -> Node | None:
    if is_run(c, w):
        return None
    wire: Node = {"type": "function_call", "id": c.pop("call_id", None), "name": c.pop("name")}
    write_arguments(c, wire, w)
    if "opaque" in c or "extra" in c:
        write_signature(c, wire, w)
    return wire


@steps.write("custom_tool_call")
def write_custom_call(c: Node, w: Writer) -> Node | None:
    if is_run(c, w):
        return None
    wire: Node = {"type": "function_call", "id": c.pop("call_id", None), "name": c.pop("name")}
    wire["arguments"] = {"input": c.get("input") or ""}
    if "input" in c:
        c["input"] = Fated("emulated", "the one argument of the function")
    c["type"] = Fated("emulated", "sent as a function with one string argument")
    write_signature(c, wire, w)
    return wire


_NAMED = (("name", "name"), ("is_error", "is_error"))


@steps.read("function_result")
def read_output(w: Node, r: Reader) -> Node:
    item: Node = {"type": "function_call_output", "call_id": read_id(w, "call_id")}
    move(w, item, _NAMED)
    read_result(w, item, r)
    if "signature" in w:
        read_signature(w, item, r)
    return item


@steps.write("function_call_output")
def write_output(c: Node, w: Writer) -> Node | None:
    if is_run(c, w):
        return None
    wire: Node = {"type": "function_result", "call_id": call_id(c, w)}
    move_back(c, wire, _NAMED)
    write_result(c, wire, w)
    if "result" not in wire and w.crosses:
        wire["result"] = ""
        w.added(wire, "result", "a step of a result has one")
    if "opaque" in c or "extra" in c:
        write_signature(c, wire, w)
    return wire


@steps.write("custom_tool_call_output")
def write_custom_output(c: Node, w: Writer) -> Node | None:
    c["type"] = Fated("emulated", "the result of a function")
    wire: Node | None = write_output(c, w)
    return wire


steps.cannot("compaction compaction_trigger", "Interactions compacts nothing for its clients")
steps.cannot(
    "configuration_update additional_tools tool_change", "Interactions changes no settings in mid conversation"
)
steps.cannot("item_reference", "Interactions names no stored steps")
steps.cannot(
    "program program_output multi_agent_call multi_agent_call_output agent_message fallback",
    "Interactions has no such step",
)
steps.cannot("computer_call computer_call_output", "screens are used through functions of the client")
steps.cannot(
    "shell_call shell_call_output local_shell_call local_shell_call_output apply_patch_call apply_patch_call_output",
    "Interactions has no such tool",
)
steps.cannot(
    "mcp_list_tools mcp_approval_request mcp_approval_response", "remote tools are listed and approved by the service"
)
