"""What a place in a document is called: the capability behind a canonical field, or behind a wire field that was added.

The tables contain it for every declared field; an untyped node (usage, finish, ...) is recognized by its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ..foundation.json_paths import Keys, once, pointer
from ..types._tables import CAPABILITY, CHILDREN
from . import Fate, Loss, Side

if TYPE_CHECKING:
    from ..engine.adapter import Adapter

__all__ = ["Changes", "Naming", "loss_at", "loss_of_added", "losses_below", "maker"]

Node = dict[str, Any]
Changes = tuple[tuple[Keys, str, str], ...]
_NONE: dict[str, Any] = {}


@cache
def _called(field: str) -> list[str]:
    """The capabilities that fields of this name have in the canonical model."""
    return sorted({fields[field] for fields in CAPABILITY.values() if field in fields})


@lru_cache(maxsize=2048)
def _added(goal: Adapter, name: str, names: tuple[str, ...]) -> str:
    """The capability of a wire field that the target demands, as its adapter or the canonical model names it."""
    last = names[-1] if names else ""
    for start in range(len(names)):
        found = goal.natives.get(".".join(names[start:]))
        if found is not None:
            return found
    table = goal.settings.get(name)
    canonical = table.canonical_key(last) if table is not None else None
    named = CAPABILITY.get(name, {}).get(canonical or "")
    if canonical and named:
        return named
    # The canonical name for it, where there is but one; else the one of its place.
    called = _called(last)
    near = [name for name in called if name.partition(".")[0] in names]
    return called[0] if len(called) == 1 else near[0] if len(near) == 1 else "native.field"


@lru_cache(maxsize=2048)
def loss_of_added(path: Keys, goal: Adapter, name: str, detail: str, capability: str | None) -> Loss:
    """What the target requires and the source does not have, at this path of a document of the kind `name`."""
    names = tuple([key for key in path if type(key) is str])
    return Loss(pointer(path), capability or _added(goal, name, names), "added", detail, "target")


# Losses are kept, by where and what they are: most documents lose the same few things, and a conversation comes again
# with each request.


@lru_cache(maxsize=4096)
def loss_at(path: Keys, capability: str, fate: Any, detail: str) -> Loss:
    """What happened to the leaf at this path of the source."""
    return Loss(pointer(path), capability, fate, detail)


@lru_cache(maxsize=16)
def maker(
    above: Keys, below: Keys, capability: str, fate: Fate, detail: str, side: Side = "source"
) -> Callable[[Keys], Loss]:
    """What makes the losses of one leaf at many places."""

    @lru_cache(maxsize=2048)
    def made(place: Keys) -> Loss:
        return Loss(pointer((*above, *place, *below)), capability, fate, detail, side)

    return made


@lru_cache(maxsize=512)
def losses_below(above: Keys, changes: Changes) -> tuple[Loss, ...]:
    """What became of the leaves of a schema."""
    return tuple(Loss(pointer(above + keys), "tools.function", fate, detail) for keys, fate, detail in changes)  # type: ignore[arg-type]


@lru_cache(maxsize=2048)
def _declared(name: str, keys: Keys) -> str:
    """The capability of the field at `keys` below a node of this name, where no typed node is on the way."""
    return _walked(name, keys, _NONE)


def _walked(name: str, keys: Keys, value: Any) -> str:
    found: str = CAPABILITY.get(name, _NONE).get("", "native.item")
    for key in keys:
        value = _inner(value, key)
        kind = value.get("type") if type(value) is dict else None
        if type(key) is not str:
            if type(kind) is str and kind in CAPABILITY:
                name = kind
                found = CAPABILITY[name][""]
            continue
        table = CAPABILITY.get(name)
        if table is None or key not in table:
            return found if keys[0] != key else "native.field"
        found = table[key]
        children = CHILDREN.get(name, _NONE).get(key, ())
        name = kind if type(kind) is str and kind in CAPABILITY else children[0] if len(children) == 1 else ""
    return found


def _inner(value: Any, key: Any) -> Any:
    try:
        return value[key] if type(value) is not str else None
    except (KeyError, IndexError, TypeError):
        return None


class Naming:
    """The names of places below `root`, a canonical document of the kind `name`."""

    parents: dict[int, tuple[Any, Any]] | None = None

    def __init__(self, root: Any, name: str) -> None:
        self.root = root
        self.name = name

    @once
    def _names(self) -> dict[int, str]:
        return {}

    def _settings_in(self, key: Any) -> list[str]:
        """The settings in an object of a request, where one of them has another capability than the object itself."""
        value: Any = self.root.get(key) if self.name == "request" else None
        if type(value) is not dict or "type" in value:
            return []
        kinds = CHILDREN["request"].get(key, ())
        known = CAPABILITY.get(kinds[0], {}) if len(kinds) == 1 else {}
        inside = [each for each in value if value[each] is not None and each != "extra"] if known else []
        return inside if any(known.get(each, known[""]) != known[""] for each in inside) else []

    def _capability(self, node: Node, keys: Keys) -> str:
        """The capability declared for the field at `keys` below `node`, or for the node itself."""
        name, kind = self.name, node.get("type", "") if type(node) is dict else None
        if node is self.root:
            if len(keys) == 1 and keys[0] in CAPABILITY.get(name, ()):
                return CAPABILITY[name][keys[0]]
        else:
            if type(kind) is str and kind in CAPABILITY and len(keys) == 1 and keys[0] in CAPABILITY[kind]:
                return CAPABILITY[kind][keys[0]]
            name = kind if type(kind) is str and kind in CAPABILITY else self._name_of(node)
        value: Any = node
        for key in keys:
            value = _inner(value, key)
            if type(value) is dict and "type" in value:
                return _walked(name, keys, node)
        return _declared(name, keys)

    def _name_of(self, node: Node) -> str:
        """The name of an untyped node (usage, finish, ...), from where it hangs."""
        known, names = id(node), self._names
        if known not in names:
            names[known] = self._named(node)
        return names[known]

    def _named(self, node: Node) -> str:
        above = self._parent(node)
        while above is not None and type(above[1]) is int:
            above = self._parent(above[0])
        if above is None:
            return ""
        parent, key = above
        kind = parent.get("type") if type(parent) is dict else None
        name = self.name if parent is self.root else kind if type(kind) is str else self._name_of(parent)
        children = CHILDREN.get(name, {}).get(key, ())
        return children[0] if len(children) == 1 else ""

    def _parent(self, node: Any) -> tuple[Any, Any] | None:
        """What holds a node, and under which key."""
        if self.parents is None:
            for key, value in self.root.items() if type(self.root) is dict else ():
                if value is node:  # as usage and finish are
                    return self.root, key
            self.parents = {}
            stack = [self.root] if type(self.root) in (dict, list) else []
            while stack:
                above = stack.pop()
                children = above.items() if type(above) is dict else enumerate(above)
                for key, value in children:
                    if type(value) is dict or type(value) is list:
                        self.parents[id(value)] = (above, key)
                        stack.append(value)
        return self.parents.get(id(node))
