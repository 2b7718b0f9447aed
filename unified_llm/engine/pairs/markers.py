"""Markers of form that a reader leaves in `extra`: which values one may have.

A marker notes the spelling of a value and never the value. A canonical document may come from anybody, so what no
reader leaves there is ignored, and never written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["MOST", "is_marker"]

MOST = 10_000
"""What a marker may count to: lists are filled up to it."""


def is_marker(key: str, marker: Any, forms: Mapping[str, Collection[Any]]) -> bool:
    """Whether a marker may have this value; `forms` are those whose words are declared (`Adapter.forms`).

    >>> forms = {"role": ("user", "model"), "place": range(10), "also": frozenset(("a", "b"))}
    >>> [is_marker("role", each, forms) for each in ("user", "zz", ["user"], True)]
    [True, False, False, False]
    >>> [is_marker("also", each, forms) for each in (["a", "b"], ["zz"], [], "a")]
    [True, False, False, False]
    >>> [is_marker("place", each, forms) for each in (3, 10, True)], is_marker("another", {}, forms)
    ([True, False, False], False)
    """
    kind, known = type(marker), forms.get(key)
    if kind is list and (known is None or type(known) is frozenset):
        # (Where words are declared, an empty list holds none of them.)
        return (bool(marker) or known is None) and all(
            type(each) is str and (known is None or each in known) for each in marker
        )
    if known is not None:
        return kind is (int if type(known) is range else str) and type(known) is not frozenset and marker in known
    return kind is str or kind is bool or (kind is int and 0 <= marker <= MOST)
