"""What came of the check of a certificate: its problems, and how the values of both ends stand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

__all__ = ["CODES", "Code", "Problem", "Verification"]

Code = Literal[
    "missing",
    "extra",
    "twice",
    "unaccounted",
    "no loss",
    "no place",
    "unrelated",
    "no rule",
    "no origin",
    "contradiction",
]

CODES: dict[str, str] = {
    "missing": "a leaf of the source without an entry",
    "extra": "an entry for a leaf that is not in the document",
    "twice": "a leaf with more than one entry",
    "unaccounted": "an entry without a place, a loss or a rule",
    "no loss": "the loss that the entry names is not in the report, or is about something else",
    "no place": "a place that is not in the target",
    "unrelated": "the values at both ends stand in no relation",
    "no rule": "the rule of the entry does not hold for the value",
    "no origin": "a leaf of the target that nothing went to, and for which no origin holds",
    "contradiction": "reported as lost, and carried all the same",
}
"""What may be wrong with a certificate."""


class Problem(NamedTuple):
    """One fault of a certificate: what is wrong (`CODES`), the JSON Pointer of the leaf, on which side, and why."""

    code: Code
    path: str
    side: Literal["source", "target"]
    detail: str

    def __str__(self) -> str:
        return f"{self.side} {self.path or '/'}: {self.code}: {self.detail}"


@dataclass(frozen=True)
class Verification:
    """What came of a check: true if there are no problems.

    `relations` counts how the values of both ends stand to each other (`same`, `json`, `word`, ...), `origins` where
    the other leaves of the target are from.
    """

    problems: tuple[Problem, ...]
    relations: Mapping[str, int]
    origins: Mapping[str, int]

    def __bool__(self) -> bool:
        return not self.problems

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """The share of each relation, the largest first."""
        total = sum(self.relations.values())
        found = sorted(self.relations.items(), key=lambda each: -each[1])
        return {name: count / total for name, count in found}

    def __str__(self) -> str:
        head = "no problems" if self else f"{len(self.problems)} problem{'s'[: len(self.problems) != 1]}"
        told = ", ".join(f"{name} {share:.0%}" for name, share in self.shares.items())
        return "\n".join([f"{head}; relations: {told or 'none'}", *map(str, self.problems)])
