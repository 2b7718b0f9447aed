"""Errors: bodies of failed requests, the error of a failed response, and errors inside a stream.

OpenAI's body is `{"error": {message, type, param, code}}`, Open Responses' the same with other type words; some servers
send bare text or the fields at the top. The canonical type is drawn from type, code, text and HTTP status together; the
wire's own word stays beside it, and goes back while the canonical type says what was read.

https://platform.openai.com/docs/guides/error-codes https://www.openresponses.org/specification
"""

from __future__ import annotations

from typing import Any

from unified_llm.mapping import Bimap
from unified_llm.reading import Reader
from unified_llm.writing import Writer

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

TYPES = Bimap(
    {
        "invalid_request_error": "invalid_request",
        "authentication_error": "authentication",
        "permission_error": "permission",
        "not_found_error": "not_found",
        "conflict_error": "conflict",
        "rate_limit_error": "rate_limit",
        "insufficient_quota": "quota",
        "overloaded_error": "overloaded",
        "server_error": "server_error",
        "timeout_error": "timeout",
    },
    reading={
        "invalid_request": "invalid_request",
        "not_found": "not_found",
        "too_many_requests": "rate_limit",
        "model_error": "server_error",
        "rate_limit_exceeded": "rate_limit",
        "requests": "rate_limit",
        "tokens": "rate_limit",
        "internal_server_error": "server_error",
        "api_error": "server_error",
        "service_unavailable_error": "overloaded",
        "request_forbidden": "permission",
    },
    writing={
        "too_large": "invalid_request_error",
        "context_overflow": "invalid_request_error",
        "content_filter": "invalid_request_error",
        "other": "server_error",
    },
)
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
# Codes that say more than the type beside them.
CODES = {
    "context_length_exceeded": "context_overflow",
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
    "insufficient_quota": "quota",
    "rate_limit_exceeded": "rate_limit",
    "slow_down": "rate_limit",
    "invalid_api_key": "authentication",
    "model_not_found": "not_found",
    "server_error": "server_error",
    "server_is_overloaded": "overloaded",
    "invalid_prompt": "invalid_request",
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
_STATUS_OF = {
    "invalid_request": 400,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "timeout": 408,
    "conflict": 409,
    "too_large": 413,
    "rate_limit": 429,
    "quota": 429,
    "server_error": 500,
    "overloaded": 503,
    "context_overflow": 400,
    "content_filter": 400,
    "other": 500,
}
_BY_STATUS = {
    401: "authentication",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    429: "rate_limit",
    502: "overloaded",
    503: "overloaded",
    529: "overloaded",
}
_OVERFLOW = ("context length", "context window", "prompt is too long", "input token count", "too many tokens")
_FIELDS: dict[str, tuple[type, ...]] = {
    "message": (str, type(None)),
    "code": (str, int, type(None)),
    "param": (str, type(None)),
    "headers": (dict, type(None)),
    "misalignment": (dict, type(None)),
}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_error(w: Any, r: Reader) -> Node:
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
    kind = _classify(word, error.get("code"), error.get("message"), status)
    error["type"] = kind
    if type(word) is str:
        del own["type"]
        if TYPES.write(kind) != word:
            error["native_type"] = word
        r.form(error, "type", kind)
    else:
        r.form(error, "untyped", kind)
    if status is not None:
        error["status"] = status
    retry = _retry_after(r.http.get("headers"))
    if retry is not None:
        error["retry_after"] = retry
    return error


def _classify(word: Any, code: Any, message: Any, status: int | None) -> str:
    if type(code) is str and code in CODES:
        return CODES[code]
    if type(message) is str and any(sign in message.lower() for sign in _OVERFLOW):
        return "context_overflow"
    found = TYPES.reads.get(word) if type(word) is str else None
    if status is not None and found in (None, "invalid_request"):
        by_status = _BY_STATUS.get(status) or ("server_error" if status >= 500 else None)
        if by_status is not None:
            return by_status
    return found or ("invalid_request" if status is not None and 400 <= status < 500 else "other")


def _retry_after(headers: Any) -> int | None:
    for key, value in headers.items() if type(headers) is dict else ():
        if key.lower() == "retry-after" and str(value).strip().isdigit():
            return int(value)
    return None


# ---- writing --------------------------------------------------------------------------------------------------------


def write_error(c: Node, w: Writer) -> Any:
    body = w.form(c, "body")
    error = c.get("error")
    c.pop("error", None)  # written as a node of its own, below
    if type(error) is not dict:
        error = {"message": "" if error is None else str(error)}
    status = error.get("status")
    w.http["status"] = status if type(status) is int else _STATUS_OF.get(str(error.get("type")), 500)
    if error.get("retry_after") is not None:
        w.http.setdefault("headers", {})["retry-after"] = str(error["retry_after"])
    if body == "value":
        return c.pop("extra")[w.protocol]["rest"]["body"]
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
    kind = c.pop("type", None) or "other"
    wire: Node = {}
    own = _was_read(c, w)
    strict = w.dialect.get("strict")
    for key in _FIELDS:
        if key in c:
            wire[key] = c.pop(key)
        elif not own and key in ("message", "code", "param"):
            wire[key] = "" if key == "message" else None
    if kind == "context_overflow" and not own and not wire.get("code"):
        # The signal that agents look for before they compact.
        wire["code"] = "context_length_exceeded"
        w.added(wire, "code")
    if strict or w.form(c, "untyped") != kind:
        native = c.get("native_type")
        if native is not None and (w.form(c, "type") == kind or (not own and native in TYPES.reads and not strict)):
            wire["type"] = c.pop("native_type")
        elif strict:
            wire["type"] = STRICT_TYPES.get(kind, "invalid_request")
        else:
            wire["type"] = TYPES.write(kind)
    _pop_http(c)
    return wire


def _write_code(c: Node, w: Writer) -> Node:
    if _was_read(c, w) and not w.dialect.get("strict"):
        return _write_fields(c, w)
    kind = c.pop("type", None) or "other"
    wire = response_error(c, kind)
    if wire["code"] == c.get("code"):
        del c["code"]
    c.pop("message", None)
    _pop_http(c)
    return wire


def response_error(error: Node, kind: Any) -> Node:
    """The error of a failed response: a code of the API's list, and the message."""
    code = error.get("code")
    if code not in KNOWN_CODES:
        code = RESPONSE_CODES.get(kind, "server_error")
    return {"code": code, "message": str(error.get("message") or "")}


def _pop_http(c: Node) -> None:
    """What travels in HTTP."""
    for key in ("status", "retry_after"):
        c.pop(key, None)
