"""Capability drift: measure what each protocol carries, lock what a project relies on, report what an SDK changed.

`matrix` measures, `Lock` remembers and compares, `plugin` brings both to pytest, `sdk` looks at the official SDKs.

>>> from unified_llm import drift
>>> drift.cell(drift.Key("request", "openai-chat", "openai-responses", "sampling.seed")).fate
'lost'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation.lazy import on_first_use

if TYPE_CHECKING:
    from .layout import Column, Matrix, matrix
    from .lock import Change, Lock
    from .observe import CANONICAL, OBSERVED, Cell, Key, cell, measure, survives
    from .probing import KINDS, UNPROBED, Probe, probes
    from .reporting import Report, report
    from .upstream import FakeUpstream

__all__ = [
    "CANONICAL",
    "KINDS",
    "OBSERVED",
    "UNPROBED",
    "Cell",
    "Change",
    "Column",
    "FakeUpstream",
    "Key",
    "Lock",
    "Matrix",
    "Probe",
    "Report",
    "cell",
    "matrix",
    "measure",
    "probes",
    "report",
    "survives",
]

# Every pytest run where the package is installed loads the plugin below this package: nothing else comes with it.
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "layout": "Column Matrix matrix",
            "lock": "Change Lock",
            "observe": "CANONICAL OBSERVED Cell Key cell measure survives",
            "probing": "KINDS UNPROBED Probe probes",
            "reporting": "Report report",
            "upstream": "FakeUpstream",
        },
    )
