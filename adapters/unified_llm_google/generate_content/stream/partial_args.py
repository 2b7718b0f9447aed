"""Arguments that come in pieces: JSON paths with values, put together to the object they make.

https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["PartialArgs"]

Node = dict[str, Any]

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
# A path may name the element after the next few, and never has a list of millions made for it.
_GAP = 1000
_VALUES = ("stringValue", "numberValue", "boolValue")
_KNOWN = frozenset(("jsonPath", "nullValue", "willContinue"))


class PartialArgs:
    """The arguments of one call while they come in."""

    __slots__ = ("growing", "value")

    def __init__(self) -> None:
        self.value: Node = {}
        self.growing: str | None = None

    def feed(self, entry: Any) -> Any:
        """Take one entry of `partialArgs`, and give back what of it was not: all of one that makes no sense."""
        if type(entry) is not dict or type(entry.get("jsonPath")) is not str:
            return entry or {}
        path = entry["jsonPath"]
        said = next((key for key in _VALUES if key in entry), None)
        append = path == self.growing
        self.growing = path if entry.get("willContinue") is True else None
        if not self._put(_steps(path), None if said is None else entry[said], append):
            return entry
        return {key: value for key, value in entry.items() if key not in _KNOWN and key != said}

    def _put(self, steps: list[str | int], value: Any, append: bool) -> bool:
        """Whether there is such a place."""
        here: Any = self.value
        for step, after in zip(steps, [*steps[1:], None]):
            if type(step) is int:
                if type(here) is not list:
                    return False
                if step - len(here) > _GAP:
                    return False
                here += [None] * (step + 1 - len(here))
            elif type(here) is not dict:
                return False
            inner = here[step] if type(step) is int else here.get(step)
            if after is None:
                here[step] = inner + value if append and type(inner) is str and type(value) is str else value
            elif inner is None:
                here[step] = [] if type(after) is int else {}
            here = here[step]
        return bool(steps)


def _steps(path: str) -> list[str | int]:
    """The keys and indices of a path such as `$.a.b[0]`."""
    steps: list[str | int] = []
    for name, index, single, double in _STEP.findall(path.removeprefix("$")):
        steps.append(int(index) if index else name or single or double)
    return steps
