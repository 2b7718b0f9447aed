"""Where the nodes of a result stand, for what was added to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..foundation.json_paths import Keys, Paths

if TYPE_CHECKING:
    from ..engine.pairs.writing import Writer

__all__ = ["Result", "placed"]

_HOLDERS = frozenset((dict, list))


class Result:
    """The paths of nodes in the result of a conversion."""

    __slots__ = ("_below", "_known", "_paths", "_remade", "_target", "_top")

    def __init__(self, target: Any, writer: Writer) -> None:
        self._target = target
        self._known: dict[int, Keys] = {}
        self._remade: dict[int, Any] | None = writer.context.get("remade")
        self._top: dict[int, Keys] | None = None
        self._below: dict[int, Keys] | None = None
        self._paths: Paths | None = None

    def path(self, node: Any, keys: Keys) -> Keys:
        """The path of what is at `keys` of a node of the result."""
        if id(node) in self._known:
            return self._known[id(node)] + keys
        while self._remade and id(node) in self._remade:
            node = self._remade[id(node)]
        if node is self._target:
            return keys
        known = id(node)
        # Mostly it is one of the settings, or one of the items.
        if self._top is None:
            settings = [*self._target.items()] if type(self._target) is dict else ()
            self._top = {id(value): (name,) for name, value in reversed(settings) if type(value) in _HOLDERS}
        if known in self._top:
            return self._top[known] + keys
        if self._below is None:
            self._below = {
                id(inner): (name, key)
                for name, value in (self._target.items() if type(self._target) is dict else ())
                if type(value) in _HOLDERS
                for key, inner in (value.items() if type(value) is dict else enumerate(value))
                if type(inner) is dict
            }
        if known in self._below:
            return self._below[known] + keys
        if self._paths is None:
            self._paths = Paths(self._target)
        return self._paths.get(known, ()) + keys

    def know(self, nodes: Iterable[Any]) -> None:
        """Keep the paths of these nodes, whatever becomes of the result: a report may be made later."""
        self._known |= {id(node): self.path(node, ()) for node in nodes}


def placed(target: Any, writer: Writer) -> Result:
    """The paths of the nodes of a result to which something was added."""
    result = Result(target, writer)
    added = [note[0] for note in writer.raw if note[2] == "added"]
    if added or writer.filled:
        result.know(added + [where for where, *_ in writer.filled])
    return result
