"""Names of a package that load on first use, so that importing the package costs nothing; `dir` lists them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["on_first_use"]


def on_first_use(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose `modules` (below it) have these names, separated by spaces.

    No module may have the name of something in it: importing the module would hide the other.

    >>> get, names = on_first_use("unified_llm.models", {"effort": "clamp nearest"})
    >>> names(), get("clamp").__module__
    (['clamp', 'nearest'], 'unified_llm.models.effort')
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(homes)
