"""Errors: bodies of failed requests, and errors inside a stream.

OpenAI's body is `{"error": {message, type, param, code}}`; others send bare text, a list, `{"error": "text"}`, or the
fields at the top. The canonical type is drawn from type, code and HTTP status together; the wire's own type word is
kept where it means something else, and each form is remembered.

https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import read_hints, read_http
from unified_llm.engine.shared.error_messages import class_by_details

from ..errors import TYPES, classify, fit_code, is_shared, pop_http, tell_type, write_http
from .error_places import PLACES, mark_places, marked_places, placed, read_places
from .values.tables import COMPLETION

__all__ = ["read_error", "read_error_node", "write_error", "write_error_body"]

Node = dict[str, Any]

_FIELDS = ("message", "code", "param")
_TOO_LONG = "This model's maximum context length is exceeded"
# Clients that see no code, but the text (LiteLLM, of which Aider has an older one), look for OpenAI's words or for
# those of some other providers.
_OVERFLOW = ("maximum context length", "configured limit", "exceed context limit", "maximum number of tokens allowed")


# ---- reading --------------------------------------------------------------------------------------------------------


def read_error(w: Any, r: Reader) -> Node:
    """Read an error document; a list, a string or another form is noted as a marker."""
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
    places = read_places(w, r)
    if type(value) is dict:
        own = value.copy()
        del w["error"]
        error = _typed({**_fields(own), **places}, own, r)
        if own:
            r.keep(error, own)
        return r.made(error, value)
    if type(value) is str:
        del w["error"]
        code = {key: w.pop(key) for key in ("code",) if _is_word(w.get(key))}
        return _typed({"message": value, **code, **places}, w, r)
    return _typed({**_fields(w), **places}, w, r)


def _is_word(value: Any) -> bool:
    return type(value) is str or type(value) is int


def _fields(own: Node) -> Node:
    error: Node = {}
    for key in _FIELDS:
        if key in own and (own[key] is None or type(own[key]) is str or (key == "code" and type(own[key]) is int)):
            error[key] = own.pop(key)
    return error


def _typed(error: Node, own: Node | None, r: Reader) -> Node:
    """Give the error its canonical type and its HTTP part; the wire's own word is kept where it does not follow."""
    places = error.pop(PLACES, {})
    word = error.pop("type", None) or (own.get("type") if own else None)
    status = r.http.get("status")
    status = status if type(status) is int else None
    kind = _meant(word, error.get("code"), r) or classify(word, error.get("code"), error.get("message"), status)
    kind = error["type"] = class_by_details(kind, own.get("details") if own else None) or kind
    if "type" in places:
        error["native_type"] = word
    elif own is not None and "type" in own and (word is None or type(word) is str):
        del own["type"]
        if TYPES.write(kind) != word:
            error["native_type"] = word
    else:
        r.form(error, "type", "absent")
    absent = [key for key in _FIELDS if key not in error]
    if absent:
        r.form(error, "absent", absent)
    if "native_type" in error:
        r.form(error, "type", kind)
    if places:
        mark_places(error, places, r)
    read_http(error, r)
    _read_passed_headers(error, own or {}, r)
    return error


def _read_passed_headers(error: Node, own: Node, r: Reader) -> None:
    """The advice in the headers of the upstream, which a router has in the body (OpenRouter: `metadata.headers`)."""
    headers, metadata = r.http.get("headers"), own.get("metadata")
    said = metadata.get("headers") if type(metadata) is dict else None
    if isinstance(headers, Mapping) and type(said) is dict and "status" in error:
        dated = {name: value for name, value in headers.items() if name.lower() == "date"}
        for key, value in read_hints({**said, **dated}).items():
            error.setdefault(key, value)


def _meant(word: Any, code: Any, r: Reader) -> str | None:
    """What the server of the dialect means by its word or its code."""
    found: str | None = r.dialect.get("error_codes", {}).get(str(code))
    return found or (r.dialect.get("error_types", {}).get(word) if type(word) is str else None)


# ---- writing --------------------------------------------------------------------------------------------------------


def write_error(c: Node, w: Writer) -> Any:
    """Write an error document, and its HTTP status and headers."""
    form = w.form(c, "body")
    error = c.get("error")
    c.pop("error", None)
    if type(error) is not dict:
        error = {"message": "" if error is None else str(error)}
    write_http(error, w)
    value: Any
    if form == "completion":
        value = {"object": COMPLETION}
    elif form == "value":
        value = (c.pop("extra")[w.protocol].get("rest") or {}).get("body")
    elif form == "text":
        value = error.get("message")
    else:
        value = placed(error, write_error_body(error, w), form, w)
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
    absent = w.form(c, "absent")
    absent = absent if type(absent) is list else ()
    wire: Node = {}
    for key in _FIELDS:
        if key in c:
            wire[key] = c.pop(key)
        elif key not in absent:
            wire[key] = "" if key == "message" else None
    if "type" in marked_places(c, w):
        wire["type"] = c.pop("native_type", None) or TYPES.write(kind)
    elif "native_type" in c and (form == kind or (form is None and is_shared(c["native_type"], kind))):
        wire["type"] = c.pop("native_type")
    elif form != "absent":
        wire["type"] = TYPES.write(kind)
        if said is None:
            w.added(wire, "type")
    if form is None and w.source != w.protocol:
        fit_code(kind, c, wire, w)
        tell_type(said, c, wire, w)
        if kind == "context_overflow":
            _fit_message(c, wire)
    pop_http(c, w)
    return wire


def _fit_message(c: Node, wire: Node) -> None:
    """Give the message of a conversation that is too long the words that clients of this protocol look for."""
    message = wire.get("message")
    if type(message) is str and not any(words in message.lower() for words in _OVERFLOW):
        wire["message"] = f"{_TOO_LONG}: {message}"
        c["message"] = Fated("approximated", "in the words that clients look for")
