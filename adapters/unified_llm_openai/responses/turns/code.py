"""Commands that another provider ran for a client that requested a code interpreter: they are its code.

The Agents SDK ends with an error at a call of a shell that its agent does not have.

https://platform.openai.com/docs/guides/tools-code-interpreter
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, Mapping
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.code_results import are_code, take_commands, take_ran

__all__ = ["code_items", "fold_commands", "is_code"]

Node = dict[str, Any]

code_items = Mapping("openai-responses items")


def is_code(item: Node, w: Writer) -> bool:
    """Whether an item is a call of a shell that is to be one of the code interpreter."""
    return item.get("type") == "shell_call" and are_code(item, w)


@code_items.write("shell_call")
def write_commands(c: Node, w: Writer) -> Node:
    """Write the commands as the code; the result follows in the same item."""
    wire: Node = {"type": "code_interpreter_call", **{key: c.pop(key) for key in ("id", "status") if key in c}}
    code = take_commands(c)
    if code is not None:
        wire["code"] = code
    if "call_id" in c:
        c["call_id"] = Fated("approximated", "its result stands inside")
    return wire


def fold_commands(c: Node, call: Node, w: Writer) -> None:
    """Put what the commands printed, and whether they failed, into the item of their call."""
    printed, failed = take_ran(c, "the status")
    if failed:
        call["status"] = "failed"
    if printed is not None:
        call["outputs"] = [{"type": "logs", "logs": printed}]
