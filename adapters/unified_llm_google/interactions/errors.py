"""Errors: a snake_case string code with a message; older paths still answer in the form of google.rpc.

The class of an error follows from its code, or from the rpc status, and the code stays what it is. Writing chooses the
code that stands for a class where the error has none of this protocol's own.

https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, WritePair, fill, remainder, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import read_http, settle_status
from unified_llm.foundation.errors import InvalidBody

from ..errors import (
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
from .values.tables import CODES, RPC, TYPES

__all__ = ["read_error", "read_error_body", "write_error", "write_error_body", "write_failure"]

Node = dict[str, Any]

# Classes without a code of their own, by the class whose code is written.
_AS = {"context_overflow": "invalid_request", "too_large": "invalid_request"}


def read_error(w: Any, r: Reader) -> Node:
    """The canonical error document of an error body: an object, a list of one (older paths), or plain text."""
    if type(w) is str:
        node: Node = {"error": _outside({"type": "other", "message": w}, r)}
        r.form(node, "body", "text")
        return node
    if type(w) is list and len(w) == 1 and type(w[0]) is dict:
        rest = w[0].copy()
        node = read_error(rest, r)
        if rest:
            r.keep(node, rest)
        r.form(node, "body", "list")
        return r.made(node, w[0])
    if type(w) is not dict or type(w.get("error")) not in (dict, str):
        raise InvalidBody("", "an object with an error is required")
    if type(w["error"]) is str:
        node = {"error": _outside({"type": "other", "message": w.pop("error")}, r)}
        r.form(node, "body", "string")
        return node
    source = w["error"]
    inner = take(w, "error")
    error = _outside(read_error_body(inner, r), r)
    left = remainder(inner)
    del w["error"]
    if left:
        r.keep(error, left)
    return {"error": r.made(error, source)}


def _outside(error: Node, r: Reader) -> Node:
    """The HTTP part beside the body."""
    read_http(error, r)
    if error["type"] == "other" and error.get("code") not in TYPES:
        error["type"] = by_words(by_status(error.get("status")), error.get("message"), error.get("details")) or "other"
    return _marked(error, r)


def _marked(error: Node, r: Reader) -> Node:
    """An error with its class noted where its code alone means another one."""
    code = error.get("code")
    if code is not None and TYPES.get(code, RPC.get(code)) != error["type"]:
        r.form(error, "class", error["type"])
    return error


def read_error_body(w: Node, r: Reader) -> Node:
    """The canonical error of `{code, message}`, popped from `w`."""
    error: Node = {"type": "other"}
    code, word = w.get("code"), w.get("status")
    if type(code) is str:
        error["type"] = TYPES.get(code, "other")
        error["code"] = w.pop("code")
    elif type(code) is int:
        error["type"] = by_reason(w.get("details")) or (RPC.get(word, "other") if type(word) is str else "other")
        error["status"] = w.pop("code")
        if type(word) is str:
            error["code"] = w.pop("status")
        if type(w.get("details")) is list:
            details = read_retry(w["details"], error, r)
            if details or not w["details"]:
                error["details"] = details
            del w["details"]
        elif "details" in w:
            error["details"] = w.pop("details")
        r.form(error, "code", "rpc")
    else:
        r.form(error, "code", "unread" if "code" in w else "absent")
    if "message" in w:
        error["message"] = w.pop("message")
    error["type"] = by_words(error["type"], error.get("message"), error.get("details", w.get("details")))
    return _marked(error, r)


def write_error(c: Node, w: Writer) -> Any:
    """Write an error document, and its HTTP status and headers."""
    error = c["error"]
    del c["error"]
    form = w.form(c, "body")
    if form == "text":
        return write_failure(error, w, _write_text)
    if form == "string":
        return {"error": write_failure(error, w, _write_text)}
    wire = {"error": write_failure(error, w)}
    if form != "list":
        return wire
    own = c["extra"][w.protocol]
    c["extra"] = {**c["extra"], w.protocol: {key: value for key, value in own.items() if key != "rest"}}
    return [fill(wire, own.get("rest", {}))]


def write_failure(error: Node, w: Writer, pair: WritePair | None = None) -> Any:
    """The error of a failed request, with its HTTP status."""
    w.context["class"] = error.get("type")
    node = error if "type" in error else {"type": "other", **error}
    write_http(node, status_of(str(node["type"]), error.get("status"), w), w)
    wire = w.piece(pair or write_error_body, node)
    kind = error.get("type")
    known = w.source == w.protocol or kind in (None, "other", "context_overflow")
    if type(wire) is dict and not known and TYPES.get(str(wire.get("code"))) != kind:
        w.report(error, ("type",), "approximated", f"sent as {wire.get('code')!r}")
    return wire


def _write_text(c: Node, w: Writer) -> Any:
    _pop_http(c, w)
    return c.pop("message", "")


def _pop_http(c: Node, w: Writer) -> None:
    settle_status(c, w)
    pop_hints(c, w)


def _sister_word(c: Node, class_: str | None) -> str | None:
    """The code that is the word of the sister protocol in small letters, where it has the same class."""
    native = c.get("native_type")
    if type(native) is not str or not native.isupper():
        return None
    word = native.lower()
    return word if class_ is not None and TYPES.get(word) == _AS.get(class_, class_) else None


def write_error_body(c: Node, w: Writer) -> Node:
    """`{code, message}` of an error whose class is in the writer's context."""
    class_ = w.context["class"]
    wire: Node = {}
    code = c.get("code")
    same = w.form(c, "class") == class_
    if w.form(c, "code") == "rpc" and (same or _AS.get(class_, class_) == RPC.get(str(code), "other")):
        wire["code"] = c.pop("status", None)
        if "code" in c:
            wire["status"] = c.pop("code")
        if "details" in c or w.form(c, "retry") is not None:
            details = c.pop("details", [])
            wire["details"] = list(details) if type(details) is list else details
            if w.form(c, "retry") is not None:
                write_retry(c, wire["details"], w)
    elif type(code) is str and (
        same or TYPES.get(code) == _AS.get(class_, class_) or (w.source in (None, w.protocol) and code not in TYPES)
    ):
        wire["code"] = c.pop("code")
    elif code is None and (word := _sister_word(c, class_)) is not None:
        del c["native_type"]
        wire["code"] = word
    elif code is not None or class_ != "other" or w.form(c, "code") not in ("unread", "absent"):
        wire["code"] = CODES.get(_AS.get(class_, class_ or ""), CODES["server_error"])[0]
        if code is not None:
            c["code"] = Fated("approximated", f"sent as {wire['code']}")
        elif "native_type" in c:
            w.added(wire, "code", "the word for its class")
    if class_ == "context_overflow" and not same and w.source != w.protocol and not is_overflow(c.get("message")):
        wire["message"] = f"{OVERFLOW}: {c.get('message') or ''}"
        c["message"] = Fated("approximated", "written as clients expect it")
    elif "message" in c:
        wire["message"] = c.pop("message")
    _pop_http(c, w)
    return wire
