"""Errors: `google.rpc.Status`, alone, in a list of one, or inside a stream.

The canonical type is drawn from status word and details; the word is kept where it is more specific. A retry delay in
the details is seconds, and comes back as the same detail.

https://google.aip.dev/193 https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, fill, lookup
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import read_http, settle_status

from ..errors import (
    INFO,
    OVERFLOW,
    by_reason,
    by_status,
    by_words,
    is_overflow,
    pop_hints,
    read_retry,
    status_of,
    write_http,
    write_retry,
)
from .values.tables import ERROR_TYPES

__all__ = ["read_error", "read_error_node", "write_error", "write_error_body"]

Node = dict[str, Any]


# ---- reading --------------------------------------------------------------------------------------------------------


def read_error(w: Any, r: Reader) -> Node:
    """Read an error document; a list of one error is read as that error."""
    if type(w) is list and len(w) == 1 and type(w[0]) is dict:
        wire = w[0].copy()
        node = {"error": read_error_node(wire, w[0], r)}
        if wire:
            r.keep(node, wire)
        r.form(node, "body", "list")
        return r.made(node, w[0])
    if type(w) is not dict or type(w.get("error")) is not dict:
        text = w if type(w) is str else w.get("error") if type(w) is dict else None
        error: Node = {"type": _typed(None, text, None, r.http.get("status"))}
        if type(text) is str:
            error["message"] = text
        read_http(error, r)
        node = {"error": error}
        if type(w) is dict:
            if type(text) is str:
                del w["error"]
            r.form(node, "body", "string" if type(text) is str else "other")
        else:
            r.form(node, "body", "text" if type(w) is str else "value")
            if type(w) is not str:
                r.extra(node)["rest"] = {"body": w}
        return node
    return {"error": read_error_node(w, r.doc, r)}


def read_error_node(w: Node, doc: Node, r: Reader) -> Node:
    """The canonical error of a body (or chunk) with an `error`, popped from it."""
    wire = doc["error"]
    own = wire.copy()
    del w["error"]
    error: Node = {}
    word, message = own.get("status"), own.get("message")
    details = own.get("details")
    if type(message) is str:
        error["message"] = own.pop("message")
    else:
        r.form(error, "message", "absent")
    code = own.get("code")
    error["type"] = _typed(word, message, details, code if type(code) is int else r.http.get("status"))
    if type(word) is str:
        del own["status"]
        if ERROR_TYPES.write(error["type"]) != word:
            error["native_type"] = word
            r.form(error, "type", error["type"])
    else:
        r.form(error, "status", "absent")
    if error["type"] == "context_overflow" and not is_overflow(message):
        r.form(error, "type", error["type"])
    if type(code) is int:
        error["status"] = own.pop("code")
        r.place(error, ("status",), ("code",))
    else:
        r.form(error, "code", "absent")
    for key in ("type", "native_type"):
        r.place(error, (key,), ("status",))
    if type(details) is list:
        own.pop("details")
        kept = _read_reason(details, read_retry(details, error, r), error, r)
        if kept:
            error["details"] = kept
        elif not details:
            r.form(error, "details", "empty")
    read_http(error, r)
    if own:
        r.keep(error, own)
    return r.made(error, wire)


def _typed(word: Any, message: Any, details: Any, status: Any) -> str:
    kind = lookup(ERROR_TYPES.reads, word) or by_status(status)
    return by_reason(details) or by_words(kind, message, details) or "other"


def _read_reason(given: list[Any], details: list[Any], error: Node, r: Reader) -> list[Any]:
    """What is left of the details but for a bare reason, which is the finer code."""
    for index, detail in enumerate(details):
        if type(detail) is dict and detail.keys() == {"@type", "reason"} and detail["@type"] == INFO:
            if type(detail["reason"]) is str:
                error["code"] = detail["reason"]
                r.form(error, "reason", index)
                place = next(place for place, each in enumerate(given) if each is detail)
                r.place(error, ("code",), ("details", place, "reason"))
                return [*details[:index], *details[index + 1 :]]
    return details


# ---- writing --------------------------------------------------------------------------------------------------------


def write_error(c: Node, w: Writer) -> Any:
    """Write an error document, and its HTTP status and headers."""
    error = c.pop("error", None)
    form = w.form(c, "body")
    write_http(error or {}, status_of(str((error or {}).get("type")), (error or {}).get("status"), w), w)
    if form in ("string", "text", "other", "value"):
        return _write_odd(c, error or {}, form, w)
    body = write_error_body(error or {}, w)
    if form != "list":
        return body
    rest = c["extra"][w.protocol].get("rest")
    c["extra"] = {protocol: drawer for protocol, drawer in c["extra"].items() if protocol != w.protocol}
    return [fill(body, rest) if rest else body]


def _write_odd(c: Node, error: Node, form: str, w: Writer) -> Any:
    """A body that was none of the API's own, as it was."""
    if form == "text":
        return error.get("message")
    if form == "value":
        return (c.pop("extra")[w.protocol].get("rest") or {}).get("body")
    return {"error": error.get("message")} if form == "string" else {}


def write_error_body(error: Node, w: Writer) -> Node:
    """`{"error": {code, message, status, details}}` of a canonical error, and the HTTP status."""
    wire: Node = w.piece(partial(_write_fields, kind=error.get("type") or "other"), error)
    if type(wire.get("code")) is int:
        w.http["status"] = wire["code"]
    return {"error": wire}


def _write_fields(c: Node, w: Writer, kind: str) -> Node:
    wire: Node = {}
    native = c.get("native_type")
    status = c.get("status")
    own = w.protocol in (c.get("extra") or {})
    if not own:
        wire["code"] = status_of(kind, status, w)
    elif type(status) is int and w.form(c, "code") != "absent":
        wire["code"] = status
    elif type(status) is int:
        w.http["status"] = status
    w.http.setdefault("status", wire.get("code"))
    settle_status(c, w)
    if kind == "context_overflow" and not own and not is_overflow(c.get("message")):
        wire["message"] = f"{OVERFLOW}: {c.get('message') or ''}"
        c["message"] = Fated("approximated", "written as clients expect it")
    elif "message" in c or w.form(c, "message") != "absent":
        wire["message"] = c.pop("message", None) or ""
    details = c.pop("details", None)
    details = list(details) if type(details) is list else []
    word = c["code"].upper() if type(c.get("code")) is str else None
    if word is not None:
        place = w.form(c, "reason")
        details.insert(place if type(place) is int else len(details), {"@type": INFO, "reason": c.pop("code")})
    if native is not None and w.form(c, "type") == kind:
        wire["status"] = c.pop("native_type")
    elif w.form(c, "status") != "absent":
        # Its sister protocol has the same words in small letters.
        same = word is not None and not own and lookup(ERROR_TYPES.reads, word) == kind
        wire["status"] = word if same else ERROR_TYPES.writes.get(kind, "UNKNOWN")
        if _typed(wire["status"], wire.get("message"), details, None) != kind:
            c["type"] = Fated("approximated", f"sent as {wire['status']!r}")
    write_retry(c, details, w)
    pop_hints(c, w)
    if details or w.form(c, "details") == "empty":
        wire["details"] = details
    return wire
