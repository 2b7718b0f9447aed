"""Errors: bodies of failed requests, and errors inside a stream.

`{"type": "error", "error": {type, message, details}, "request_id"}`. The wire has one word for every bad request; a
prompt that is too long is recognized by its message, which clients of this surface look for before they compact.
Unknown words are kept beside the canonical type.

https://docs.claude.com/en/api/errors
"""

from __future__ import annotations

from functools import partial
from typing import Any

from unified_llm.engine import Context, Shape, string
from unified_llm.engine.bridge import read_part, write_part
from unified_llm.engine.pairs.mapping import lookup
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import HINTS, RateHeaders, read_http, sent_status, write_hints
from unified_llm.engine.shared.error_messages import class_of

from .values.tables import ERROR_CODES, ERROR_STATUS, ERRORS, PROTOCOL

__all__ = ["RATES", "read_error", "write_error"]

Node = dict[str, Any]

TOO_LONG = "prompt is too long"
_OVERFLOW = (TOO_LONG, "exceed context limit")  # the API's own words; clients compact a conversation when they see them
RATES = RateHeaders(
    "anthropic-ratelimit-{kind}-{field}", ("requests", "tokens", "input-tokens", "output-tokens"), absolute=True
)
_BY_STATUS = {status: kind for kind, status in reversed(ERROR_STATUS.items())} | {503: "overloaded", 408: "timeout"}

# The wire word is read as the native one; which class that is depends on the message and the HTTP status (`classify`).
body = Shape(
    {
        "type?": "error",
        "error": {
            "type?": string("error.native_type"),
            "message?": string("error.message"),
            "details?": {"error_code?": string("error.code")},
        },
        "request_id?": string("error.request_id").nullable(),
    },
    name=f"{PROTOCOL} error",
    node="error",
)


# ---- reading --------------------------------------------------------------------------------------------------------


def read_error(w: Any, r: Reader) -> Node:
    """Read an error document. A body of another form is kept whole, with what the HTTP status implies."""
    if type(w) is list and len(w) == 1 and type(w[0]) is dict and type(w[0].get("error")) is dict:
        # As Google's servers send the errors of a stream.
        node = r.made(_read_one(w[0].copy(), w[0], r, whole=False), w[0])
        r.form(node, "list", True)
        return node
    if type(w) is not dict or type(w.get("error")) is not dict:
        return _read_other(w, r)
    return _read_one(w, r.doc if type(r.doc) is dict else w.copy(), r)


def _read_one(w: Node, doc: Node, r: Reader, whole: bool = True) -> Node:
    node = read_part(body, doc, r, whole)
    w.clear()
    error = node.setdefault("error", {})
    word = error.pop("native_type", None)
    kind = classify(word, error.get("message"), r.http.get("status"))
    error["type"] = lookup(ERROR_CODES, error.get("code"), kind)
    if word is not None:
        r.made(error, doc)
        r.place(error, ("type",), ("error", "type"))
        if ERRORS.write(error["type"]) != word:
            error["native_type"] = word
    else:
        r.form(error, "type", "absent")  # or no word at all, which stays where it is
    read_http(error, r, RATES)
    return node


def classify(word: str | None, message: Any, status: Any) -> str:
    """The canonical class of an error, by its word, its message and the HTTP status it came with."""
    return class_of(ERRORS.reads.get(word), message, status, _BY_STATUS)


def _read_other(w: Any, r: Reader) -> Node:
    """A body of another shape (text, a proxy's page): its text, and the whole of it for its own protocol."""
    error: Node = {}
    node: Node = {"error": error}
    if type(w) is str:
        error["message"] = w
        r.form(node, "body", "text")
    elif type(w) is dict and type(w.get("error")) is str:
        error["message"] = w.pop("error")
        r.form(node, "body", "string")
    elif type(w) is dict and type(w.get("message")) is str:
        if type(w.get("type")) is str and w["type"] != "error":
            error["native_type"] = w.pop("type")
            r.made(error, r.doc)
            r.place(error, ("native_type",), ("type",))
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
    error["type"] = classify(error.get("native_type"), error.get("message"), r.http.get("status"))
    read_http(error, r, RATES)
    return node


# ---- writing --------------------------------------------------------------------------------------------------------


def write_error(c: Node, w: Writer) -> Any:
    """Write an error document, and its HTTP status and headers."""
    return [_write_one(c, w)] if w.form(c, "list") else _write_one(c, w)


def _write_one(c: Node, w: Writer) -> Any:
    error = c.get("error")
    if type(error) is not dict:
        error = {"message": "" if error is None else str(error)}
    if not w.context.get("in stream"):
        _write_http(error, w)
    form = w.form(c, "body")
    if form is not None:
        c["error"] = None
    if form == "text":
        return error.get("message")
    if form == "list":
        return list((c.pop("extra")[w.protocol].get("rest") or {}).values())
    if form == "value":
        return c.pop("extra")[w.protocol].get("rest")
    if form == "string":
        return {"error": error.get("message")}
    if form == "flat":
        words = {"type": error["native_type"]} if "native_type" in error else {}
        return {"message": error["message"], **words} if "message" in error else words
    root = w.doc if w.doc.get("error") is error else {**w.doc, "error": error}
    c.clear()
    return write_part(body, root, w, partial(_write_fields, w=w))


def _write_http(error: Node, w: Writer) -> None:
    kind, status = str(error.get("type")), error.get("status")
    if type(status) is not int or status < 300 or w.source != w.protocol:
        status = sent_status(kind, status, ERROR_STATUS)
    w.http["status"] = status
    headers = write_hints(error, RATES)
    if headers:
        w.http.setdefault("headers", {}).update(headers)


def _write_fields(c: Node, x: Context, w: Writer) -> None:
    """Write an error in this protocol: its class by a type, a full context by its message too."""
    error = c["error"] = {key: value for key, value in c["error"].items() if x.own or value is not None}
    said, native, message = error.pop("type", None), error.get("native_type"), error.get("message")
    kind = said or "other"
    if native is None or not (x.own or lookup(ERRORS.reads, native) == kind):
        if native is not None:
            x.lost(c, ("error", "native_type"))
        error["native_type"] = ERRORS.write(kind) if kind in ERRORS.writes else "api_error"
        exact = said in (None, "other", "context_overflow") or ERRORS.read(error["native_type"]) == kind
        if not exact and not x.own:
            x.approximated(c, ("error", "type"), f"sent as {error['native_type']!r}")
        if w.form(error, "type") == "absent":
            del error["native_type"]
    if kind == "context_overflow" and not x.own and type(message) is str:
        if not any(s in message.lower() for s in _OVERFLOW):
            error["message"] = f"{TOO_LONG}: {message}"
            x.approximated(c, ("error", "message"), "written as clients expect it")
    elif type(message) is not str and not x.own:
        error["message"] = ""
    _settle_http(c, error, x, w)
    for protocol, kept in (error.pop("extra", None) or {}).items():
        if protocol != x.target:
            x.foreign(w.doc["error"], protocol, kept)


def _settle_http(c: Node, error: Node, x: Context, w: Writer) -> None:
    """The HTTP part of an error; where its head is gone, in a stream, that is lost but for the status."""
    status, sent = error.pop("status", None), w.http.get("status")
    drawers = (error.get("extra") or {}).values()
    if status not in (None, sent) and not any("status_of" in drawer.get("form", ()) for drawer in drawers):
        x.approximated(c, ("error", "status"), f"sent as HTTP {sent}" if sent else "represented by the type")
    for key in () if w.context.get("in stream") else HINTS:
        error.pop(key, None)
