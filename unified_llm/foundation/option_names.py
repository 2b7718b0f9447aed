"""Advice of errors in the words of the command line: options and variables in the place of arguments of Python.

Errors are made for callers of the library. A command has no `api_key=`: an argument that has an option is named by it,
and one without is left out.
"""

from __future__ import annotations

import re

from .errors import APIError

__all__ = ["in_options"]

_KEY = "--api-key-env NAME, the variable that holds the key"
# In this order; what each of them matches is advice of this library, as its errors have it.
_WORDS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r",? or pass api_key=(?: to Client\(\) or http_client\(\))?", ""),
        (r"pass api_key= to Client\(\) or http_client\(\)", f"pass {_KEY}"),
        (r"check the key passed as api_key=", f"check the key of {_KEY}"),
        (r",? or pass Client\(upstream=\.\.\.\)", ", or pass --base-url"),
        (r"pass model='provider/model' or create Client\(upstream=\.\.\.\)", "pass --model provider/model"),
        (r", or upstream='[^']*' with a model", ""),
        (r"; if the server itself has a model '[^']*', pass its URL as upstream= and not as base_url=", ""),
        (r"use model='([^']*)'", r"use --model \1"),
        (r"base_url='([^']*)'", r"--base-url \1"),
        (r"\bbase_url=?(?![\w=])", "--base-url"),
        (r"\b(?:force_)?protocol=(?![\w'])", "--protocol"),
        (r", or name fallbacks in models=", ""),
        (r"raise timeout=, or use stream=True", "use --stream"),
        (r"raise total_timeout=, stream, or", "use --stream, or"),
        (r"client\.models\.list\(\) shows the models of this server", "check the name of the model"),
        (r"; pass (?:a provider's own word|provider-specific fields) in extra_body=", ""),
        (r"pass previous=<the result>, or the id of", "pass the id of"),
        (r"on_loss=\{'([^']*)': '(\w+)'\}", r"--on-loss \1=\2"),
        (r"\bchange on_loss\b", "change --on-loss"),
        (r"\bkind='(\w+)'", r"--kind \1"),
    )
)


def in_options(error: Exception) -> str:
    """The text of an error for the command line. What a provider wrote is not changed.

    >>> from unified_llm.foundation.usage_errors import InvalidArgument
    >>> in_options(InvalidArgument("no known endpoint for provider x; pass protocol= and base_url="))
    'no known endpoint for provider x; pass --protocol and --base-url'
    """
    text = str(error)
    if isinstance(error, APIError) and error.status is not None:
        given = f"; {error.hint}" if error.hint else ""
        return text.removesuffix(given) + _renamed(given)
    return _renamed(text)


def _renamed(text: str) -> str:
    for pattern, replacement in _WORDS:
        text = pattern.sub(replacement, text)
    return text
