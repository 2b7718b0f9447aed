"""Functions and classes that data names as `module:name`; nothing is imported before it is needed."""

from __future__ import annotations

from typing import Any

from ...foundation.lazy import load

__all__ = ["loaded"]


def loaded(where: str) -> Any:
    """What `module:name` names, in a table of data or in an adapter's declaration.

    >>> loaded("json:loads")("[1]")
    [1]
    """
    module, _, name = where.partition(":")
    return getattr(load(module), name)
