"""Calls of tools and their results: the client's own, those of MCP servers, and changes of the tools themselves.

`input` is an object on the wire and JSON text in the canonical model. Text other than an object (a model broke off, or
another protocol let it through) is wrapped, never guessed at: `{"_raw": text}`.

https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Approximate, Context, Union, boolean, codec, constant, flatten, json, string, union
from unified_llm.engine.bridge import cases_of
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.code_results import error_labels, error_text
from unified_llm.foundation.json_codec import dump_text, load_text

from ..blocks import after, before, blocks, cases
from ..parts.content import parts, said
from ..tools import tools
from ..values.tables import CACHE, PROGRAMS

__all__ = ["CALLER", "called_by", "numbered"]

Node = dict[str, Any]

RAW = "_raw"


def _write_input(text: Any, x: Context) -> Node:
    if text == "":
        return {}
    value: Any = text
    try:
        value = load_text(text) if type(text) is str else text
    except ValueError:
        pass
    if type(value) is not dict:
        raise Approximate({RAW: text}, f"no JSON object: wrapped as {RAW}")
    return value


_INPUT = codec("arguments", dict, read=lambda value, x: dump_text(value), write=_write_input, exact=True).required(
    {}, "a call without arguments"
)

_callers = Union("callers")
_callers.case({"type": "direct"}, caller__type="direct")
_callers.case(
    {"type": constant(PROGRAMS[-1], *PROGRAMS[:-1]), "tool_id": string("caller.caller_id")}, caller__type="program"
)
CALLER = {"caller?": flatten(_callers)}
"""Who calls: the model itself, or the code it wrote, whose version is a matter of form."""


def called_by(c: Node, w: Writer, x: Context) -> Node:
    """A call without a caller that is a program elsewhere, which a provider does not know."""
    caller = c.get("caller")
    if type(caller) is not dict or caller.get("type") != "program":
        return c
    if x.own or w.facing == "client" or w.form(c, "home"):
        return c
    x.lost(c, ("caller",))
    return x.replaced(c, {key: value for key, value in c.items() if key != "caller"})


def numbered(c: Node, x: Context) -> Node:
    """A call that goes by its `call_id`, be it by that of the item."""
    if c.get("call_id") is not None or c.get("id") is None:
        return c
    return x.replaced(c, {**{key: value for key, value in c.items() if key != "id"}, "call_id": c["id"]})


# ---- the client's tools ---------------------------------------------------------------------------------------------

cases.case(
    {
        "type": "tool_use",
        "id": string("call_id").required(None),
        "name": string("name").required("", "no value in the source"),
        "input": _INPUT,
        **CALLER,
        **CACHE,
    },
    "function_call",
)
cases.case(
    {
        "type": "tool_result",
        "tool_use_id": string("call_id").required(None),
        "content?": union("output", cases_of(parts), text=True).nullable().filled(),
        "is_error?": boolean("is_error").nullable(),
        **CACHE,
    },
    "function_call_output",
    "custom_tool_call_output",
)


def _custom_call(c: Node, w: Writer, x: Context) -> Node:
    """A call of a custom tool: the function it was lowered to has one string."""
    for key in ("type", "input"):
        x.approximated(c, (key,), "sent as a call of a function of one string")
    made = {key: value for key, value in called_by(c, w, x).items() if key != "input"}
    given = c["input"] if c.get("input") is not None else ""
    return x.replaced(c, {**made, "type": "function_call", "arguments": {"input": given}})


def _result(c: Node, w: Writer, x: Context) -> Node:
    made = dict(c)
    if type(c.get("output")) is list:
        made["output"] = said(c["output"], w)
    if c["type"] == "custom_tool_call_output":
        x.approximated(c, ("type",), "sent as the result of a function")
    if c.get("is_error") is None and c.get("status") == "incomplete":
        # What surfaces without a flag make of a failed result.
        made["is_error"] = True
        x.approximated(c, ("status",), "sent as is_error")
        del made["status"]
    elif c.get("is_error") is None and c.get("error"):
        made["is_error"] = True
    return x.replaced(c, made)


before["function_call"] = called_by
before["custom_tool_call"] = _custom_call
before["function_call_output"] = before["custom_tool_call_output"] = _result

# ---- MCP ------------------------------------------------------------------------------------------------------------

cases.case(
    {
        "type": "mcp_tool_use",
        "id": string("call_id").required(None),
        "name": string("name").required("", "no value in the source"),
        "server_name": string("server_label").required("", "no value in the source"),
        "input": _INPUT,
        **CACHE,
    },
    "mcp_call",
)
cases.case(
    {
        "type": "mcp_tool_result",
        "tool_use_id": string("call_id").required(None),
        "content?": union("output", cases_of(parts), text=True),
        "is_error?": boolean("is_error"),
        **CACHE,
    },
    "mcp_result",
)
cases.case(
    {
        "type": "mcp_tool_listing",
        "mcp_server_name": string("server_label").required("", "no value in the source"),
        "tools?": json("tools", list),
    },
    "mcp_list_tools",
)


def _mcp_result(c: Node, w: Writer, x: Context) -> Node:
    if x.own:
        return c
    made = {"is_error": bool(c.get("error")), **c}
    if c.get("output") is None:
        text = error_text(c.get("error"))
        made["output"] = [] if text is None else text
        if text is not None:
            for keys in error_labels(c["error"]):
                x.approximated(c, ("error", *keys), "sent as the text of the result")
            del made["error"]
    if type(made["output"]) is str and not w.form(c, "text"):
        made["output"] = [{"type": "output_text", "text": made["output"]}]  # as at the API; the AI SDK refuses a text
    return x.replaced(c, made)


def _mcp_text(node: Node, wire: Node, r: Reader) -> Node:
    if type(wire.get("content")) is str:
        r.form(node, "text", True)
    return node


def _listing(c: Node, w: Writer, x: Context) -> Node | None:
    listed = c.get("tools")
    if x.own:
        return c
    if w.facing == "provider" or type(listed) is not list:
        return None
    made = []
    for number, tool in enumerate(listed):
        # A tool as its server lists it has three keys and no others.
        wire: Node = {"name": tool["name"]}
        if type(tool["name"]) is not str:
            return None
        if type(tool.get("description")) is str:
            wire["description"] = tool["description"]
        wire["input_schema"] = {"type": "object"}
        if type(tool.get("input_schema")) is dict:
            wire["input_schema"] = tool["input_schema"]
        else:
            w.added(wire, "input_schema", "a listed tool has one")
        for key in tool:
            if key not in wire:
                x.lost(c, ("tools", number, key))
        made.append(wire)
    return x.replaced(c, {**c, "tools": made})


before["mcp_call"] = lambda c, w, x: numbered(c, x)
before["mcp_result"] = _mcp_result
after["mcp_tool_result"] = _mcp_text
before["mcp_list_tools"] = _listing

# ---- what changes in mid conversation -------------------------------------------------------------------------------

_changed = Union("changed tool")
_changed.case({"type": "tool_definition", "definition": union("tool", cases_of(tools), one=True)})
_changed.case({"type": "mcp_tool_reference", "server_name": string("server_label"), "name": string("name")})
_changed.case({"type": "mcp_toolset_reference", "server_name": string("server_label")})
_changed.case({"type": "tool_reference", "name": string("name")})
for _kind, _action in (("tool_addition", "add"), ("tool_removal", "remove")):
    cases.case({"type": _kind, "tool": flatten(_changed), **CACHE}, "tool_change", action=_action)
cases.case(
    {
        "type": "fallback",
        "from?": {"model": string("from_model")},
        "to?": {"model": string("to_model")},
        "trigger?": json("trigger").nullable(),
    },
    "fallback",
)

blocks.cannot("item_reference", "anthropic-messages has no stored items")
blocks.cannot("image_generation_call file_search_call maps_call retrieval_call processing_call", "no such tool here")
blocks.cannot("file_search_result maps_result retrieval_result processing_result", "no such tool here")
blocks.cannot("computer_call computer_call_output local_shell_call local_shell_call_output", "no call of that shape")
blocks.cannot("apply_patch_call apply_patch_call_output", "no call of that shape")
blocks.cannot("mcp_approval_request mcp_approval_response", "tools of MCP servers are called without approval")
blocks.cannot("compaction_trigger configuration_update additional_tools", "settings cannot change in mid conversation")
blocks.cannot("program program_output", "the code of programmatic calls is not shown")
blocks.cannot("agent_message multi_agent_call multi_agent_call_output", "no agents here")
blocks.cannot("tool_search_output", "loaded tools are named, not defined")
