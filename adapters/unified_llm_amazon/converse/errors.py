"""Errors: `{"message"}` with the class in the header `x-amzn-errortype`, and exceptions inside a stream.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_Errors
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import HINTS, read_http, sent_status, settle_status, write_hints
from unified_llm.engine.shared.error_messages import class_by_message

from .values import ERRORS, EXCEPTIONS, STATUS

__all__ = ["EXCEPTION", "read_error", "write_error"]

Node = dict[str, Any]

HEADER = "x-amzn-errortype"
EXCEPTION = "Exception"
_BODY = "__type"
_OVERFLOW = ("too long", "context window", "context length", "exceed context limit", "too many input tokens")
_TOO_LONG = "Input is too long for requested model"
_OWN_WORDS = (_TOO_LONG.lower(), "prompt is too long", "exceed context limit")  # those that clients of Bedrock look for
_BY_STATUS = {
    400: "invalid_request",
    401: "authentication",
    403: "permission",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    424: "server_error",
    429: "rate_limit",
    503: "overloaded",
}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_error(w: Any, r: Reader, word: str | None = None) -> Node:
    """The error of a body; `word` is its class where neither a header nor the body has it."""
    error: Node = {}
    node: Node = {"error": error}
    if type(w) is not dict:
        r.form(node, "body", "text" if type(w) is str else "value")
        if type(w) is str:
            error["message"] = w
        else:
            r.extra(node)["rest"] = w
            r.trace.append((node, w))
    else:
        key = next((key for key in ("message", "Message") if type(w.get(key)) is str), None)
        if key is not None:
            error["message"] = w.pop(key)
            r.place(error, ("message",), (key,))
        if key == "Message":
            r.form(node, "body", key)
    if word is None:
        word = _word(w, r)
    status = r.http.get("status")
    error["type"] = _classify(word, error.get("message"), status)
    if word is not None:
        if ERRORS.writes.get(error["type"]) != word:
            error["native_type"] = word
    read_http(error, r)
    r.made(error, r.doc)
    return node


def _is_head(error: Node) -> bool:
    """Whether the status of an error is that of its response, and was not in its body."""
    drawers = (error.get("extra") or {}).values()
    return any("status_of" in (drawer.get("form") or ()) for drawer in drawers)


def _word(w: Any, r: Reader) -> str | None:
    headers = r.http.get("headers")
    said = {str(name).lower(): value for name, value in headers.items()} if isinstance(headers, dict) else {}
    word = said.get(HEADER)
    if type(word) is not str and type(w) is dict and type(w.get(_BODY)) is str:
        word = w[_BODY]
    # It may be followed by a URL, and preceded by a namespace.
    return word.partition(":")[0].rpartition("#")[2] or None if type(word) is str else None


def _classify(word: str | None, message: Any, status: Any) -> str:
    kind: str | None = ERRORS.reads.get(word)
    if kind is None and type(status) is int and status >= 400:
        kind = _BY_STATUS.get(status) or ("server_error" if status >= 500 else "invalid_request")
    if kind in (None, "invalid_request") and type(message) is str and any(s in message.lower() for s in _OVERFLOW):
        return "context_overflow"
    # The refusals of the models (Claude's, among them) come as bad requests, in their words.
    return (class_by_message(kind, message) if kind in (None, "invalid_request", "rate_limit") else kind) or "other"


# ---- writing --------------------------------------------------------------------------------------------------------


def _fitting(word: str, status: int) -> str:
    """The exception of a status: `word` if it has that one, or if no exception does; clients look at either."""
    found = EXCEPTIONS.get(status, (word,))
    if word in found:
        return word
    kind = ERRORS.reads.get(word)
    return next((each for each in found if ERRORS.reads.get(each) == kind), found[0])


def write_error(c: Node, w: Writer) -> Any:
    """Return the body of an error; its class and hints are headers."""
    error = c.get("error")
    if type(error) is not dict:
        error = {"message": "" if error is None else str(error)}
    c.pop("error", None)  # a piece of its own below
    form = w.form(c, "body")
    own = w.source == w.protocol
    kind, native, status = error.get("type"), error.get("native_type"), error.get("status")
    word = ERRORS.writes.get(kind, "InternalServerException") if type(kind) is str else "InternalServerException"
    if type(native) is str and (own or ERRORS.reads.get(native) == kind):
        word = native
    if not w.context.get("in stream"):
        if type(status) is not int or not own:
            status = sent_status(str(kind), status, STATUS)
            word = _fitting(word, status)
        w.http["status"] = status
        headers = {**write_hints(error), HEADER: word}
        w.http.setdefault("headers", {}).update(headers)
    w.context["word"] = word

    def pair(c: Node, w: Writer) -> Node:
        if c.get("native_type") == word:
            del c["native_type"]
        if ERRORS.reads.get(word) == kind or own or kind in (None, "other"):
            c.pop("type", None)
        else:
            c["type"] = Fated("approximated", f"sent as {word!r}")
        said = c.get("status")
        settle_status(c, w)
        if said is not None and "status" not in c and not own and not _is_head(c):
            c["status"] = Fated("approximated", "represented by the HTTP status")
        for hint in HINTS if not w.context.get("in stream") else ():
            c.pop(hint, None)
        message = c.pop("message", None)
        if type(message) is not str:
            return {} if own else {"message": ""}
        if kind == "context_overflow" and not own and not any(s in message.lower() for s in _OWN_WORDS):
            c["message"] = Fated("approximated", "in the words that clients look for")
            message = f"{_TOO_LONG}: {message}"
        return {"Message" if form == "Message" else "message": message}

    said = w.piece(pair, error)
    if form == "text":
        return said.get("message")
    if form == "value":
        return (c.pop("extra")[w.protocol]).get("rest")
    return said
