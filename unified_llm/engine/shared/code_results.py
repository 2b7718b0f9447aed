"""What code, commands or a remote tool gave that a provider ran: one reading of the forms that protocols have for it.

A result has its output as one text (`output`), as two (`stdout`, `stderr`) or as logs among its `outputs`, and
whether the code failed as a flag, an outcome, a return code or an error. A writer takes both from here in the form its
own wire has; what is sent in another form than it came in is reported as approximated, and nothing is made up.

A tool that runs code runs commands of a shell elsewhere. Clients understand the calls of the tools that they declare;
one of a shell that they did not declare is unknown to them, or theirs to execute: its commands are code.
"""

from __future__ import annotations

from typing import Any

from unified_llm.foundation.json_codec import dump_text

from ..pairs.mapping import Fated, are_objects, take, take_all
from ..pairs.writing import Writer

__all__ = [
    "are_code",
    "error_labels",
    "error_text",
    "failed",
    "said_by",
    "take_commands",
    "take_printed",
    "take_ran",
]

Node = dict[str, Any]

_STREAMS = ("stdout", "stderr")


def failed(node: Node) -> bool | None:
    """Whether the code of a canonical result (or of a call with its outputs) failed; None where that is unknown."""
    if type(node.get("error")) is dict and node["error"]:
        return True
    if type(node.get("is_error")) is bool:
        return bool(node["is_error"])
    outcome = node.get("outcome")
    if type(outcome) is str and outcome != "unspecified":
        return outcome != "ok"
    if type(node.get("return_code")) is int:
        return bool(node["return_code"])
    if node.get("status") in ("failed", "completed"):
        return bool(node["status"] == "failed")
    return None


def said_by(c: Node, key: str) -> None:
    """Report every form of the code's failure as represented by the key `key` of the wire."""
    for form in ("is_error", "outcome", "return_code"):
        if c.get(form) is not None:
            c[form] = Fated("approximated", f"represented by {key}")


def take_printed(c: Node) -> str | None:
    """All that was printed as one text, popped from the node where one key holds it; None where there is none."""
    if type(c.get("output")) is str:
        return str(c.pop("output"))
    output = c.get("output")
    if type(output) is list:
        texts = [part for part in take_all(c, "output") if type(part.get("text")) is str]
        for part in texts:
            part.pop("type", None)
        return _joined([part.pop("text") for part in texts])
    streams = [key for key in _STREAMS if type(c.get(key)) is str]
    if streams:
        text = _joined([c[key] for key in streams if c[key]])
        _leave_joined(c, text)
        return text
    return _take_logs(c)


def error_text(error: Any) -> str | None:
    """All that an error of a tool contains, as text: that of its content where it has one, else its JSON.

    >>> error_text({"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "no such table"}]})
    'no such table'
    """
    if type(error) is not dict or not error:
        return error if type(error) is str and error else None
    content = error.get("content")
    if type(content) is list and content and all(type(part) is dict and "text" in part for part in content):
        return _joined([str(part["text"]) for part in content])
    return dump_text(error)


def error_labels(error: Any) -> list[tuple[Any, ...]]:
    """The keys below an error that `error_text` leaves out; that of the whole where it leaves out none.

    >>> error_labels({"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "no such table"}]})
    [('type',), ('content', 0, 'type')]
    """
    if type(error) is not dict or error_text(error) == dump_text(error):
        return [()]
    parts = [("content", at, key) for at, part in enumerate(error["content"]) for key in part if key != "text"]
    return [*((key,) for key in error if key != "content"), *parts] or [()]


def _take_logs(c: Node) -> str | None:
    outputs = c.get("outputs")
    if type(outputs) is not list or any(type(each) is not dict for each in outputs):
        return None
    if not any(each.get("type") == "logs" and type(each.get("logs")) is str for each in outputs):
        return None
    texts = []
    for each in take_all(c, "outputs"):
        if each.get("type") == "logs" and type(each.get("logs")) is str:
            del each["type"]
            texts.append(each.pop("logs"))
    return _joined(texts)


def _joined(texts: list[str]) -> str:
    """Texts one after the other, each on lines of its own."""
    out = ""
    for text in texts:
        out += ("\n" if out and text and not out.endswith("\n") else "") + text
    return out


def _leave_joined(c: Node, text: str | None) -> None:
    """Leave of the two texts that became one what is to be reported."""
    for key in _STREAMS:
        if type(c.get(key)) is str:
            c[key] = Fated("approximated", "joined") if c[key] and text != c[key] else ""


# ---- commands that are code -----------------------------------------------------------------------------------------

_LOCAL = (None, "local")


def are_code(item: Node, w: Writer) -> bool:
    """Whether a call of a shell (or its result) is one of code: the client declares that tool, and no hosted shell."""
    if item.get("executor") != "provider" or w.exchange is None or not w.crosses or w.facing != "client":
        return False
    tools = w.exchange.settings.get("tools")
    declared = [tool for tool in tools if type(tool) is dict] if type(tools) is list else []
    if any(_is_hosted_shell(tool) for tool in declared):
        return False
    return any(tool.get("type") == "code_interpreter" for tool in declared)


def _is_hosted_shell(tool: Node) -> bool:
    environment = tool.get("environment")
    return tool.get("type") == "shell" and type(environment) is dict and environment.get("type") not in _LOCAL


def take_commands(c: Node) -> str | None:
    """The commands of a call as one text of code; None where it has none."""
    c.pop("executor", None)
    action: Node = take(c, "action") if type(c.get("action")) is dict else {}
    commands = action.get("commands")
    if type(commands) is not list or any(type(command) is not str for command in commands):
        return None
    action["commands"] = Fated("approximated", "sent as the code that was run")
    return "\n".join(commands)


def take_ran(c: Node, key: str) -> tuple[str | None, bool]:
    """What commands printed, as one text, and whether they failed, which the key `key` of the wire represents.

    The reason why they were not run is what was printed where there is nothing else.
    """
    c.pop("executor", None)
    chunks = take_all(c, "output") if are_objects(c.get("output")) else []
    texts = [chunk[name] for chunk in chunks for name in _STREAMS if type(chunk.get(name)) is str]
    printed, bad = _joined(texts) if texts else None, False
    for chunk in chunks:
        _leave_joined(chunk, printed)
        outcome = chunk.get("outcome")
        if type(outcome) is dict:
            bad = bad or outcome.get("type") != "exit" or outcome.get("exit_code") not in (0, None)
            chunk["outcome"] = Fated("approximated", f"represented by {key}")
    error = c.get("error")
    if type(error) is dict and error:
        bad, printed = True, printed or str(error.get("message") or error.get("code") or dump_text(error))
        c["error"] = Fated("approximated", f"represented by {key} and the output")
    return printed, bad
