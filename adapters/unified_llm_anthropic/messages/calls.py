"""Calls of tools and their results: the client's own, those of MCP servers, and changes of the tools themselves.

`input` is an object on the wire and JSON text in the canonical model. Text other than an object (a model broke off, or
another protocol let it through) is wrapped, never guessed at: `{"_raw": text}`.

https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.json_codec import dump_text, load_text

from .blocks import blocks
from .content import move_cache_in, move_cache_out, own_born, parts, said, withhold
from .tables import PROGRAMS
from .tools import tools

__all__ = ["RAW", "move_caller_in", "move_caller_out", "read_input", "write_input"]

Node = dict[str, Any]

RAW = "_raw"


def read_input(w: Node) -> str:
    """The JSON text of `input`, popped."""
    value = w["input"]
    if type(value) is not dict:
        raise IllTyped("input")
    del w["input"]
    return dump_text(value)


def write_input(c: Node, key: str = "arguments") -> Node:
    """The object of the JSON text under `key`; what is none is wrapped and said to be."""
    text = c.get(key)
    value: Any = None
    if text is None or text == "":
        c.pop(key, None)
        return {}
    try:
        value = load_text(text) if type(text) is str else text
    except ValueError:
        pass
    if type(value) is dict:
        del c[key]
        return value
    c[key] = Fated("approximated", f"no JSON object: wrapped as {RAW}")
    return {RAW: text}


def move_caller_in(w: Node, item: Node, r: Reader) -> None:
    """`caller`: the model itself, or the code it wrote, whose version is a matter of form."""
    caller = w.get("caller")
    if type(caller) is not dict:
        return
    kind = caller.get("type")
    if kind == "direct" and len(caller) == 1:
        item["caller"] = w.pop("caller")
    elif kind in PROGRAMS and type(caller.get("tool_id")) is str:
        own = take(w, "caller")
        item["caller"] = {"type": "program", "caller_id": own.pop("tool_id")}
        r.form(item, "caller", own.pop("type"))


def move_caller_out(c: Node, wire: Node, w: Writer) -> None:
    caller = c.get("caller")
    if type(caller) is not dict:
        return
    if caller.get("type") == "direct" and len(caller) == 1:
        wire["caller"] = c.pop("caller")
    elif caller.get("type") == "program" and (own_born(w) or w.facing == "client") and "caller_id" in caller:
        own = take(c, "caller")
        del own["type"]
        wire["caller"] = {"type": w.form(c, "caller") or PROGRAMS[-1], "tool_id": own.pop("caller_id")}


def take_text(w: Node, key: str) -> str:
    value = w[key]
    if type(value) is not str:
        raise IllTyped(key)
    del w[key]
    return value


# ---- the client's tools ---------------------------------------------------------------------------------------------


@blocks.read("tool_use")
def read_tool_use(w: Node, r: Reader) -> Node:
    item: Node = {"type": "function_call", "call_id": take_text(w, "id"), "name": take_text(w, "name")}
    item["arguments"] = read_input(w)
    if w:
        move_caller_in(w, item, r)
        move_cache_in(w, item, r)
    return item


@blocks.write("function_call")
def write_tool_use(c: Node, w: Writer) -> Node | None:
    if type(c.get("name")) is not str:
        return None
    wire: Node = {"type": "tool_use", "id": c.pop("call_id", None)}
    wire["name"] = c.pop("name")
    if "arguments" not in c:
        w.added(wire, "input", "a call without arguments")
    wire["input"] = write_input(c)
    if c:
        withhold(c, w)
        move_caller_out(c, wire, w)
        move_cache_out(c, wire, w)
    return wire


@blocks.write("custom_tool_call")
def write_custom_call(c: Node, w: Writer) -> Node | None:
    """A call of a custom tool: the function it was lowered to has one string."""
    if type(c.get("name")) is not str:
        return None
    wire: Node = {"type": "tool_use", "id": c.pop("call_id", None), "name": c.pop("name")}
    wire["input"] = {"input": c["input"] if c.get("input") is not None else ""}
    c["type"] = c["input"] = Fated("approximated", "sent as a call of a function of one string")
    withhold(c, w)
    move_caller_out(c, wire, w)
    return move_cache_out(c, wire, w)


@blocks.read("tool_result")
def read_tool_result(w: Node, r: Reader) -> Node:
    item: Node = {"type": "function_call_output", "call_id": take_text(w, "tool_use_id")}
    if "content" in w:
        content = w["content"]
        item["output"] = None if content is None else r.parts(parts, content)
        del w["content"]
    if type(w.get("is_error")) is bool or w.get("is_error", 0) is None:
        item["is_error"] = w.pop("is_error")
    return move_cache_in(w, item, r)


@blocks.write("custom_tool_call_output")
def write_custom_result(c: Node, w: Writer) -> Node:
    c["type"] = Fated("approximated", "sent as the result of a function")
    return _result(c, w)


@blocks.write("function_call_output")
def write_tool_result(c: Node, w: Writer) -> Node:
    return _result(c, w)


def _result(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "tool_result", "tool_use_id": c.pop("call_id", None)}
    if "output" in c:
        output = c.pop("output")
        wire["content"] = w.nodes(parts, said(output, w)) if type(output) is list else output
        if wire["content"] == [] and not own_born(w):
            # An empty list is refused; no content at all is not.
            del wire["content"]
    if "is_error" in c:
        wire["is_error"] = c.pop("is_error")
    elif c.get("status") == "incomplete":
        # What surfaces without a flag make of a failed result.
        wire["is_error"] = True
        c["status"] = Fated("approximated", "sent as is_error")
    elif c.get("error"):
        wire["is_error"] = True
    c.pop("name", None) if not own_born(w) and c.get("name") is None else None
    withhold(c, w)
    return move_cache_out(c, wire, w)


# ---- MCP ------------------------------------------------------------------------------------------------------------


@blocks.read("mcp_tool_use")
def read_mcp_use(w: Node, r: Reader) -> Node:
    item: Node = {"type": "mcp_call", "call_id": take_text(w, "id"), "name": take_text(w, "name")}
    item["server_label"] = take_text(w, "server_name")
    item["arguments"] = read_input(w)
    return move_cache_in(w, item, r)


@blocks.write("mcp_call")
def write_mcp_use(c: Node, w: Writer) -> Node:
    call_id = c.pop("call_id") if c.get("call_id") is not None else c.pop("id", None)
    wire: Node = {"type": "mcp_tool_use", "id": call_id, "name": c.pop("name", "")}
    wire["server_name"] = c.pop("server_label", "")
    if "arguments" not in c:
        w.added(wire, "input", "a call without arguments")
    wire["input"] = write_input(c)
    withhold(c, w)
    return move_cache_out(c, wire, w)


@blocks.read("mcp_tool_result")
def read_mcp_result(w: Node, r: Reader) -> Node:
    item: Node = {"type": "mcp_result", "call_id": take_text(w, "tool_use_id")}
    if "content" in w:
        item["output"] = r.parts(parts, w.pop("content"))
    if type(w.get("is_error")) is bool:
        item["is_error"] = w.pop("is_error")
    return move_cache_in(w, item, r)


@blocks.write("mcp_result")
def write_mcp_result(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "mcp_tool_result", "tool_use_id": c.pop("call_id", None)}
    if "is_error" in c:
        wire["is_error"] = c.pop("is_error")
    elif not own_born(w):
        wire["is_error"] = bool(c.get("error"))
    output = c.get("output")
    if type(output) is str or (type(output) is list and all(type(part) is dict for part in output)):
        wire["content"] = w.parts(parts, c.pop("output"))
    elif "output" in c or not own_born(w):
        wire["content"] = []
    return move_cache_out(c, wire, w)


@blocks.read("mcp_tool_listing")
def read_mcp_listing(w: Node, r: Reader) -> Node:
    item: Node = {"type": "mcp_list_tools", "server_label": take_text(w, "mcp_server_name")}
    if type(w.get("tools")) is list:
        item["tools"] = w.pop("tools")
    return item


@blocks.write("mcp_list_tools")
def write_mcp_listing(c: Node, w: Writer) -> Node | None:
    if w.facing == "provider" and not own_born(w):
        return None
    tools = c.get("tools")
    listed = type(tools) is list and all(type(tool) is dict and type(tool.get("name")) is str for tool in tools)
    if not own_born(w) and not listed:
        return None
    wire: Node = {"type": "mcp_tool_listing", "mcp_server_name": c.pop("server_label", "")}
    if not own_born(w):
        wire["tools"] = [_listed(tool, w) for tool in take_all(c, "tools")]
    elif "tools" in c:
        wire["tools"] = c.pop("tools")
    return wire


def _listed(tool: Node, w: Writer) -> Node:
    """A tool as its server lists it: three keys and no others."""
    wire: Node = {"name": tool.pop("name")}
    if type(tool.get("description")) is str:
        wire["description"] = tool.pop("description")
    if type(tool.get("input_schema")) is dict:
        wire["input_schema"] = tool.pop("input_schema")
    else:
        wire["input_schema"] = {"type": "object"}
        w.added(wire, "input_schema", "a listed tool has one")
    return wire


# ---- what changes in mid conversation -------------------------------------------------------------------------------

_ACTIONS = {"tool_addition": "add", "tool_removal": "remove"}


def _read_change(kind: str) -> None:
    @blocks.read(kind)
    def read(w: Node, r: Reader) -> Node:
        tool = take(w, "tool")
        what = tool.pop("type")
        item: Node = {"type": "tool_change", "action": _ACTIONS[kind]}
        if what == "tool_reference":
            item["name"] = take_text(tool, "name")
        elif what == "mcp_tool_reference":
            item["server_label"] = take_text(tool, "server_name")
            item["name"] = take_text(tool, "name")
        elif what == "mcp_toolset_reference":
            item["server_label"] = take_text(tool, "server_name")
        elif what == "tool_definition":
            item["tool"] = r.node(tools, tool.pop("definition"))
        else:
            raise IllTyped("tool")
        return move_cache_in(w, item, r)


for _kind in _ACTIONS:
    _read_change(_kind)


@blocks.write("tool_change")
def write_change(c: Node, w: Writer) -> Node | None:
    kind = next((kind for kind, action in _ACTIONS.items() if action == c.get("action")), None)
    if kind is None:
        return None
    del c["action"]
    if type(c.get("tool")) is dict:
        tool: Node = {"type": "tool_definition", "definition": w.node(tools, c.pop("tool"))}
    elif c.get("server_label") is not None and c.get("name") is not None:
        tool = {"type": "mcp_tool_reference", "server_name": c.pop("server_label"), "name": c.pop("name")}
    elif c.get("server_label") is not None:
        tool = {"type": "mcp_toolset_reference", "server_name": c.pop("server_label")}
    elif c.get("name") is not None:
        tool = {"type": "tool_reference", "name": c.pop("name")}
    else:
        return None
    return move_cache_out(c, {"type": kind, "tool": tool}, w)


@blocks.read("fallback")
def read_fallback(w: Node, r: Reader) -> Node:
    item: Node = {"type": "fallback"}
    for key, hub in (("from", "from_model"), ("to", "to_model")):
        if key in w:
            item[hub] = take_text(take(w, key), "model")
    if "trigger" in w:
        item["trigger"] = w.pop("trigger")
    return item


@blocks.write("fallback")
def write_fallback(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "fallback"}
    for key, hub in (("from", "from_model"), ("to", "to_model")):
        if hub in c:
            wire[key] = {"model": c.pop(hub)}
    if "trigger" in c:
        wire["trigger"] = c.pop("trigger")
    return wire


blocks.cannot("item_reference", "anthropic-messages has no stored items")
blocks.cannot("image_generation_call file_search_call maps_call retrieval_call processing_call", "no such tool here")
blocks.cannot("file_search_result maps_result retrieval_result processing_result", "no such tool here")
blocks.cannot("computer_call computer_call_output local_shell_call local_shell_call_output", "no call of that shape")
blocks.cannot("apply_patch_call apply_patch_call_output", "no call of that shape")
blocks.cannot("mcp_approval_request mcp_approval_response", "tools of MCP servers are called without asking")
blocks.cannot("compaction_trigger configuration_update additional_tools", "settings cannot change in mid conversation")
blocks.cannot("program program_output", "the code of programmatic calls is not shown")
blocks.cannot("agent_message multi_agent_call multi_agent_call_output", "no agents here")
blocks.cannot("tool_search_output", "loaded tools are named, not defined")
