"""Settings that the model refuses, which is model data (`unified_llm.models`).

https://github.com/google-gemini/cookbook/issues/1290
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.models.profiles import profile

__all__ = ["drop_refused"]

Node = dict[str, Any]

_PENALTIES = ("presence_penalty", "frequency_penalty")


def drop_refused(c: Node, w: Writer) -> None:
    """Leave out penalties that the model refuses, from another protocol's request; one of 0 is none, and taken."""
    if not w.crosses or w.facing != "provider" or c.keys().isdisjoint(_PENALTIES):
        return
    model = profile(w.context.get("model"), w.protocol)
    for key in _PENALTIES:
        if c.get(key) and model.refused(key, c[key], True):
            w.report(w.doc, (key,), "lost", "the model refuses it")
            del c[key]
