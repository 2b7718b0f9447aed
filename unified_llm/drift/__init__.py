"""Capability drift: what each protocol carries, measured; what a project relies on, locked; what an SDK brought, told.

`matrix` measures, `Lock` remembers and compares, `plugin` brings both to pytest, `sdk` looks at the official SDKs.

>>> from unified_llm import drift
>>> drift.cell(drift.Key("request", "openai-chat", "openai-responses", "sampling.seed")).fate
'lost'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .layout import Column, Matrix, matrix
    from .lock import Change, Lock
    from .observe import HUB, OBSERVED, Cell, Key, cell, measure, survives
    from .probing import KINDS, UNPROBED, Probe, probes
    from .reporting import Report, report
    from .upstream import Upstream

__all__ = [
    "HUB",
    "KINDS",
    "OBSERVED",
    "UNPROBED",
    "Cell",
    "Change",
    "Column",
    "Key",
    "Lock",
    "Matrix",
    "Probe",
    "Report",
    "Upstream",
    "cell",
    "matrix",
    "measure",
    "probes",
    "report",
    "survives",
]

_HOME = {
    "layout": ("Column", "Matrix", "matrix"),
    "lock": ("Change", "Lock"),
    "observe": ("HUB", "OBSERVED", "Cell", "Key", "cell", "measure", "survives"),
    "probing": ("KINDS", "UNPROBED", "Probe", "probes"),
    "reporting": ("Report", "report"),
    "upstream": ("Upstream",),
}


def __getattr__(name: str) -> Any:
    # Every pytest run where the package is installed loads the plugin below this package: nothing else comes with it.
    for module, names in _HOME.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f".{module}", __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
