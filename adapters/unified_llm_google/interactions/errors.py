"""Errors: a snake_case string code with a message; older paths still answer in the form of google.rpc.

The class of an error follows from its code, or from the rpc status, and the code stays what it is. Writing chooses the
code that stands for a class where the error has none of this protocol's own.

https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

from typing import Any

from unified_llm.errors import InvalidBody
from unified_llm.mapping import Fated, fill, remainder, take
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .tables import CODES, RPC, TYPES

__all__ = ["read_error", "read_error_body", "write_error", "write_error_body"]

Node = dict[str, Any]

_STATUS = {
    "invalid_request": 400,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "rate_limit": 429,
    "quota": 429,
    "cancelled": 499,
    "server_error": 500,
    "overloaded": 503,
    "timeout": 504,
}


def read_error(w: Any, r: Reader) -> Node:
    """The canonical error document of an error body: an object, a list of one (older paths), or plain text."""
    if type(w) is str:
        node: Node = {"error": {"type": "other", "message": w, **_outside(r)}}
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
        node = {"error": {"type": "other", "message": w.pop("error"), **_outside(r)}}
        r.form(node, "body", "string")
        return node
    source = w["error"]
    inner = take(w, "error")
    error = read_error_body(inner, r)
    error.update((key, value) for key, value in _outside(r).items() if key not in error)
    left = remainder(inner)
    del w["error"]
    if left:
        r.keep(error, left)
    return {"error": r.made(error, source)}


def _outside(r: Reader) -> Node:
    """What HTTP says beside the body."""
    out: Node = {}
    status = r.http.get("status")
    if type(status) is int and status >= 400:  # an error within a stream has no status of its own
        out["status"] = status
    headers = r.http.get("headers") or {}
    for name, value in headers.items():
        if str(name).lower() == "retry-after" and str(value).isdigit():
            out["retry_after"] = int(value)
    return out


def read_error_body(w: Node, r: Reader) -> Node:
    """The canonical error of `{code, message}`, popped from `w`."""
    error: Node = {"type": "other"}
    code, word = w.get("code"), w.get("status")
    if type(code) is str:
        error["type"] = TYPES.get(code, "other")
        error["code"] = w.pop("code")
    elif type(code) is int:
        error["type"] = RPC.get(word, "other") if type(word) is str else "other"
        error["status"] = w.pop("code")
        if type(word) is str:
            error["code"] = w.pop("status")
        if "details" in w:
            error["details"] = w.pop("details")
        r.form(error, "code", "rpc")
    else:
        r.form(error, "code", "unread" if "code" in w else "absent")
    if "message" in w:
        error["message"] = w.pop("message")
    return error


def write_error(c: Node, w: Writer) -> Any:
    error = c["error"]
    del c["error"]
    form = w.form(c, "body")
    w.context["class"] = error.get("type")
    node = error if "type" in error else {"type": "other", **error}
    if form == "text":
        return w.piece(_write_text, node)
    if form == "string":
        return {"error": w.piece(_write_text, node)}
    wire = {"error": w.piece(write_error_body, node)}
    if form != "list":
        return wire
    own = c["extra"][w.protocol]
    c["extra"] = {**c["extra"], w.protocol: {key: value for key, value in own.items() if key != "rest"}}
    return [fill(wire, own.get("rest", {}))]


def _write_text(c: Node, w: Writer) -> Any:
    _write_outside(c, w)
    return c.pop("message", "")


def _write_outside(c: Node, w: Writer) -> None:
    status = c.pop("status") if type(c.get("status")) is int else 0
    w.http["status"] = status if status >= 400 else _STATUS.get(w.context["class"], 500)
    if "retry_after" in c:
        w.http["headers"] = {"retry-after": str(c.pop("retry_after"))}


def write_error_body(c: Node, w: Writer) -> Node:
    """`{code, message}` of an error whose class is in the writer's context."""
    class_ = w.context["class"]
    wire: Node = {}
    code = c.get("code")
    if w.form(c, "code") == "rpc" and RPC.get(str(code), "other") == class_:
        wire["code"] = c.pop("status", None)
        if "code" in c:
            wire["status"] = c.pop("code")
        if "details" in c:
            wire["details"] = c.pop("details")
    elif type(code) is str and TYPES.get(code, "other") == (class_ or "other"):
        wire["code"] = c.pop("code")
    elif code is not None or class_ != "other" or w.form(c, "code") not in ("unread", "absent"):
        wire["code"] = CODES.get(class_ or "", CODES["server_error"])[0]
        if code is not None:
            c["code"] = Fated("approximated", f"sent as {wire['code']}")
        elif "native_type" in c:
            w.added(wire, "code", "the word for its class")
    if "message" in c:
        wire["message"] = c.pop("message")
    if "status" in c or "retry_after" in c:
        _write_outside(c, w)
    return wire
