"""A trial: what a target takes of tools, found out by writing a request that holds nothing else.

What an adapter, its dialect and the model's profile leave out is declared only there. Trying them is the one way that
needs no second statement of it. Made only for requests with something beside plain functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..engine.adapter import Kind
from ..engine.pairs.writing import Writer

__all__ = ["Trial", "trial_writer", "write_trial"]

Node = dict[str, Any]
Keys = tuple[Any, ...]


class Trial(NamedTuple):
    """What is lost of nodes, by identity: `whole` with the reason, `parts` with the path below the node."""

    whole: dict[int, str]
    parts: dict[int, list[Keys]]
    # What becomes of the request's own fields: path and fate.
    request: list[tuple[Keys, str]]


class _TrialWriter(Writer):
    """A writer that also reports empty lists: none allowed is a restriction."""

    __slots__ = ()

    def _leftover(self, node: Node, keys: Keys, original: Any, rest: Node) -> None:
        super()._leftover(node, keys, original, rest)
        self.raw += [(node, (*keys, key), "lost", "", None) for key, value in rest.items() if value == []]


def trial_writer(writer: Writer) -> Writer:
    """One like `writer`, for the same target, that has written nothing yet."""
    return _TrialWriter(
        writer.adapter,
        dialect=writer.dialect,
        facing=writer.facing,
        model=writer.model,
        source=writer.source,
        provider=writer.here["provider"],
        scope=writer.here["scope"],
    )


def write_trial(writer: Writer, kind: Kind, **fields: Any) -> Trial:
    """Write a request of nothing but `fields`, for the target of `writer`."""
    trial = trial_writer(writer)
    document = {"input": [], **fields}
    trial.root(kind.write, document)
    trial.unfold()
    found = Trial({}, {}, [])
    for node, keys, fate, detail, _ in trial.raw:
        if node is document:
            found.request.append((keys, fate))
        elif fate == "lost" and keys:
            found.parts.setdefault(id(node), []).append(keys)
        elif fate == "lost":
            found.whole[id(node)] = detail
    return found
