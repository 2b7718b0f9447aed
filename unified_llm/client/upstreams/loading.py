"""Functions and classes that data names as `module:name`; nothing is imported before it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["loaded"]


def loaded(where: str) -> Any:
    """What `module:name` names, in a table of data or in an adapter's declaration.

    >>> loaded("json:loads")("[1]")
    [1]
    """
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
