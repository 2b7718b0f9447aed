"""Classes of errors that only their messages show: providers have one word and one status for every bad request.

Bedrock, Text Generation Inference, llama.cpp, LiteLLM and others have their own words for a prompt that is too long;
Anthropic refuses with a bad request an account that is used up and content that its filter stops, and xAI and Google
refuse a wrong key with one.
"""

from __future__ import annotations

from typing import Any

__all__ = ["class_by_message"]

_VAGUE = (None, "invalid_request", "server_error", "other")
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
    ),
    "content_filter": ("content filtering policy", "content management policy"),
    "quota": ("credit balance is too low", "insufficient balance", "specified api usage limits"),
    "authentication": ("incorrect api key", "api key not valid"),
}


def class_by_message(kind: str | None, message: Any) -> str | None:
    """The class that a message shows, where word and status have shown none or a general one; else that one.

    >>> class_by_message("invalid_request", "Input is too long for requested model.")
    'context_overflow'
    >>> class_by_message("rate_limit", "Too many tokens, please wait before trying again.")
    'rate_limit'
    """
    if kind in _VAGUE and type(message) is str:
        text = message.lower()
        return next((shown for shown, signs in _SIGNS.items() if any(sign in text for sign in signs)), kind)
    return kind
