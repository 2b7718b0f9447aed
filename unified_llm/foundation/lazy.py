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
    gc.disable()
    try:
        return import_module(module, package)
    finally:
        if not gc.get_freeze_count():  # what the program has frozen itself stays so
            gc.freeze()
            gc.unfreeze()
        gc.enable()


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
