"""Errors: bodies of failed requests, the error of a failed response, and errors inside a stream.

OpenAI's body is `{"error": {message, type, param, code}}`, Open Responses' the same with other type words; some servers
send bare text or the fields at the top. The canonical type is drawn from type, code, text and HTTP status together; the
wire's own word stays beside it, and goes back while the canonical type is the one that was read.

https://platform.openai.com/docs/guides/error-codes https://www.openresponses.org/specification
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import lookup
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import read_http

from ..errors import TYPES, classify, fit_code, is_shared, pop_http, tell_type, write_http

__all__ = [
    "read_error",
    "read_error_node",
    "response_error",
    "whole",
    "write_error",
    "write_error_node",
    "write_response_error",
]

Node = dict[str, Any]

# Open Responses has five words.
STRICT_TYPES = {
    "not_found": "not_found",
    "rate_limit": "too_many_requests",
    "quota": "too_many_requests",
    "server_error": "server_error",
    "overloaded": "server_error",
    "timeout": "server_error",
    "other": "server_error",
}
# The codes of a failed response, a closed list in the SDK; what has none of its own is a server error.
RESPONSE_CODES = {
    "rate_limit": "rate_limit_exceeded",
    "quota": "insufficient_quota",
    "invalid_request": "invalid_prompt",
    "context_overflow": "context_length_exceeded",
}
KNOWN_CODES = frozenset(
    """server_error rate_limit_exceeded invalid_prompt data_residency_mismatch bio_policy misalignment_policy_violation
    vector_store_timeout invalid_image invalid_image_format invalid_base64_image invalid_image_url image_too_large
    image_too_small image_parse_error image_content_policy_violation invalid_image_mode image_file_too_large
    unsupported_image_media_type empty_image_file failed_to_download_image image_file_not_found
    context_length_exceeded insufficient_quota previous_response_not_found""".split()
)
_FIELDS: dict[str, tuple[type, ...]] = {
    "message": (str, type(None)),
    "code": (str, int, type(None)),
    "param": (str, type(None)),
    "headers": (dict, type(None)),
    "misalignment": (dict, type(None)),
}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_error(w: Any, r: Reader) -> Node:
    """Read an error document; a string or another form is noted as a marker."""
    if type(w) is not dict:
        node: Node = {"error": _typed({"message": w} if type(w) is str else {}, {}, r)}
        r.form(node, "body", "text" if type(w) is str else "value")
        if type(w) is not str:
            r.extra(node)["rest"] = {"body": w}
        return node
    value = w.get("error")
    if type(value) is dict:
        del w["error"]
        return {"error": read_error_node(value, r)}
    if type(value) is str:
        del w["error"]
        node = {"error": _typed({"message": value}, {}, r)}
        r.form(node, "body", "string")
        return node
    node = {"error": _typed(_fields(w), w, r)}
    r.form(node, "body", "flat")
    return node


def read_error_node(wire: Node, r: Reader) -> Node:
    """The canonical error of an error object."""
    own = wire.copy()
    error = _typed(_fields(own), own, r)
    if own:
        r.keep(error, own)
    return r.made(error, wire)


def _fields(own: Node) -> Node:
    return {key: own.pop(key) for key, types in _FIELDS.items() if key in own and type(own[key]) in types}


def _typed(error: Node, own: Node, r: Reader) -> Node:
    word = own.get("type")
    status = r.http.get("status")
    status = status if type(status) is int else None
    kind = classify(word, error.get("code"), error.get("message"), status)
    error["type"] = kind
    if type(word) is str:
        del own["type"]
        if TYPES.write(kind) != word:
            error["native_type"] = word
        r.form(error, "type", kind)
    else:
        r.form(error, "untyped", kind)
    read_http(error, r)
    return error


# ---- writing --------------------------------------------------------------------------------------------------------


def write_error(c: Node, w: Writer) -> Any:
    """Write an error document, and its HTTP status and headers."""
    body = w.form(c, "body")
    error = c.get("error")
    c.pop("error", None)  # written as a node of its own, below
    if type(error) is not dict:
        error = {"message": "" if error is None else str(error)}
    write_http(error, w)
    if body == "value":
        return (c.pop("extra")[w.protocol].get("rest") or {}).get("body")
    if body == "text":
        return error.get("message")
    wire = write_error_node(error, w)
    if body == "string":
        return {"error": wire.get("message")}
    return wire if body == "flat" else {"error": wire}


def write_error_node(error: Node, w: Writer) -> Node:
    """The error object of a canonical error."""
    return whole(_write_fields, error, w)


def write_response_error(error: Node, w: Writer) -> Node:
    """The error of a failed response: a code and a message."""
    return whole(_write_code, error, w)


def whole(pair: Any, node: Node, w: Writer) -> Node:
    """Write a node of its own (an error, the response of an event) with `pair`; the engine sees to its leftovers."""
    doc = w.doc
    try:
        wire: Node = w.root(pair, node)
        return wire
    finally:
        w.doc = doc


def _was_read(c: Node, w: Writer) -> bool:
    return w.form(c, "type") is not None or w.form(c, "untyped") is not None


def _write_fields(c: Node, w: Writer) -> Node:
    said = c.pop("type", None)
    kind = said or "other"
    wire: Node = {}
    own = _was_read(c, w)
    strict = w.dialect.get("strict")
    for key in _FIELDS:
        if key in c:
            wire[key] = c.pop(key)
        elif not own and key in ("message", "code", "param"):
            wire[key] = "" if key == "message" else None
    if not own:
        fit_code(kind, c, wire, w)
    if strict or w.form(c, "untyped") != kind:
        native = c.get("native_type")
        if native is not None and (w.form(c, "type") == kind or (not own and is_shared(native, kind) and not strict)):
            wire["type"] = c.pop("native_type")
        elif strict:
            wire["type"] = STRICT_TYPES.get(kind, "invalid_request")
        else:
            wire["type"] = TYPES.write(kind)
    if not own or w.form(c, "type") not in (None, kind):  # what was edited may have no word of its own
        tell_type(said, c, wire, w)
    pop_http(c, w)
    return wire


def _write_code(c: Node, w: Writer) -> Node:
    if _was_read(c, w) and not w.dialect.get("strict"):
        return _write_fields(c, w)
    said = c.pop("type", None)
    wire = response_error(c, said or "other")
    if wire["code"] == c.get("code"):
        del c["code"]
    c.pop("message", None)
    tell_type(said, c, wire, w)
    pop_http(c, w)
    return wire


def response_error(error: Node, kind: Any) -> Node:
    """The error of a failed response: a code of the API's list, and the message."""
    code = error.get("code")
    if type(code) is not str or code not in KNOWN_CODES:
        code = lookup(RESPONSE_CODES, kind, "server_error")
    return {"code": code, "message": str(error.get("message") or "")}
