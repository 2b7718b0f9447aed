"""Custom tools at servers of the Responses API that have functions only (`tool_kinds`): functions of one string.

And calls of tools that a server names like a client's and executes itself.

https://platform.openai.com/docs/guides/function-calling#custom-tools
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Mapping
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import RAN
from unified_llm.foundation.generated_ids import is_made

from ...demands import called_as_function, declared_as_function
from ..values.tables import ITEMS
from .items import OUTPUT, answer_items, write_output

__all__ = ["CUSTOM_ITEMS", "function_items", "function_tools", "run_items"]

Node = dict[str, Any]

CUSTOM_ITEMS = frozenset(("custom_tool_call", "custom_tool_call_output"))

function_tools = Mapping("openai-responses tools")
function_items = Mapping("openai-responses items")
run_items = Mapping("openai-responses items")
"""Calls that the server executes itself (`runs` of a dialect): nothing on its own wire shows that."""


@function_tools.write("custom")
def write_tool(c: Node, w: Writer) -> Node:
    return {"type": "function", **declared_as_function(c, w), "strict": False}


@function_items.write("custom_tool_call")
def write_call(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "function_call", "call_id": c.pop("call_id", None), **called_as_function(c)}
    if is_made(c.get("id")):
        del c["id"]
    if type(c.get("status")) is str:
        wire["status"] = c.pop("status")
    return wire


@function_items.write("custom_tool_call_output")
def write_result(c: Node, w: Writer) -> Node:
    return write_output("function_call_output", "call_id caller", c, w)


def _write_run(kind: str, c: Node) -> Node:
    keys = ITEMS[kind].split()
    c.pop("executor", None)
    return {"type": kind, **{key: c.pop(key) for key in tuple(c) if key in keys}}


run_items.write("function_call")(lambda c, w: _write_run("function_call", c))
run_items.write("custom_tool_call")(lambda c, w: _write_run("custom_tool_call", c))

_ANSWERED = OUTPUT.replace(" status", "")


def _declare_answered(call: str, keys: str) -> None:
    """A call and its result in an answer: those that the provider executed itself are not for the client."""

    @answer_items.write(call)
    def write_call(c: Node, w: Writer) -> Node | None:
        if c.get("executor") == "provider":
            return None
        return {"type": call, **{key: c.pop(key) for key in ITEMS[call].split() if key in c}}

    @answer_items.write(f"{call}_output")
    def write_result(c: Node, w: Writer) -> Node | None:
        return None if c.get("executor") == "provider" else write_output(f"{call}_output", keys, c, w)

    answer_items.cannot(f"{call} {call}_output", RAN)


_declare_answered("function_call", f"{_ANSWERED} name namespace")
_declare_answered("custom_tool_call", _ANSWERED)
