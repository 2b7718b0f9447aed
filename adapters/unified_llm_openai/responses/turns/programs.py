"""Tools that code may call, in requests of other protocols: elsewhere the tool for code is what runs the code too.

https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.writing import Writer

from ..values.tables import ITEMS
from .items import request_items

__all__ = ["declare_programs"]

Node = dict[str, Any]

_TOOL = "programmatic_tool_calling"
_CALL = tuple(key for key in ITEMS["function_call"].split() if key not in ("id", "caller"))


def declare_programs(wires: list[Node], w: Writer) -> None:
    """Declare the tool that makes programs, where they may call another: without it nothing could call that."""
    called = any("programmatic" in (wire.get("allowed_callers") or ()) for wire in wires)
    if called and not any(wire.get("type") == _TOOL for wire in wires):
        made: Node = {"type": _TOOL}
        wires.append(made)
        w.added(made, "type", "programs call tools only beside it")


@request_items.write("function_call")
def write_call(c: Node, w: Writer) -> Node:
    """A call, without a caller that is a program: the programs of another provider are not sent either."""
    wire: Node = {"type": "function_call", **{key: c.pop(key) for key in _CALL if key in c}}
    caller = c.get("caller")
    if type(caller) is dict and caller.get("type") == "program":
        c["caller"] = Fated("lost", "the provider does not know what another one did")
    elif caller is not None:
        wire["caller"] = c.pop("caller")
    return wire
