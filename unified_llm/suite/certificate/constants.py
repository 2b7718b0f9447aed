"""What a target may contain that no source has: values of its own in their places, and envelopes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ..walk import Path, nodes, same
from .relations import plain, table

__all__ = ["is_constant", "is_envelope", "is_in_http", "is_in_schema", "is_library_text", "is_position", "means_status"]

_MARK = base64.b64encode(b"unified_llm:").decode()


def is_constant(protocol: str, path: Path, value: Any, least: int = 1) -> bool:
    """Whether a protocol has this value in this place, whatever the source: a row of `words.toml` lists it.

    Rows with fewer than `least` keys do not count.
    """
    keys = [key for key in path if type(key) is str]
    rows = table()["constants"].get(protocol.partition(":")[0], {})
    places = ("/".join(keys[-depth:]) for depth in range(least, 5))
    return any(same(value, each) for place in places for each in rows.get(place, ()))


def is_envelope(value: Any) -> bool:
    """Whether a text is an envelope, or holds one."""
    return type(value) is str and _MARK in value


def means_status(word: Any, status: Any) -> bool:
    """Whether a word of an error is one that goes with an HTTP status."""
    return type(word) is str and plain(word) in {plain(each) for each in table()["status"].get(str(status), ())}


def is_position(path: Path, value: Any, document: Any) -> bool:
    """Whether a number is the place of its element in a list, or an index into a list or a text of the document.

    The texts of the parts in a list are one text to clients that join them.
    """
    if type(value) is not int:
        return False
    if path[-2:-1] == (value,):
        return True
    named = any("index" in str(key).lower() or "indices" in str(key).lower() for key in path[-2:])
    return named and any(value <= _size(each) for _, each in nodes(document))


def _size(value: Any) -> int:
    if type(value) is str:
        return len(value.encode())
    if type(value) is not list:
        return -1
    texts = [each.get("text") for each in value if type(each) is dict]
    return max(len(value), sum(len(text.encode()) for text in texts if type(text) is str))


def is_in_schema(path: Path) -> bool:
    """Whether a place is inside a JSON schema."""
    return not set(table()["schemas"]).isdisjoint(path)


def is_in_http(value: Any, http: Mapping[str, Any]) -> bool:
    """Whether a value is in the route, the query or a header."""
    path = unquote(str(http.get("path", "")))
    if type(value) is bool:
        return value and "stream" in path.lower()
    inner = [text for key in ("query", "headers") for text in (http.get(key) or {}).values()]
    return type(value) is str and any(value in str(text) for text in (path, *inner))


def is_library_text(value: Any) -> bool:
    """Whether a text is one that the library writes itself, where the target has no field for something."""
    return type(value) is str and value.startswith(tuple(table()["texts"]))
