"""Names of a package that load on first use, so that importing the package costs nothing; `dir` lists them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["load", "on_first_use"]


def load(module: str, package: str | None = None) -> Any:
    """Import a module, as `importlib.import_module` does, but without looking for garbage meanwhile.

    What a module defines stays. The collector would look at it again and again, a tenth of the time that the client
    takes to load; here it goes to the oldest generation as it is, from where a full collection still finds it.
    """
    if not gc.isenabled():
        return import_module(module, package)
    loaded = len(sys.modules)
    gc.disable()
    try:
        return import_module(module, package)
    finally:
        if len(sys.modules) != loaded:
            _age()
        gc.enable()


# Whether the program froze objects itself. Counting them takes time in proportion to them, so it is done once.
_is_frozen = False


def _age() -> None:
    """Move all objects to the oldest generation, unless the program has frozen some, which would be thawed."""
    global _is_frozen
    _is_frozen = _is_frozen or gc.get_freeze_count() > 0
    if not _is_frozen:
        gc.freeze()
        gc.unfreeze()


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
        value = getattr(load(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(homes)
