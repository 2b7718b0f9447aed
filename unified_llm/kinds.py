"""Whether a document is of the kind it is said to be.

Readers are lenient: a body of which they know no key is a document that says nothing, all of it kept. So a request
that is called a response would come out as an empty answer. What plainly is of another kind is refused instead: it has
the mark of another, or a sign of another and none of its own. Where an adapter names no signs, nothing is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import InvalidBody
from .paths import pointer

if TYPE_CHECKING:
    from .adapter import Adapter

__all__ = ["check_kind"]


def check_kind(adapter: Adapter, kind: str, doc: Any, http: Mapping[str, Any] | None = None) -> None:
    """Raise `InvalidBody` for a document that plainly is of another kind than `kind`.

    What came with the `http` status of an error is one, whatever it looks like: some servers send an answer then.
    """
    declared = adapter.kinds[kind]
    status = (http or {}).get("status")
    if type(doc) is not dict or not declared.signs or (kind == "error" and type(status) is int and status >= 400):
        return
    own = any(doc.get(key) is not None for key in declared.signs)
    for name, other in adapter.kinds.items():
        if other is declared:
            continue
        if other.mark is not None and doc.get(other.mark[0]) == other.mark[1]:
            raise _other(other.mark[0], kind, name)
        if not own:
            for key in other.signs:
                if doc.get(key) is not None:
                    raise _other(key, kind, name)


def _other(key: str, kind: str, name: str) -> InvalidBody:
    return InvalidBody(pointer((key,)), f"this is a document of kind {name!r}, and was said to be of kind {kind!r}")
