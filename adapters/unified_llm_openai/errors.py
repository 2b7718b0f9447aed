"""What the errors of both protocols share: the words and codes, what they mean, and what travels in HTTP.

The canonical type is drawn from type, code, text and HTTP status together, since every one of them is missing or coarse
somewhere. A status given by another protocol stays only where it means the same class here.

https://platform.openai.com/docs/guides/error-codes https://www.openresponses.org/specification
"""

from __future__ import annotations

import re
from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, Fated
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import HINTS, sent_status, settle_status, stop_retries, write_hints
from unified_llm.engine.shared.error_messages import class_of

__all__ = [
    "CODES",
    "CODE_OF",
    "STATUS",
    "TYPES",
    "classify",
    "fit_code",
    "is_shared",
    "pop_http",
    "tell_type",
    "write_http",
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
        # Open Responses has five words.
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
        "BadRequestError": "invalid_request",
        "NotFoundError": "not_found",
        "exceed_context_size_error": "context_overflow",
        "billing_not_active": "quota",
        "budget_exceeded": "quota",
        "exceeded_current_quota_error": "quota",
        "content_filter": "content_filter",
    },
    writing={
        "too_large": "invalid_request_error",
        "context_overflow": "invalid_request_error",
        "content_filter": "invalid_request_error",
        "other": "server_error",
    },
)
_OPEN = ("invalid_request", "not_found", "too_many_requests", "model_error")
# Codes that are more specific than the type beside them.
CODES = {
    "context_length_exceeded": "context_overflow",
    "tokens_limit_reached": "context_overflow",
    "model_max_prompt_tokens_exceeded": "context_overflow",
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
    "moderation_blocked": "content_filter",
    "data_inspection_failed": "content_filter",
    "insufficient_quota": "quota",
    "billing_not_active": "quota",
    "billing_hard_limit_reached": "quota",
    "Arrearage": "quota",
    "rate_limit_exceeded": "rate_limit",
    "slow_down": "rate_limit",
    "invalid_api_key": "authentication",
    "model_not_found": "not_found",
    "server_error": "server_error",
    "server_is_overloaded": "overloaded",
    "invalid_prompt": "invalid_request",
    # Of failed responses, whose error has no type beside it.
    "bio_policy": "content_filter",
    "image_content_policy_violation": "content_filter",
    "misalignment_policy_violation": "content_filter",
    "vector_store_timeout": "timeout",
    **dict.fromkeys(
        """data_residency_mismatch invalid_image invalid_image_format invalid_base64_image invalid_image_url
        image_too_large image_too_small image_parse_error invalid_image_mode image_file_too_large
        unsupported_image_media_type empty_image_file failed_to_download_image image_file_not_found""".split(),
        "invalid_request",
    ),
}
# The code of a class whose type word is ambiguous: what agents look for before they compact, among them.
CODE_OF = {
    "context_overflow": "context_length_exceeded",
    "content_filter": "content_filter",
    "quota": "insufficient_quota",
}
# The code that comes with a class whose type word has its meaning already: clients of OpenAI look at either.
_USUAL_CODE = {"rate_limit": "rate_limit_exceeded"}
# Only the message names what is missing: "model: x", "models/x is not found", "Model 'x' was not found".
_MODEL = re.compile(r"\bmodels?\b", re.IGNORECASE)
_NO_MODEL = "model_not_found"
# Where a code may be null: in errors of these protocols. One without a source is made of what a client raised.
_WITH_CODES = ("openai-chat", "openai-responses")
STATUS = {
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
    402: "quota",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    429: "rate_limit",
    498: "overloaded",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
# OpenAI's word for an overload is that of every failure of its own; the status distinguishes them.
_OVERLOAD = (503, 529)
_TOO_LARGE = 413
_STATUS_CODE = re.compile(r"[45]\d\d", re.ASCII)  # Azure has it as a text


def is_shared(word: Any, kind: str) -> bool:
    """Whether a type word means the same in both protocols; Open Responses has words of its own.

    One of a bad request does not stay beside a status that clients try again (an account that is used up, at Claude).
    """
    shared = type(word) is str and word in TYPES.reads and word not in _OPEN
    return shared and not (kind == "quota" and TYPES.reads[word] != kind)


def classify(word: Any, code: Any, message: Any, status: int | None) -> str:
    """The canonical type of an error."""
    if type(code) is str and code in CODES:
        # A request that is larger than the limit itself (Groq) is never let through.
        if CODES[code] == "rate_limit" and status in (_TOO_LARGE, *_OVERLOAD):  # OpenAI's `slow_down` is a 503
            return "too_large" if status == _TOO_LARGE else "overloaded"
        return CODES[code]
    if status is None or status < 400:  # an error in an answer that went well may have its status as its code
        status = int(code) if type(code) is str and _STATUS_CODE.fullmatch(code) else code
        status = status if type(status) is int else None
    found = TYPES.reads.get(word) if type(word) is str else None
    if status == _TOO_LARGE and found == "rate_limit":
        return "too_large"
    if found == "server_error" and status in _OVERLOAD:
        return "overloaded"
    return class_of(found, message, status, _BY_STATUS)


def tell_type(kind: Any, c: Node, wire: Node, w: Writer) -> None:
    """Report a class of errors for which this wire has no word of its own, so that it is read as another one."""
    if kind in (None, "other") or w.source == w.protocol:
        return
    if classify(wire.get("type"), wire.get("code"), wire.get("message"), None) != kind:
        c["type"] = Fated("approximated", f"sent as {wire.get('type') or wire.get('code')!r}")


def write_http(error: Node, w: Writer) -> None:
    """The status and the headers of an error; the error itself no longer has to contain them (`HINTS`)."""
    kind, status = str(error.get("type")), error.get("status")
    if type(status) is not int or w.source != w.protocol:
        status = sent_status(kind, status, STATUS)
    w.http["status"] = status
    headers = write_hints(error)
    if w.source != w.protocol:
        stop_retries(headers, kind, status)
    if headers:
        w.http.setdefault("headers", {}).update(headers)
    w.context["hints"] = frozenset(HINTS)


def fit_code(kind: str, c: Node, wire: Node, w: Writer) -> None:
    """Give the error of another protocol the code that agents look for where the type word is ambiguous."""
    code = wire.get("code")
    if kind in _USUAL_CODE and code is None and w.source not in _WITH_CODES:
        wire["code"] = _USUAL_CODE[kind]
        w.added(wire, "code")
        return
    if kind == "not_found" and w.source not in _WITH_CODES and _MODEL.search(str(wire.get("message"))):
        # Codex sends the same request eleven times more without it.
        if code is None:
            wire["code"] = _NO_MODEL
            w.added(wire, "code")
        elif code == kind:  # the word of Interactions for whatever is missing
            wire["code"] = _NO_MODEL
            c["code"] = Fated("approximated", f"sent as {_NO_MODEL!r}")
        return
    # A code of our own for an account that is used up is finer than the general one.
    own = kind == "quota" and code and w.source is None
    if kind not in CODE_OF or own or (code is not None and CODES.get(str(code)) == kind):
        return
    wire["code"] = CODE_OF[kind]
    if code is None or code == "":
        w.added(wire, "code")
    else:
        c["code"] = Fated("approximated", f"sent as {CODE_OF[kind]!r}")


def pop_http(c: Node, w: Writer) -> None:
    """Consume what travels in HTTP; the head of a stream is gone, and what only it could carry is lost there."""
    settle_status(c, w)
    for key in w.context.get("hints", ()):
        c.pop(key, None)
