"""Responses of Converse: one message of the assistant, why it ended, and what it cost. A count of tokens is a number.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseResponse.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Shape, integer
from unified_llm.engine.pairs.mapping import Fated, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import (
    CALLS,
    answered_by_tools,
    call_id_of,
    consume_status,
    has_failed,
    reason_of,
    settle_call,
    write_failure,
)

from .errors import read_error, write_error
from .turns import read_content, role_of, write_blocks
from .usage import read_usage, write_usage
from .values import FINISH, PROTOCOL, is_own, move

__all__ = [
    "answered",
    "count",
    "head_fates",
    "read_end",
    "read_response",
    "usage_of",
    "write_end",
    "write_head",
    "write_response",
]

Node = dict[str, Any]

_RESULTS = frozenset(f"{kind}_output" for kind in CALLS)
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
    if has_failed(c):
        wire = write_failure(c, w, write_error)
        write_head(c, w)
        c.update(head_fates(c, w))
        return wire
    output = c.pop("output", None) or []
    content = write_blocks(answered(output, w), w)
    message: Node = {"role": "assistant", "content": content}
    if own and w.form(c, "own") == "bare":
        del message["role"]
    wire = {"output": {"message": message}}
    write_head(c, w)
    wire.update(write_end(c, output, w))
    return wire


def answered(output: list[Node], w: Writer) -> list[Node]:
    """The items that a response may hold: no call that was answered where it was made, and nothing of the user's."""
    if is_own(w):
        return output
    out: list[Node] = []
    results = answered_by_tools(output)
    for item in output:
        if item.get("type") in CALLS and call_id_of(item) in results and item.get("executor") != "provider":
            w.piece(_settled, item)
        elif role_of(item, w) == "assistant":
            out.append(item)
        elif item.get("type") in _RESULTS:
            w.piece(_settled, item)
        else:
            w.drop(item, _NOT_SAID)
    return out


def _settled(c: Node, w: Writer) -> Node:
    settle_call(c, "stopReason", _NOT_SAID)
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
        consume_status(c, "stopReason", "amazon-converse has one kind of response")
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


def _write_finish(c: Node, wire: Node, output: list[Node], w: Writer) -> None:
    own = is_own(w) or w.form(c, "own") is not None
    derived = "" if own else reason_of(c, output)
    finish = take(c, "finish") if type(c.get("finish")) is dict else None
    said = finish.get("reason") if finish is not None else None
    if said is None and own:
        return
    reason = said if own else derived
    if said is None and c.get("status") is None:
        w.added(wire, "stopReason", "not in the source")
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


# ---- counting -------------------------------------------------------------------------------------------------------


count = Shape(
    {"inputTokens": integer("input_tokens").required(0, "required by amazon-converse; count not in the source")},
    name=f"{PROTOCOL} count",
    node="usage",
)
