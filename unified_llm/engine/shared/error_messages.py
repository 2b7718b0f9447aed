"""Classes of errors that their words alone do not show, but statuses and messages: providers have one word and one
status for every bad request.

Bedrock, Text Generation Inference, llama.cpp, LiteLLM and others have their own words for a prompt that is too long;
Anthropic refuses with a bad request an account that is used up and content that its filter stops, and xAI and Google
refuse a wrong key with one, and an account that is used up as one that sends too much. When to come back is only in the
message too, at times. A quota of a day, or of zero, has the word and the status of requests that come too fast; only
the details name it, or the message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .error_headers import seconds_of

__all__ = ["class_by_details", "class_by_message", "class_of", "wait_by_message"]

_VAGUE = (None, "invalid_request", "server_error", "other")
# What some refuse an account with that is used up: waiting and another model do not help.
_PERHAPS_QUOTA = ("rate_limit", "permission")
_SIGNS = {
    "context_overflow": (
        "context length",
        "context window",
        "context size",
        "contextwindowexceeded",
        "exceed context limit",
        "prompt is too long",
        "input is too long",
        "input token count",
        "too many tokens",
        "too many input tokens",
        "max_new_tokens` must be <=",
        "maximum model length",
        "maximum prompt length",
        "exceeded model token limit",
        "range of input length should be",
        "prompt token count of",
    ),
    "content_filter": ("content filtering policy", "content management policy"),
    "quota": (
        "credit balance is too low",
        "insufficient balance",
        "specified api usage limits",
        "credits are depleted",
        "used all available credits",
        "monthly spending limit",
        "monthly spending cap",
        "billing hard limit",
        "budget has been exceeded",
        "have a free quota tier",
    ),
    "authentication": ("incorrect api key", "api key not valid"),
}
# "Quota exceeded for metric: ..., limit: 0, model: ...", for a model that the plan does not include (Google), and "Too
# many tokens per day, please wait before trying again." (Bedrock).
_USED_UP = re.compile(r"\blimit: 0(?![\d.,]*\d)|too many tokens per day", re.ASCII)


def class_by_message(kind: str | None, message: Any) -> str | None:
    """The class that a message shows, where word and status have shown none or a general one; else that one.

    >>> class_by_message("invalid_request", "Input is too long for requested model.")
    'context_overflow'
    >>> class_by_message("rate_limit", "Too many tokens, please wait before trying again.")
    'rate_limit'
    >>> class_by_message("rate_limit", "Your prepayment credits are depleted.")
    'quota'
    >>> [class_by_message("rate_limit", f"Quota exceeded, limit: {limit}, model: m") for limit in (0, 20)]
    ['quota', 'rate_limit']
    """
    if type(message) is not str or not (kind in _VAGUE or kind in _PERHAPS_QUOTA):
        return kind
    text = message.lower()
    if kind == "rate_limit" and _USED_UP.search(text):
        return "quota"
    found = next((shown for shown, signs in _SIGNS.items() if any(sign in text for sign in signs)), kind)
    return found if kind in _VAGUE or found == "quota" else kind


def class_by_details(kind: str | None, details: Any) -> str | None:
    """The class of an error by its details (`google.rpc`) too: a quota of a day or of zero is one that is used up.

    A short delay beside it is that of the quota of a minute: the next attempt fails as well.

    https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto

    >>> details = [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]
    >>> class_by_details("rate_limit", details), class_by_details("rate_limit", [{"violations": [{}]}])
    ('quota', 'rate_limit')
    """
    if kind != "rate_limit" or type(details) is not list:
        return kind
    for detail in details:
        if type(detail) is not dict:
            continue
        violations = detail.get("violations")
        if any(map(_used_up, violations if type(violations) is list else ())) or _used_up(detail.get("metadata")):
            return "quota"
    return kind


def _used_up(quota: Any) -> bool:
    """Whether a quota that was exceeded is one of a day, or zero."""
    if type(quota) is not dict:
        return False
    named = (quota.get(key) for key in ("quotaId", "quota_limit"))
    limit = (quota.get(key) for key in ("quotaValue", "quota_limit_value"))
    return any(type(name) is str and "PerDay" in name for name in named) or any(each in ("0", 0) for each in limit)


def class_of(kind: str | None, message: Any, status: Any, by_status: Mapping[int, str]) -> str:
    """The class that the class `kind` of a word, a message and an HTTP status show together.

    Some servers have the word for a failure of their own for whatever they refuse: a throttled request does not become
    one that is too long.

    >>> class_of("server_error", "Too many tokens, please wait.", 429, {429: "rate_limit"})
    'rate_limit'
    >>> class_of("invalid_request", "prompt is too long", 400, {429: "rate_limit"}), class_of(None, "no", None, {})
    ('context_overflow', 'other')
    """
    if type(status) is int and status >= 400:
        refused = status < 500
        if kind in (None, "invalid_request") or (kind == "server_error" and refused):
            kind = by_status.get(status, "invalid_request" if refused else "server_error")
    return class_by_message(kind, message) or "other"


# "Please try again in 6m0s." (OpenAI, Groq), "Please retry after 20 seconds." (Azure), "retry in 37.2s." (Google).
_WAIT = re.compile(r"(?:try again|retry) (?:in|after) (\d[\d.dhms]*)(?: ?(seconds?|minutes?))?\b", re.IGNORECASE)


def wait_by_message(message: Any) -> int | float | None:
    """The seconds after which a message advises to try again.

    >>> [wait_by_message(f"Rate limit reached. Please {text}.") for text in ("try again in 6m0s", "try again in 20ms")]
    [360, 0.02]
    >>> wait_by_message("Please retry after 20 seconds."), wait_by_message("Please try again later.")
    (20, None)
    """
    found = _WAIT.search(message) if type(message) is str else None
    if found is None:
        return None
    seconds = seconds_of(found[1])
    return seconds * 60 if seconds is not None and (found[2] or "").lower().startswith("minute") else seconds
