"""Ways through the two documents of a certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..walk import Path, get, leaves, same

__all__ = ["around", "below", "is_empty", "is_unset", "parent", "scalars", "short"]


def below(known: Mapping[str, tuple[Path, Any]]) -> dict[Path, list[str]]:
    """The leaves in each object and list, however deep."""
    found: dict[Path, list[str]] = {}
    for path, (at, _) in known.items():
        for depth in range(len(at)):
            found.setdefault(at[:depth], []).append(path)
    return found


def parent(path: str) -> str:
    """The JSON Pointer of the node around a leaf."""
    return path.rpartition("/")[0]


def scalars(document: Any) -> Iterator[tuple[Path, Any]]:
    """The leaves of a document, which may be one itself."""
    if type(document) in (dict, list) and document:
        yield from leaves(document)
    else:
        yield (), document


def around(document: Any, path: Path) -> Iterator[Any]:
    """The objects around a leaf, the nearest first."""
    for depth in range(len(path) - 1, max(-1, len(path) - 6), -1):
        node = get(document, path[:depth])
        if type(node) is dict:
            yield node


def is_empty(value: Any) -> bool:
    """Whether a value contains nothing, as JSON text too."""
    return value is None or value == [] or value == {} or (type(value) is str and value in ("", "{}", "[]"))


def is_unset(document: Any, path: Path) -> bool:
    """Whether a value is zero, and all others in its object contain nothing."""
    around = get(document, path[:-1]) if path else None
    if type(around) is not dict or len(around) < 2 or not same(around[path[-1]], 0):
        return False
    return all(is_empty(value) for key, value in around.items() if key != path[-1])


def short(value: Any) -> str:
    """The value for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
