"""Responses of Converse: one message of the assistant, why it ended, and what it cost. A count of tokens is a number.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseResponse.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from .errors import read_error, write_error
from .turns import read_content, role_of, write_blocks
from .values import FINISH, is_own, move, read_usage, write_usage

__all__ = [
    "answered",
    "head_fates",
    "read_count",
    "read_end",
    "read_response",
    "usage_of",
    "write_count",
    "write_end",
    "write_head",
    "write_response",
]

Node = dict[str, Any]

_CALLS = frozenset(("function_call", "custom_tool_call"))
_RESULTS = frozenset(f"{kind}_output" for kind in _CALLS)
_ID = "x-amzn-requestid"
_NOT_SAID = "a response contains only items of the assistant"


def read_response(w: Node, r: Reader) -> Node:
    """Return the canonical response of a body."""
    if "output" not in w and ("message" in w or "Message" in w):
        return {"status": "failed", **read_error(w, r)}
    message = take(take(w, "output"), "message")
    content = message.pop("content")
    node: Node = {}
    r.form(node, "own", True)
    if message.get("role") == "assistant":
        del message["role"]
    else:
        r.form(node, "own", "bare")  # the role, if there is one, stays where it is
    at = ("output", "message")
    node["output"] = read_content(content, "assistant", r.doc["output"]["message"], r, (*at, "content"))
    r.place(node, ("output",), (*at, "content"))
    read_end(w, node, r)
    return node


def read_end(w: Node, node: Node, r: Reader) -> None:
    """The fields of a response beside its message; pops what it understands."""
    word = w.get("stopReason")
    if type(word) is str:
        del w["stopReason"]
        reason = FINISH.reads.get(word)
        finish = node["finish"] = {"reason": reason or "other"}
        r.place(node, ("finish", "reason"), ("stopReason",))
        if reason is None or FINISH.write(reason) != word:
            finish["native"] = word
            r.place(node, ("finish", "native"), ("stopReason",))
    tier = w.get("serviceTier")
    if type(tier) is dict:
        move(take(w, "serviceTier"), "type", node, "service_tier", r, ("serviceTier",), str)
    if type(w.get("usage")) is dict:
        usage = w.pop("usage")
        node["usage"] = read_usage(dict(usage), r)
        r.made(node["usage"], usage)


def usage_of(w: Node, r: Reader) -> Node | None:
    """The canonical usage of a response."""
    usage = w.get("usage")
    return read_usage(dict(usage), r) if type(usage) is dict else None


# ---- writing --------------------------------------------------------------------------------------------------------


def write_response(c: Node, w: Writer) -> Any:
    """Return the body of a canonical response."""
    own = is_own(w)
    if c.get("status") in ("failed", "cancelled") or (c.get("error") and not c.get("output")):
        return _write_failure(c, w)
    output = c.pop("output", None) or []
    content = write_blocks(answered(output, w), w)
    message: Node = {"role": "assistant", "content": content}
    if own and w.form(c, "own") == "bare":
        del message["role"]
    wire: Node = {"output": {"message": message}}
    write_head(c, w)
    wire.update(write_end(c, output, w))
    return wire


def answered(output: list[Node], w: Writer) -> list[Node]:
    """The items that a response may hold: no call that was answered where it was made, and nothing of the user's."""
    if is_own(w):
        return output
    out: list[Node] = []
    results = {item.get("call_id") for item in output if item.get("type") in _RESULTS} - {None}
    for item in output:
        if item.get("type") in _CALLS and item.get("call_id") in results and item.get("executor") != "provider":
            w.piece(_settled, item)
        elif role_of(item, w) == "assistant":
            out.append(item)
        elif item.get("type") in _RESULTS:
            w.piece(_settled, item)
        else:
            w.drop(item, _NOT_SAID)
    return out


def _settled(c: Node, w: Writer) -> Node:
    """Represent a call and its result inside a response by the stop reason: no client has to answer it."""
    for key in c:
        if key not in ("extra", "turn", "call_id"):
            c[key] = Fated("lost", _NOT_SAID)
    c["type"] = Fated("lost", _NOT_SAID)
    if c.get("call_id") is not None:
        c["call_id"] = Fated("approximated", "represented by stopReason")
    return {}


def write_end(c: Node, output: list[Node], w: Writer, stop: Node | None = None) -> Node:
    """What stands beside the message: why it ended, in `stop` if that is given; usage, metrics, the tier."""
    own = is_own(w)
    wire: Node = {}
    _write_finish(c, wire if stop is None else stop, output, w)
    if type(c.get("usage")) is dict:
        wire["usage"] = w.piece(write_usage, c.pop("usage"))
    elif not own:
        wire["usage"] = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        w.added(wire, "usage", "required by amazon-converse; count not in the source")
    kept = ((c.get("extra") or {}).get(w.protocol) or {}).get("rest") or {}
    if not own and "metrics" not in kept:
        wire["metrics"] = {"latencyMs": 0}
        w.added(wire, "metrics", "required by amazon-converse; no time in the source")
    if type(c.get("service_tier")) is str:
        if own or c["service_tier"] in ("default", "flex", "priority", "reserved"):
            wire["serviceTier"] = {"type": c.pop("service_tier")}
    for choice in c.pop("choices", None) or ():
        w.drop(choice, "amazon-converse returns one response")
    c.update(head_fates(c, w))
    if not own:
        _consume_status(c)
    return wire


def write_head(c: Node, w: Writer) -> None:
    """Make headers of the id of a response, and of a model that is not the one of the request: they have no field."""
    headers: Node = {}
    alias = w.exchange.alias if w.exchange is not None else None
    if alias and type(c.get("model")) is str and c["model"] != alias:
        headers["x-resolved-model"] = c["model"]
    if type(c.get("id")) is str:
        headers[_ID] = c["id"]
    if headers:
        w.http.setdefault("headers", {}).update(headers)


def head_fates(c: Node, w: Writer) -> dict[str, Fated]:
    """What became of id and model: the headers of a stream are those of its opening, whatever comes later."""
    found = {}
    if type(c.get("id")) is str:
        sent = (w.http.get("headers") or {}).get(_ID) == c["id"]
        late = Fated("lost", "the headers of the HTTP response were sent before")
        found["id"] = Fated("approximated", "the HTTP response is identified by a header") if sent else late
    if type(c.get("model")) is str:
        found["model"] = Fated("approximated", "represented by the path of the request")
    return found


def _consume_status(c: Node) -> None:
    """Report what the stop reason represents already."""
    if c.get("object") == "response":
        c["object"] = Fated("approximated", "amazon-converse has one kind of response")
    if c.get("status") in ("completed", "incomplete", "in_progress", "requires_action", "idle"):
        c["status"] = Fated("approximated", "represented by stopReason")
    if c.get("incomplete_details"):
        c["incomplete_details"] = Fated("approximated", "represented by stopReason")
    if not c.get("error"):
        c.pop("error", None)


_REASONS = {"max_output_tokens": "length", "content_filter": "safety"}


def _write_finish(c: Node, wire: Node, output: list[Node], w: Writer) -> None:
    own = is_own(w) or w.form(c, "own") is not None
    finish = take(c, "finish") if type(c.get("finish")) is dict else None
    said = finish.get("reason") if finish is not None else None
    if said is None and own:
        return
    reason = said
    if said is None:
        details = c.get("incomplete_details")
        why = details.get("reason") if type(details) is dict else None
        reason = _REASONS.get(str(why), "length") if c.get("status") == "incomplete" else "stop"
        if c.get("status") is None:
            w.added(wire, "stopReason", "not in the source")
    if not own and reason in ("stop", "tool_calls"):
        done = {item.get("call_id") for item in output if item.get("type") in _RESULTS}
        calls = [item for item in output if item.get("type") in _CALLS and item.get("executor") != "provider"]
        waits = any(call.get("call_id") not in done for call in calls)
        reason = "tool_calls" if waits else "refusal" if _refuses(output) else "stop"
    word = FINISH.writes.get(reason, FINISH.writes["other"])
    native = finish.get("native") if finish is not None else None
    if own and type(native) is str and FINISH.reads.get(native, "other") == reason:
        word = native
    wire["stopReason"] = word
    if finish is None:
        return
    if said is not None:
        exact = FINISH.reads.get(word) == said or (said == "other" and own)
        finish.pop("reason") if exact else finish.update(reason=Fated("approximated", f"sent as {word!r}"))
    if native is not None:
        finish.pop("native") if word == native else finish.update(native=Fated("approximated", f"sent as {word!r}"))


def _refuses(output: list[Node]) -> bool:
    """Whether the model refuses in words, for which this protocol has no block of its own."""
    contents = [content for item in output if type(content := item.get("content")) is list]
    return any(type(part) is dict and part.get("type") == "refusal" for content in contents for part in content)


def _write_failure(c: Node, w: Writer) -> Any:
    """A failed response as the body of a failed request."""
    error = c.pop("error", None)
    status = c.pop("status") if c.get("status") in ("failed", "cancelled") else None
    if type(error) is not dict:
        error = {"type": "server_error", "message": "the response failed" if status != "cancelled" else "cancelled"}
    doc = w.doc
    wire = w.root(write_error, {"error": error})
    w.doc = doc
    write_head(c, w)
    c.update(head_fates(c, w))
    if not c.get("output"):
        c.pop("output", None)
    if c.get("object") == "response":
        c["object"] = Fated("approximated", "sent as an error")
    return wire


# ---- counting -------------------------------------------------------------------------------------------------------


def read_count(w: Node, r: Reader) -> Node:
    """Return the canonical usage of a count of tokens."""
    node: Node = {}
    if not move(w, "inputTokens", node, "input_tokens", r, (), int):
        raise IllTyped("inputTokens")
    return node


def write_count(c: Node, w: Writer) -> Node:
    """Return the body of a count of tokens."""
    count = c.pop("input_tokens", None)
    wire: Node = {"inputTokens": count if type(count) is int else 0}
    if type(count) is not int:
        w.added(wire, "inputTokens", "required by amazon-converse; count not in the source")
    return wire
