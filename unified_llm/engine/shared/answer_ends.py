"""How an answer ends, for wires whose one word for it represents status, finish and what the answer holds.

A plain stop never hides a call that waits or a refusal, and a call never looks like a plain stop. A response that
failed without output has no form of its own on these wires: it is the error body of a failed request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..pairs.mapping import Fated

if TYPE_CHECKING:
    from ..pairs.writing import Writer

__all__ = [
    "CALLS",
    "FAILED",
    "RAN",
    "UNDER_WAY",
    "answered_by_tools",
    "call_id_of",
    "consume_status",
    "error_in",
    "failure_in",
    "has_failed",
    "is_input",
    "is_run_by_provider",
    "reason_of",
    "refuses",
    "settle_call",
    "waits",
    "write_failure",
]

Node = dict[str, Any]

CALLS = frozenset(("function_call", "custom_tool_call"))
"""Calls that a client executes, unless their `executor` is another."""
RAN = "what a provider executes itself: a client would make the call again"
"""Why a call that its provider executes, and its result, are not written as those of a client."""
FAILED = "the response failed"
INCOMPLETE = {"max_output_tokens": "length", "content_filter": "safety"}
UNDER_WAY = frozenset(("queued", "in_progress"))
"""Statuses of an answer that has not ended: a plain stop, which clients take for success, does not stand for them."""
_ENDED = frozenset(("completed", "incomplete", "requires_action", "idle"))


def refuses(items: Iterable[Node]) -> bool:
    """Whether items contain a refusal part; the content of an unknown item may hold any values.

    >>> refuses([{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}])
    True
    """
    for item in items:
        content = item.get("content")
        for part in content if type(content) is list else ():
            if type(part) is dict and part.get("type") == "refusal":
                return True
    return False


def is_input(item: Node) -> bool:
    """Whether an item of an answer is a message to the model: a stored interaction contains the input of its turn.

    >>> is_input({"type": "message", "role": "user"}), is_input({"type": "message"})
    (True, False)
    """
    return item.get("type") == "message" and item.get("role") not in (None, "assistant")


def call_id_of(item: Node) -> str | None:
    """The id that a call and its result share; None where it has another type, which nothing can be found by."""
    found = item.get("call_id")
    return found if type(found) is str else None


def answered_by_tools(items: Iterable[Node]) -> set[str]:
    """The ids of the calls whose results are among these items."""
    found = {call_id_of(item) for item in items if str(item.get("type")).endswith("_output")}
    return {each for each in found if each is not None}


def is_run_by_provider(item: Node) -> bool:
    """Whether an item is a call of a function that its provider executes: a client that saw it would make it again.

    >>> is_run_by_provider({"type": "function_call", "executor": "provider"})
    True
    """
    return item.get("executor") == "provider" and item.get("type") in CALLS


def waits(items: list[Node], calls: frozenset[str] = CALLS) -> bool:
    """Whether a call of these types waits for the client: it has no result, and no provider executes it.

    >>> waits([{"type": "function_call", "call_id": "c1"}])
    True
    """
    done = answered_by_tools(items)
    return any(
        item.get("type") in calls and item.get("executor") != "provider" and call_id_of(item) not in done
        for item in items
    )


def reason_of(c: Node, output: list[Node], calls: frozenset[str] = CALLS) -> str:
    """Why a response ended: the reason it has, else that of its status; where it just stopped, that of its output.

    `calls` are the types of calls that the wire shows.
    """
    finish = c.get("finish")
    reason = finish.get("reason") if type(finish) is dict else None
    if reason is None:
        details = c.get("incomplete_details")
        why = details.get("reason") if type(details) is dict else None
        status = c.get("status")
        reason = INCOMPLETE.get(str(why), "length") if status == "incomplete" else "stop"
        if type(status) is str and status in UNDER_WAY:
            return "other"
    if reason in ("stop", "tool_calls"):
        reason = "tool_calls" if waits(output, calls) else "refusal" if refuses(output) else "stop"
    return str(reason)


def consume_status(c: Node, key: str, kind: str) -> None:
    """Report what the wire's word for the end, at `key`, represents already; `kind` is what became of the object."""
    if c.get("object") == "response":
        c["object"] = Fated("approximated", kind)
    if c.get("status") in _ENDED or c.get("status") in UNDER_WAY:
        c["status"] = Fated("approximated", f"represented by {key}")
    if c.get("incomplete_details"):
        c["incomplete_details"] = Fated("approximated", f"represented by {key}")
    if not c.get("error"):
        c.pop("error", None)


def settle_call(c: Node, key: str, detail: str) -> None:
    """Report a call and its result inside an answer as lost, but for this: it does not wait, which `key` represents."""
    for name in c:
        if name not in ("extra", "turn", "call_id"):
            c[name] = Fated("lost", detail)
    c["type"] = Fated("lost", detail)
    if c.get("call_id") is not None:
        c["call_id"] = Fated("approximated", f"represented by {key}")


# ---- failures -------------------------------------------------------------------------------------------------------


def has_failed(c: Node) -> bool:
    """Whether a response is to be written as the error body of a failed request."""
    return c.get("status") in ("failed", "cancelled") or bool(c.get("error") and not c.get("output"))


def _made_error(status: Any) -> Node:
    return {"type": "server_error", "message": "cancelled" if status == "cancelled" else FAILED}


def write_failure(c: Node, w: Writer, write_error: Callable[[Node, Writer], Any]) -> Any:
    """A failed response as the error body of a failed request, with what its own protocol kept beside it."""
    error = c.pop("error", None)
    status = c.pop("status") if c.get("status") in ("failed", "cancelled") else None
    node: Node = {"error": error if type(error) is dict else _made_error(status)}
    if w.protocol in (c.get("extra") or {}):
        node["extra"] = c.pop("extra")
    doc = w.doc
    wire = w.root(write_error, node)
    w.doc = doc
    if not c.get("output"):
        c.pop("output", None)
    if c.get("object") == "response":
        c["object"] = Fated("approximated", "sent as an error")
    return wire


def failure_in(kind: str, response: Node) -> Node | None:
    """The canonical error of a stream whose terminal event of type `kind` has a failed response; None for others."""
    status = response.get("status")
    if status not in ("failed", "cancelled") and not (kind == "response.failed" and not response.get("finish")):
        return None
    error: Node = response.get("error") or _made_error(status)
    return error


def error_in(event: Node) -> Node:
    """The canonical error of an error event, which may have its fields at the top."""
    error = event.get("error")
    if type(error) is dict:
        return error
    found = {key: event[key] for key in ("code", "message", "param", "status") if event.get(key) is not None}
    return {**found, "type": "server_error"}
