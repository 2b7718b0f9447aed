"""Names in URLs and values in headers: one place that quotes the former and checks the latter.

A model or an id is data, from wherever it comes. In a path it is one segment, every character of which that could mean
something there is quoted; what cannot be quoted for good (`.`, `..`, nothing) is refused, because servers and proxies
normalize it away, some of them behind a quoted slash too. https://www.rfc-editor.org/rfc/rfc3986#section-3.3
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from .errors import InvalidBody

__all__ = ["check_headers", "check_query", "check_text", "filled", "segment", "whole_number"]

_FORBIDDEN = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_FIELD = re.compile(r"\{(\w+)\}")
_SLASH = re.compile(r"[/\\]")
_DIGITS = 18  # of a number, which every database can hold
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def check_text(value: str, path: str) -> str:
    """The value, which goes into a URL or a header. Raises `InvalidBody` at `path` for characters neither can hold."""
    found = _FORBIDDEN.search(value)
    if found is not None:
        raise InvalidBody(path, f"the character U+{ord(found[0]):04X} is not allowed here; remove it")
    return value


@lru_cache(maxsize=256)
def segment(value: str, path: str) -> str:
    """A name as one segment of a URL's path. Raises `InvalidBody` at `path` for a name that can be none.

    >>> segment("org/model v1", "/model"), segment("claude@20260101", "/model")
    ('org%2Fmodel%20v1', 'claude@20260101')
    """
    if not value or not {".", ".."}.isdisjoint(_SLASH.split(value)):
        raise InvalidBody(path, f"{value!r} cannot be part of a URL; pass the name itself")
    return quote(check_text(value, path), safe="@")


def filled(template: str, **names: str) -> str:
    """A route with its `{names}` filled in, each as one segment.

    >>> filled("responses/{id}/cancel", id="a/b?c")
    'responses/a%2Fb%3Fc/cancel'
    """
    return _FIELD.sub(lambda found: segment(names[found[1]], f"/{found[1]}"), template)


def whole_number(text: str) -> int | None:
    """A number from 0 in a query or a header; None for what is none, and for more digits than any count has.

    >>> whole_number("20"), whole_number("-1"), whole_number("9" * 5000)
    (20, None, None)
    """
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


def check_headers(headers: Mapping[str, str], path: str = "/headers") -> None:
    """Raise `InvalidBody`, which shows no value, for a header that HTTP cannot send."""
    for name, value in headers.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise InvalidBody(path, f"{name!r} is not a header name")
        text = str(value)
        if not text.isascii() or _FORBIDDEN.search(text) or text != text.strip():
            raise InvalidBody(
                f"{path}/{name}", "contains a line break, outer spaces or another character that headers cannot contain"
            )


def check_query(query: Mapping[str, Any], path: str = "/query") -> None:
    """Raise `InvalidBody`, which shows no value, for a query that a URL cannot hold."""
    for name, value in query.items():
        for each in (name, *(value if isinstance(value, (list, tuple)) else (value,))):
            if isinstance(each, str):
                check_text(each, f"{path}/{name}" if each is not name else path)
