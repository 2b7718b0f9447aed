"""The entries of a certificate: one for each leaf of the source, and one for each that the target has beside them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

__all__ = ["ORIGINS", "RULES", "Disposition", "Leaf", "Made", "Provenance", "Rule"]

Disposition = Literal["carried", "reported", "default", "generated", "unknown"]
"""What became of a leaf of the source, in a word: `unknown` is a fault of the engine."""

Rule = Literal["default", "empty", "generated", "position", "shape", "schema", "sum", "constant", "reference"]
Provenance = Literal[
    "added",
    "shape",
    "position",
    "sum",
    "status",
    "http",
    "schema",
    "reported",
    "constant",
    "empty",
    "generated",
    "envelope",
    "unknown",
]

RULES: dict[str, str] = {
    "default": "the documented default of the source, or a value without information (losses/defaults.toml)",
    "empty": "null, an empty text, object or list, which contains nothing; or a zero with nothing else beside it",
    "generated": "an id that this library made, not the source",
    "position": "the number of an element of a list, or of a character of a text",
    "shape": "the name of what its object is, which the object is in the target too, under that name or another",
    "schema": "a keyword of a JSON schema that the target has in other words, or implies",
    "sum": "a count that is the sum of others beside it",
    "constant": "a value that every client of the source may send, which means nothing to others",
    "reference": "the id or the name of an object elsewhere in the source, whose own has an entry",
}
"""Why a leaf of the source may be neither in the target nor in the loss report."""

ORIGINS: dict[str, str] = {
    "added": "required by the target, and in the loss report as `added`",
    "shape": "the name of what its object is, which the objects of the source are that it was made of",
    "position": "the number of an element of a list, or of a character of a text",
    "http": "in the route, the query or a header of the source",
    "schema": "a keyword of a JSON schema that the source has in other words, or implies",
    "sum": "a count that is the sum of others beside it",
    "status": "the HTTP status",
    "reported": "part of what stands for a value that the loss report has as approximated, emulated or parked",
    "constant": "a value that the target has in this place whatever the source",
    "empty": "null, an empty text, object or list, which contains nothing",
    "generated": "an id or a time that the library made",
    "envelope": "base64 in which a client keeps what its protocol has no field for",
    "unknown": "the engine has no origin for it, which is a fault",
}
"""Where a leaf of the target may come from that is not a copy of one of the source."""


class Leaf(NamedTuple):
    """One leaf of the source, and what became of it.

    `path` is its JSON Pointer. `to` are the places in the target where it is, `loss` is the path of the entry of the
    loss report about it (None: there is none), and `rule` one of `RULES` where there is neither. A leaf may be in the
    target and in the report: an approximated value is.
    """

    path: str
    to: tuple[str, ...] = ()
    loss: str | None = None
    rule: Rule | None = None

    @property
    def disposition(self) -> Disposition:
        """What became of it: `carried`, `reported`, `default`, `generated`; `unknown` is a fault of the engine."""
        if self.to:
            return "carried"
        if self.loss is not None:
            return "reported"
        if self.rule is None:
            return "unknown"
        return "generated" if self.rule == "generated" else "default"


class Made(NamedTuple):
    """One leaf of the target that is not a copy of one of the source: its JSON Pointer, its origin, and its value."""

    path: str
    origin: Provenance
    value: Any = None
