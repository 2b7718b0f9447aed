"""Steps of remote tools (MCP) and of the search for tools, each read and written side by side.

A remote tool's result has no field for a failure, so the text contains it (decision 0025). A search names the functions
to load, where other providers search by words.

https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, are_objects, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.code_results import error_labels, error_text
from unified_llm.engine.shared.text_wrappers import FAILURE, as_failure, failure_of
from unified_llm.foundation.json_codec import dump_text

from ..parts import user_parts
from ..tools import tools, write_tools
from ..turns.step_fields import (
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
from .hosted import apart, begin_result, end_result, steps

__all__ = ["steps"]

Node = dict[str, Any]


_REMOTE = (("name", "name"), ("server_name", "server_label"))


@steps.read("mcp_server_tool_call")
def read_mcp(w: Node, r: Reader) -> Node:
    item: Node = {"type": "mcp_call", "call_id": read_id(w, "id")}
    move(w, item, _REMOTE)
    read_arguments(w, item, r)
    if "signature" in w:
        read_signature(w, item, r)
    return item


@steps.write("mcp_call")
def write_mcp(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "mcp_server_tool_call", "id": call_id(c, w)}
    move_back(c, wire, _REMOTE)
    write_arguments(c, wire, w)
    write_signature(c, wire, w)
    output, error = c.get("output"), c.get("error")
    if type(output) is list and not are_objects(output):
        return wire
    if output is not None or error:
        result = {"type": "mcp_server_tool_result", "call_id": wire["id"], "name": wire.get("name")}
        said = output if output is not None else as_failure(error_text(error) or dump_text(error))
        result["result"] = w.nodes(user_parts, said) if type(said) is list else said
        apart(c, "output" if output is not None else "error", result, w)
        if output is None and error_labels(error) != [()]:
            c["error"] = error
            own = take(c, "error")
            for part in (own, *take_all(own, "content")):
                part.pop("text", None)
                for key in part.keys() - {"content"}:
                    part[key] = Fated("approximated", "sent as the text of the result")
    return wire


@steps.read("mcp_server_tool_result")
def read_mcp_result(w: Node, r: Reader) -> Node:
    item = begin_result(w, "mcp_result", r)
    move(w, item, _REMOTE)
    read_result(w, item, r)
    failure = failure_of(item["output"]) if type(item.get("output")) is str else None
    if "is_error" in item:
        r.form(item, "failure", "key")
    elif failure is not None:
        item["output"], item["is_error"] = failure, True
        r.form(item, "failure", "text")
        r.place(item, ("output",), ("result",))
        r.place(item, ("is_error",), ("result",))
    return item


@steps.write("mcp_result")
def write_mcp_result(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "mcp_server_tool_result", "call_id": call_id(c, w)}
    move_back(c, wire, _REMOTE)
    output = c.get("output")
    write_result(c, wire, w)
    if w.form(c, "failure") == "key":
        return end_result(c, wire, w)
    wrong = c.pop("is_error", None)
    wire = end_result(c, wire, w)
    if wrong is True:
        _tell_failure(c, wire, output, w)
    elif wrong is False:
        c["is_error"] = Fated("approximated", "represented by the text")
    elif wrong is not None:
        c["is_error"] = wrong
    return wire


def _tell_failure(c: Node, wire: Node, output: Any, w: Writer) -> None:
    """Write into the text of a remote tool's result that it failed, for which the step has no field (decision 0025)."""
    said = wire.get("result")
    if type(said) is list:
        before, behind = ({"type": "text", "text": end} for end in FAILURE)
        wire["result"] = [before, *said, behind]
    else:
        wire["result"] = as_failure(said or "")
    if w.form(c, "failure"):
        return
    c["is_error"] = Fated("approximated", "in the text of the result")
    if type(output) is str and output:
        c["output"] = Fated("approximated", f"in {FAILURE[0]}")


@steps.read("tool_search_call")
def read_tool_search(w: Node, r: Reader) -> Node:
    item: Node = {"type": "tool_search_call", "call_id": read_id(w, "id")}
    if "arguments" in w:
        item["arguments"] = w.pop("arguments")
    if "signature" in w:
        read_signature(w, item, r)
    return item


@steps.write("tool_search_call")
def write_tool_search(c: Node, w: Writer) -> Node:
    nameless = c.get("call_id") is None
    wire: Node = {"type": "tool_search_call", "id": call_id(c, w)}
    if nameless:
        w.context.setdefault("searches", []).append(wire["id"])
    if w.crosses:
        wire["arguments"] = _named_functions(c)
    elif "arguments" in c:
        wire["arguments"] = c.pop("arguments")
    if c.get("execution") == "server":
        c["execution"] = Fated("approximated", "represented by the tool")
    write_signature(c, wire, w)
    return wire


def _named_functions(c: Node) -> Node:
    """A search names the functions to load; other words to search by have no place in it."""
    if type(c.get("arguments")) is not dict:
        return {}
    names = c["arguments"].get("function_names")
    if type(names) is not list or any(type(name) is not str for name in names):
        return {}
    return {"function_names": take(c, "arguments").pop("function_names")}


@steps.read("tool_search_result")
def read_tool_search_result(w: Node, r: Reader) -> Node:
    item = begin_result(w, "tool_search_result", r)
    if type(w.get("result")) is list:
        item["tools"] = r.nodes(tools, w.pop("result"))
    return item


@steps.write("tool_search_result", "tool_search_output")
def write_tool_search_result(c: Node, w: Writer) -> Node:
    # OpenAI's searches have ids of their own, and their results come in the same order.
    waiting = w.context.get("searches") if c.get("call_id") is None else None
    wire: Node = {"type": "tool_search_result", "call_id": waiting.pop(0) if waiting else call_id(c, w)}
    if type(c.get("tools")) is list:
        functions = []
        for tool in c.pop("tools"):
            if tool.get("type") in ("function", "custom"):
                functions.append(tool)
            elif (tool.get("extra") or {}).get(w.protocol):
                functions.append(tool)
            else:
                w.drop(tool, "only functions are found")
        wire["result"] = write_tools(functions, w, True)
    return end_result(c, wire, w)
