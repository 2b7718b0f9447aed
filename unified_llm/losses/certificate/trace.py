"""The certificate of one conversion: where every leaf of the source went, and where every leaf of the target is from.

A leaf is a scalar or an empty object or list. A place is a JSON Pointer into the result, or `http:` and a pointer into
what the target carries outside of the body (`http:/path`). The engine makes a certificate from its own notes;
`suite.verify` checks one against the documents alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .entries import Leaf, Made

__all__ = ["Trace"]


@dataclass(frozen=True)
class Trace:
    """The certificate of a conversion, as `convert(..., trace=True).trace` gives it.

    `leaves` has one entry for every leaf of the source, in document order, and `made` one for every leaf of the target
    that none of them went to. `source`, `target` and `kind` are those of the conversion.

    >>> import unified_llm as ul
    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "seed": 7}
    >>> trace = ul.convert(body, source="openai-chat", target="anthropic-messages", trace=True).trace
    >>> trace
    Trace(openai-chat -> anthropic-messages request: 5 leaves (4 carried, 1 reported), 0 made)
    >>> trace.to("/messages/0/content"), trace.to("/seed")
    (('/messages/0/content',), ())
    >>> trace.origins["/max_tokens"]
    ('/max_tokens',)
    """

    source: str
    target: str
    kind: str
    leaves: tuple[Leaf, ...]
    made: tuple[Made, ...] = ()

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many leaves of the source there are of each disposition."""
        found: dict[str, int] = {}
        for leaf in self.leaves:
            found[leaf.disposition] = found.get(leaf.disposition, 0) + 1
        return found

    @cached_property
    def _by_path(self) -> Mapping[str, Leaf]:
        return {leaf.path: leaf for leaf in self.leaves}

    @cached_property
    def origins(self) -> Mapping[str, tuple[str, ...]]:
        """The leaves of the source that went to each place of the target, by place."""
        found: dict[str, list[str]] = {}
        for leaf in self.leaves:
            for place in leaf.to:
                found.setdefault(place, []).append(leaf.path)
        return {place: tuple(paths) for place, paths in found.items()}

    def leaf(self, path: str) -> Leaf:
        """The entry of the leaf of the source at a JSON Pointer; raises `KeyError` where there is none."""
        return self._by_path[path]

    def to(self, path: str) -> tuple[str, ...]:
        """The places of the target to which the leaf of the source at a JSON Pointer went."""
        return self._by_path[path].to

    def to_json(self) -> dict[str, Any]:
        """The certificate as JSON: `from_json` reads it again. Places, losses and rules that are absent are left out.

        >>> Trace("a", "b", "request", (Leaf("/x", ("/y",)),), (Made("/z", "constant", "word"),)).to_json()["leaves"]
        [{'path': '/x', 'to': ['/y']}]
        """
        leaves = []
        for leaf in self.leaves:
            row: dict[str, Any] = {"path": leaf.path}
            if leaf.to:
                row["to"] = [*leaf.to]
            if leaf.loss is not None:
                row["loss"] = leaf.loss
            if leaf.rule is not None:
                row["rule"] = leaf.rule
            leaves.append(row)
        made = [{"path": each.path, "origin": each.origin, "value": each.value} for each in self.made]
        return {"source": self.source, "target": self.target, "kind": self.kind, "leaves": leaves, "made": made}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trace:
        """The certificate that `to_json` wrote.

        Raises `InvalidBody` with the path for what is not one.

        >>> trace = Trace("a", "b", "request", (Leaf("/x", ("/y",)),), (Made("/z", "constant", "word"),))
        >>> Trace.from_json(trace.to_json()) == trace
        True
        """
        from .reading import parts_of

        return cls(*parts_of(data))

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return (
            f"Trace({self.source} -> {self.target} {self.kind}: {len(self.leaves)} leaves"
            f"{f' ({told})' if told else ''}, {len(self.made)} made)"
        )

    def __str__(self) -> str:
        return self.table()

    def table(self, width: int | None = None, limit: int | None = 200) -> str:
        """The certificate as text for people: a row for each leaf of the source, then for each one that was made.

        `width` is the columns of the text: 0 is a line for each row, None the width of the terminal. At most `limit`
        rows are shown (None: all).
        """
        from .drawing import table

        return table(self, width, limit)
