"""Whether a document is of the given kind.

Readers are lenient: a body with unknown keys alone is an empty document, all of it kept. So a request
that is called a response would come out as an empty answer. What plainly is of another kind is refused instead: it has
the mark of another, or a sign of another and none of its own. Where an adapter names no signs, nothing is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .errors import InvalidBody
from .hints import Argument, Either, Give, Hint
from .json_paths import pointer

if TYPE_CHECKING:
    from ..engine.adapter import Adapter

__all__ = ["check_kind"]

_Mark = tuple[str, tuple[str, str]]
_Signs = tuple[str, tuple[str, ...]]


def check_kind(adapter: Adapter, kind: str, doc: Any, http: Mapping[str, Any] | None = None) -> None:
    """Raise `InvalidBody` for a document that plainly is of another kind than `kind`.

    What came with the `http` status of an error is one, whatever it looks like: some servers send an answer then.
    """
    signs, marks, others = _signs(adapter, kind)
    if type(doc) is not dict or not signs:
        return
    if kind == "error" and http:
        status = http.get("status")
        if type(status) is int and status >= 400:
            return
    for name, (key, value) in marks:
        if doc.get(key) == value:
            raise _other(key, kind, name)
    for key in signs:
        if doc.get(key) is not None:
            return
    found = [
        (-len(keys), len(theirs), place, keys[0], name)
        for place, (name, theirs) in enumerate(others)
        if (keys := [key for key in theirs if doc.get(key) is not None])
    ]
    if found:
        # Of kinds that share a sign (`error`) the one of which more is there, then the one that has no others.
        _, _, _, key, name = min(found)
        raise _other(key, kind, name)


@lru_cache(maxsize=256)
def _signs(adapter: Adapter, kind: str) -> tuple[tuple[str, ...], tuple[_Mark, ...], tuple[_Signs, ...]]:
    """The signs of a kind, and the marks and the signs of the others, by name."""
    declared = adapter.kinds[kind]
    others = [(name, other) for name, other in adapter.kinds.items() if other is not declared]
    marks = tuple((name, other.mark) for name, other in others if other.mark is not None)
    return declared.signs, marks, tuple((name, other.signs) for name, other in others if other.signs)


def _other(key: str, kind: str, name: str) -> InvalidBody:
    mistake = Either((Hint("but ", Argument("kind", kind), " was passed; ", Give.of(kind=name)), f"not {kind!r}"))
    return InvalidBody(pointer((key,)), Hint(f"the body is of kind {name!r}, ", mistake))
