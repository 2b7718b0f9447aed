"""Errors: bodies of failed requests, and errors inside a stream.

OpenAI's body is `{"error": {message, type, param, code}}`; others send bare text, a list, `{"error": "text"}`, or the
fields at the top. The canonical type is drawn from type, code and HTTP status together; the wire's own type word is
kept where it says something else, and each form is remembered.

https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from typing import Any

from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .tables import COMPLETION, ERROR_CODES, ERROR_STATUS, ERROR_TYPES

__all__ = ["read_error", "read_error_node", "write_error", "write_error_body"]

Node = dict[str, Any]

_FIELDS = ("message", "code", "param")
_OVERFLOW = ("context length", "context window", "prompt is too long", "input token count", "too many tokens")


# ---- reading --------------------------------------------------------------------------------------------------------


def read_error(w: Any, r: Reader) -> Node:
    if type(w) is list:
        return _read_list(w, r)
    if type(w) is not dict:
        error: Node = {"message": w} if type(w) is str else {}
        node = {"error": _typed(error, None, r)}
        r.form(node, "body", "text" if type(w) is str else "value")
        if type(w) is not str:
            r.extra(node)["rest"] = {"body": w}
        return node
    if w.get("object") == COMPLETION and type(w.get("choices")) is list:
        return _read_completion(w, r)
    node = {"error": read_error_node(w, r)}
    if type(r.doc) is dict and type(r.doc.get("error")) not in (dict, str):
        r.form(node, "body", "flat")
    elif type(r.doc) is dict and type(r.doc["error"]) is str:
        r.form(node, "body", "string")
    return node


def _read_list(w: list[Any], r: Reader) -> Node:
    """A list of one error, as one server sends it; a longer one keeps its others."""
    first = w[0] if w else {}
    doc, r.doc = r.doc, first
    node = read_error(dict(first) if type(first) is dict else first, r)
    r.doc = doc
    outer = {"node": dict(first)} if type(first) is dict else {}
    rest = dict(outer.get("node") or {})
    rest.pop("error", None)
    if rest and (node.get("extra", {}).get(r.protocol, {}).get("form") or {}).get("body") != "flat":
        r.keep(node, rest)
    if type(first) is dict:
        r.made(node, first)
    r.form(node, "list", True)
    if len(w) > 1:
        r.extra(node).setdefault("rest", {})["others"] = w[1:]
    return node


def _read_completion(w: Node, r: Reader) -> Node:
    """A completion with an error status: the filter's way to refuse. The completion itself is kept."""
    choice = w["choices"][0] if w["choices"] and type(w["choices"][0]) is dict else {}
    filtered = choice.get("finish_reason") == "content_filter"
    message = choice.get("message") if type(choice.get("message")) is dict else {}
    text = message.get("content") if message else None
    error: Node = {"type": "content_filter" if filtered else "other", "message": text or "the content was filtered"}
    node = {"error": error}
    r.form(node, "body", "completion")
    return node


def read_error_node(w: Node, r: Reader) -> Node:
    """The canonical error of a body (or chunk) with an `error`, popped from it; flat bodies are read at the top."""
    value = w.get("error")
    if type(value) is dict:
        own = value.copy()
        del w["error"]
        error = _typed(_fields(own), own, r)
        if own:
            r.keep(error, own)
        return r.made(error, value)
    if type(value) is str:
        del w["error"]
        return _typed({"message": value, **{key: w.pop(key) for key in ("code",) if _is_word(w.get(key))}}, w, r)
    return _typed(_fields(w), w, r)


def _is_word(value: Any) -> bool:
    return type(value) is str or type(value) is int


def _fields(own: Node) -> Node:
    error: Node = {}
    for key in _FIELDS:
        if key in own and (own[key] is None or type(own[key]) is str or (key == "code" and type(own[key]) is int)):
            error[key] = own.pop(key)
    return error


def _typed(error: Node, own: Node | None, r: Reader) -> Node:
    """Give the error its canonical type and what HTTP said; the wire's own word is kept where it does not follow."""
    word = own.get("type") if own else None
    status = r.http.get("status")
    status = status if type(status) is int else None
    kind = _classify(word, error.get("code"), error.get("message"), status)
    error["type"] = kind
    if own is not None and "type" in own and (word is None or type(word) is str):
        del own["type"]
        if ERROR_TYPES.write(kind) != word:
            error["native_type"] = word
    else:
        r.form(error, "type", "absent")
    absent = [key for key in _FIELDS if key not in error]
    if absent:
        r.form(error, "absent", absent)
    if "native_type" in error:
        r.form(error, "type", kind)
    if status is not None:
        error["status"] = status
    retry = _retry_after(r.http.get("headers"))
    if retry is not None:
        error["retry_after"] = retry
    return error


def _classify(word: Any, code: Any, message: Any, status: int | None) -> str:
    if type(code) is str and code in ERROR_CODES:
        return ERROR_CODES[code]
    if type(message) is str and any(sign in message.lower() for sign in _OVERFLOW):
        return "context_overflow"
    found = ERROR_TYPES.reads.get(word) if type(word) is str else None
    status = status if status is not None else code if type(code) is int else None
    if status is not None and (found is None or found == "invalid_request"):
        by_status = _BY_STATUS.get(status) or ("server_error" if status >= 500 else None)
        if by_status is not None:
            return by_status
    return found or ("invalid_request" if status is not None and 400 <= status < 500 else "other")


_BY_STATUS = {401: "authentication", 403: "permission", 404: "not_found", 408: "timeout", 409: "conflict",
              413: "too_large", 429: "rate_limit", 502: "overloaded", 503: "overloaded", 529: "overloaded"}  # fmt: skip


def _retry_after(headers: Any) -> float | int | None:
    if type(headers) is not dict:
        return None
    for key, value in headers.items():
        if key.lower() == "retry-after" and str(value).strip().isdigit():
            return int(value)
    return None


# ---- writing --------------------------------------------------------------------------------------------------------


def write_error(c: Node, w: Writer) -> Any:
    form = w.form(c, "body")
    error = c.get("error")
    c.pop("error", None)
    if type(error) is not dict:
        error = {"message": "" if error is None else str(error)}
    status = error.get("status")
    w.http["status"] = status if type(status) is int else ERROR_STATUS.get(str(error.get("type")), 500)
    if error.get("retry_after") is not None:
        w.http.setdefault("headers", {})["retry-after"] = str(error["retry_after"])
    value: Any
    if form == "completion":
        value = {"object": COMPLETION}
    elif form == "value":
        rest = c.pop("extra")[w.protocol]["rest"]
        value = rest["body"]
    elif form == "text":
        value = error.get("message")
    else:
        body = write_error_body(error, w)
        inner = body["error"]
        if form == "flat":
            value = inner
        elif form == "string":
            value = {"error": inner.get("message"), **({"code": inner["code"]} if "code" in inner else {})}
        else:
            value = body
    if w.form(c, "list"):
        rest = ((c.pop("extra", None) or {}).get(w.protocol) or {}).get("rest") or {}
        others = rest.get("others", [])
        if type(value) is dict:
            value = {**value, **{key: kept for key, kept in rest.items() if key != "others"}}
        value = [value, *others]
        if value == [{}]:
            value = []
    return value


def write_error_body(error: Node, w: Writer) -> Node:
    """`{"error": {...}}` of a canonical error."""
    doc = w.doc
    try:
        return {"error": w.root(_write_error, error)}
    finally:
        w.doc = doc


def _write_error(c: Node, w: Writer) -> Node:
    said = c.pop("type", None)
    kind = said or "other"
    form = w.form(c, "type")
    absent = w.form(c, "absent") or ()
    wire: Node = {}
    for key in _FIELDS:
        if key in c:
            wire[key] = c.pop(key)
        elif key not in absent:
            wire[key] = "" if key == "message" else None
    if "native_type" in c and (form == kind or (form is None and c["native_type"] in ERROR_TYPES.reads)):
        wire["type"] = c.pop("native_type")
    elif form != "absent":
        wire["type"] = ERROR_TYPES.write(kind)
        if said is None:
            w.added(wire, "type")
    if kind == "context_overflow" and not wire.get("code") and form is None:
        wire["code"] = "context_length_exceeded"
    c.pop("status", None)
    c.pop("retry_after", None)
    return wire
