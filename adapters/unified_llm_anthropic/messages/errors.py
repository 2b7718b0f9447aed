"""Errors: bodies of failed requests, and errors inside a stream.

`{"type": "error", "error": {type, message, details}, "request_id"}`. The wire has one word for every bad request; a
prompt that is too long is told by its message, which clients of this surface look for before they compact. Words nobody
knows are kept beside the canonical type.

https://docs.claude.com/en/api/errors
"""

from __future__ import annotations

from typing import Any

from unified_llm.hints import HINTS, RateHeaders, read_http, sent_status, settle_status, write_hints
from unified_llm.mapping import Fated, Owned, lookup, take
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .tables import ERROR_STATUS, ERRORS

__all__ = ["read_error", "write_error"]

Node = dict[str, Any]

TOO_LONG = "prompt is too long"
_OVERFLOW = (TOO_LONG, "exceed context limit", "context window", "context length")
_RATES = RateHeaders(
    "anthropic-ratelimit-{kind}-{field}", ("requests", "tokens", "input-tokens", "output-tokens"), absolute=True
)
_BY_STATUS = {status: kind for kind, status in reversed(ERROR_STATUS.items())} | {503: "overloaded", 408: "timeout"}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_error(w: Any, r: Reader) -> Node:
    if type(w) is not dict or type(w.get("error")) is not dict:
        return _read_other(w, r)
    node: Node = {}
    if w.get("type") == "error":
        del w["type"]
    elif "type" not in w:
        r.form(node, "type", "absent")
    wire = w["error"]
    own = wire.copy()
    del w["error"]
    error: Node = {}
    status = r.http.get("status")
    word, message = own.get("type"), own.get("message")
    kind = ERRORS.reads.get(word) if type(word) is str else None
    if kind in (None, "invalid_request") and type(message) is str and any(s in message.lower() for s in _OVERFLOW):
        kind = "context_overflow"
    if kind is None and type(status) is int:
        kind = _BY_STATUS.get(status) or ("server_error" if status >= 500 else "invalid_request")
    error["type"] = kind or "other"
    if type(word) is str:
        del own["type"]
        r.place(error, ("type",), ("error", "type"))
        if ERRORS.write(error["type"]) != word:
            error["native_type"] = word
            r.place(error, ("native_type",), ("error", "type"))
    elif "type" not in own:
        r.form(error, "type", "absent")
    if type(message) is str:
        error["message"] = own.pop("message")
    if type(own.get("details")) is dict and type(own["details"].get("error_code")) is str:
        error["code"] = take(own, "details").pop("error_code")
        r.place(error, ("code",), ("error", "details", "error_code"))
    if type(w.get("request_id")) is str:
        error["request_id"] = w.pop("request_id")
    elif w.get("request_id", 0) is None:
        error["request_id"] = w.pop("request_id")
    read_http(error, r, _RATES)
    node["error"] = error
    if own:
        w["error"] = Owned(own)
    r.made(error, r.doc if type(r.doc) is dict else wire)
    return node


def _read_other(w: Any, r: Reader) -> Node:
    """A body of another shape (text, a proxy's page): its text, and the whole of it for its own protocol."""
    error: Node = {"type": "other"}
    status = r.http.get("status")
    if type(status) is int:
        error["type"] = _BY_STATUS.get(status) or ("server_error" if status >= 500 else "invalid_request")
    node: Node = {"error": error}
    if type(w) is str:
        error["message"] = w
        r.form(node, "body", "text")
    elif type(w) is dict and type(w.get("message")) is str:
        error["message"] = w.pop("message")
        r.form(node, "body", "flat")
    elif type(w) is dict:
        r.form(node, "body", "flat")
    elif type(w) is list and w:
        # By their indices, so that each has a name of its own.
        r.form(node, "body", "list")
        r.extra(node)["rest"] = {str(index): value for index, value in enumerate(w)}
        r.made(node, w)
    else:
        r.form(node, "body", "value")
        r.extra(node)["rest"] = w
        r.trace.append((node, w))
    read_http(error, r, _RATES)
    return node


# ---- writing --------------------------------------------------------------------------------------------------------


def write_error(c: Node, w: Writer) -> Any:
    error = c.get("error")
    c["error"] = None
    if type(error) is not dict:
        error = {"message": "" if error is None else str(error)}
    if not w.context.get("in stream"):
        _write_http(error, w)
    form = w.form(c, "body")
    if form == "text":
        return error.get("message")
    if form == "list":
        return list(c.pop("extra")[w.protocol]["rest"].values())
    if form == "value":
        return c.pop("extra")[w.protocol].get("rest")
    if form == "flat":
        return {"message": error["message"]} if "message" in error else {}
    doc = w.doc
    kept = ((c.get("extra") or {}).get(w.protocol) or {}).get("rest") or {}
    head: Node = {} if w.form(c, "type") == "absent" or "type" in kept else {"type": "error"}
    w.context["request_id"] = ...
    head["error"] = w.root(_write_error, error)
    w.doc = doc
    request_id = w.context.pop("request_id")
    if request_id is not ...:
        head["request_id"] = request_id
    return head


def _write_http(error: Node, w: Writer) -> None:
    kind, status = str(error.get("type")), error.get("status")
    if type(status) is not int or status < 300 or w.source != w.protocol:
        status = sent_status(kind, status, ERROR_STATUS)
    w.http["status"] = status
    headers = write_hints(error, _RATES)
    if headers:
        w.http.setdefault("headers", {}).update(headers)


def _write_error(c: Node, w: Writer) -> Node:
    said = c.pop("type", None)
    kind = said or "other"
    form = w.form(c, "type")
    native = c.get("native_type")
    wire: Node = {}
    if native is not None and (lookup(ERRORS.reads, native) == kind or _own(c, w)):
        wire["type"] = c.pop("native_type")
    elif form != "absent":
        wire["type"] = ERRORS.write(kind) if kind in ERRORS.writes else "api_error"
        if said not in (None, "other", "context_overflow") and ERRORS.read(wire["type"]) != kind and not _own(c, w):
            c["type"] = Fated("approximated", f"sent as {wire['type']!r}")
    message = c.get("message")
    if type(message) is str:
        if kind == "context_overflow" and not _own(c, w) and not any(s in message.lower() for s in _OVERFLOW):
            wire["message"] = f"{TOO_LONG}: {message}"
            c["message"] = Fated("approximated", "said in the words clients look for")
        else:
            wire["message"] = c.pop("message")
    elif w.source != w.protocol:
        wire["message"] = ""
        c.pop("message", None)
    if type(c.get("code")) is str:
        wire["details"] = {"error_code": c.pop("code")}
    if "request_id" in c:
        w.context["request_id"] = c.pop("request_id")
    # The head of a stream is gone: what only a header says is lost there.
    settle_status(c, w)
    for key in () if w.context.get("in stream") else HINTS:
        c.pop(key, None)
    return wire


def _own(c: Node, w: Writer) -> bool:
    return w.source == w.protocol
