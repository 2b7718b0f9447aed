"""Commands that another provider ran for a client that requested a code interpreter: they are its code.

A tool that runs code may be one of commands elsewhere (Claude's has both). Clients of this API understand the calls of
the tools that they declare; one of a shell is an error to them, or theirs to execute.

https://platform.openai.com/docs/guides/tools-code-interpreter https://docs.claude.com/en/docs/agents-and-tools/tool-use/code-execution-tool
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, Mapping, are_objects, take, take_all
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.code_results import joined
from unified_llm.foundation.json_codec import dump_text

__all__ = ["code_items", "fold_commands", "is_code"]

Node = dict[str, Any]

code_items = Mapping("openai-responses items")

_LOCAL = (None, "local")


def is_code(item: Node, w: Writer) -> bool:
    """Whether a call of a shell is to be one of the code interpreter: its client declares that, and no hosted shell."""
    if item.get("type") != "shell_call" or item.get("executor") != "provider" or w.exchange is None or not w.crosses:
        return False
    tools = w.exchange.settings.get("tools")
    declared = [tool for tool in tools if type(tool) is dict] if type(tools) is list else []
    if w.facing != "client" or any(_is_hosted_shell(tool) for tool in declared):
        return False
    return any(tool.get("type") == "code_interpreter" for tool in declared)


def _is_hosted_shell(tool: Node) -> bool:
    environment = tool.get("environment")
    return tool.get("type") == "shell" and type(environment) is dict and environment.get("type") not in _LOCAL


@code_items.write("shell_call")
def write_commands(c: Node, w: Writer) -> Node:
    """Write the commands as the code; the result follows in the same item."""
    wire: Node = {"type": "code_interpreter_call", **{key: c.pop(key) for key in ("id", "status") if key in c}}
    del c["executor"]
    action: Node = take(c, "action") if type(c.get("action")) is dict else {}
    commands = action.get("commands")
    if type(commands) is list and all(type(command) is str for command in commands):
        action["commands"] = Fated("approximated", "sent as the code that was run")
        wire["code"] = "\n".join(commands)
    if "call_id" in c:
        c["call_id"] = Fated("approximated", "its result stands inside")
    return wire


def fold_commands(c: Node, call: Node, w: Writer) -> None:
    """Put what the commands printed, and whether they failed, into the item of their call."""
    c.pop("executor", None)
    printed, failed = [], False
    for chunk in take_all(c, "output") if are_objects(c.get("output")) else []:
        printed += [chunk.pop(key) for key in ("stdout", "stderr") if type(chunk.get(key)) is str]
        outcome = chunk.get("outcome")
        if type(outcome) is dict:
            failed = failed or outcome.get("type") != "exit" or outcome.get("exit_code") not in (0, None)
            chunk["outcome"] = Fated("approximated", "represented by the status")
    error = c.get("error")
    if type(error) is dict and error:
        failed, printed = True, printed or [str(error.get("message") or error.get("code") or dump_text(error))]
        c["error"] = Fated("approximated", "represented by the status and the logs")
    if failed:
        call["status"] = "failed"
    if printed:
        call["outputs"] = [{"type": "logs", "logs": joined(printed)}]
