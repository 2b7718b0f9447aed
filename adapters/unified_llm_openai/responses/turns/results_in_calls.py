"""Results that stand inside their call here, and that other protocols keep apart.

What a provider's own tool gave is part of the item of its call: the logs of code, the text or the error of an MCP tool,
the pages of a search. So is that it failed, which is the status of the call.

https://platform.openai.com/docs/api-reference/responses/object
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, take_all
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import call_id_of
from unified_llm.engine.shared.code_results import failed, said_by, take_printed

from ..values.tables import SLUG
from .code import fold_commands

__all__ = ["HOLDS", "fold_result", "is_open", "key_of"]

Node = dict[str, Any]


def _fold_code(c: Node, call: Node, w: Writer) -> None:
    if failed(c):
        call["status"] = "failed"
    said_by(c, "the status")
    printed = take_printed(c)
    error = c.get("error")
    if type(error) is dict and error:
        printed = printed or str(error.get("message") or error.get("code") or "")
        c["error"] = Fated("approximated", "represented by the status and the logs")
    if printed is not None:
        call["outputs"] = [{"type": "logs", "logs": printed}]


def _fold_remote(c: Node, call: Node, w: Writer) -> None:
    for key in ("name", "server_label"):
        if key in c and c[key] == call.get(key):
            c[key] = Fated("approximated", "repeated in the call")
    bad = failed(c)
    said_by(c, "the status")
    text = take_printed(c)
    if bad:
        call["status"] = "failed"
        content = [{"type": "text", "text": text}] if text is not None else []
        call["error"] = {"type": "mcp_tool_execution_error", "content": content}
    elif text is not None:
        call["output"] = text


def _fold_search(c: Node, call: Node, w: Writer) -> None:
    if failed(c):
        call["status"] = "failed"
        said_by(c, "the status")
        if type(c.get("error")) is dict:
            c["error"] = Fated("approximated", "represented by the status")
    hits = c.get("results")
    action = call.get("action")
    if type(action) is not dict or type(hits) is not list or any(type(hit) is not dict for hit in hits):
        return
    found = []
    for hit, own in zip(hits, take_all(c, "results")):
        if type(own.get("url")) is str:
            found.append(own.pop("url"))
        if own.pop("opaque", None):
            w.report(hit, ("opaque",), "lost" if w.vault is None else "parked", "foreign")
    if found:
        call["action"] = {**action, "sources": [{"type": "url", "url": url} for url in found]}


# The type of a call: that of its result where it is apart, the keys that hold it, and how it gets there.
_FOLDS: dict[str, tuple[str, tuple[str, ...], Callable[[Node, Node, Writer], None]]] = {
    "code_interpreter_call": ("code_interpreter_result", ("outputs",), _fold_code),
    "mcp_call": ("mcp_result", ("output", "error"), _fold_remote),
    "web_search_call": ("web_search_result", (), _fold_search),
}
_CALLS = {result: call for call, (result, _, _) in _FOLDS.items()} | {"shell_call_output": "shell_call"}
_FOLDING = {call: fold for call, (_, _, fold) in _FOLDS.items()} | {"shell_call": fold_commands}
HOLDS = frozenset(_FOLDS)
"""The types of the calls that hold their results."""


def is_open(call: Any) -> bool:
    """Whether a written call may get the result that another protocol keeps apart."""
    kind = call.get("type") if type(call) is dict else None
    bare = kind.removeprefix(SLUG) if type(kind) is str else ""
    return bare in HOLDS and not any(call.get(key) for key in _FOLDS[bare][1])


def key_of(result: Node) -> tuple[str | None, str | None]:
    """The type and the `call_id` of the call that a result is of; None as the type for a result of another kind."""
    return _CALLS.get(str(result.get("type"))), call_id_of(result)


def fold_result(result: Node, calls: dict[Any, Node], w: Writer) -> Node | None:
    """Write a result into the item of its call, one of the open `calls` by their type and `call_id`; None if it cannot.

    The call is no longer among `calls` then.
    """
    key = key_of(result)
    call = calls.get(key)
    if call is None or (key[0] == "web_search_call" and not (result.get("results") or failed(result))):
        return None

    def pair(c: Node, w: Writer) -> Node:
        c["call_id"] = Fated("approximated", "stands inside the call")
        _FOLDING[str(key[0])](c, call, w)
        return call

    w.piece(pair, result)
    return calls.pop(key)
