"""What code or a remote tool gave that a provider ran: one reading of the forms that protocols have for it.

A result has its output as one text (`output`), as two (`stdout`, `stderr`) or as logs among its `outputs`, and
whether the code failed as a flag, an outcome, a return code or an error. A writer takes both from here in the form its
own wire has; what is sent in another form than it came in is reported as approximated, and nothing is made up.
"""

from __future__ import annotations

from typing import Any

from unified_llm.foundation.json_codec import dump_text

from ..pairs.mapping import Fated, take_all

__all__ = ["error_labels", "error_text", "failed", "joined", "said_by", "take_printed"]

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
        return joined([part.pop("text") for part in texts])
    streams = [key for key in _STREAMS if type(c.get(key)) is str]
    if streams:
        text = joined([c[key] for key in streams if c[key]])
        for key in streams:
            c[key] = Fated("approximated", "joined") if c[key] and text != c[key] else ""
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
        return joined([str(part["text"]) for part in content])
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
    return joined(texts)


def joined(texts: list[str]) -> str:
    """Texts one after the other, each on lines of its own."""
    out = ""
    for text in texts:
        out += ("\n" if out and text and not out.endswith("\n") else "") + text
    return out
