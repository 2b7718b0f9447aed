"""Ways through JSON trees: pointers, paths by identity, and where a value stands.

Used when something is reported and never while converting, so that what is looked for is walked for then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Generic, TypeVar

from .errors import InvalidBody

__all__ = [
    "MAX_DEPTH",
    "Keys",
    "Paths",
    "Search",
    "at",
    "exists",
    "follow",
    "ids_below",
    "kept",
    "leaves",
    "once",
    "paths_below",
    "pointer",
]

T = TypeVar("T")

Keys = tuple[Any, ...]

MAX_DEPTH = 200
"""How many objects and lists may be nested in each other in one document, or in one JSON text inside a document.

Fourteen times the depth of the deepest document that was recorded, and low enough that no recursion over a document
comes near Python's own limit, also when the caller's stack is deep. Deeper input is `InvalidBody`, with the path.
"""

# A canonical document has more levels than the one that it was read from.
_DEEPEST = 2 * MAX_DEPTH


class once(Generic[T]):
    """An attribute that is computed on first use: `functools.cached_property` without its lock."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self.find = find
        self.name: str = find.__name__

    def __get__(self, holder: Any, owner: Any = None) -> T:
        found = self.find(holder)
        setattr(holder, self.name, found)
        return found


def pointer(keys: Iterable[Any]) -> str:
    """A JSON pointer (RFC 6901) of keys and indices.

    >>> pointer(["a/b", 0])
    '/a~1b/0'
    """
    return _pointer(tuple(keys))


@lru_cache(maxsize=4096)
def _pointer(keys: Keys) -> str:
    plain = "/".join(["", *map(str, keys)])
    if "~" not in plain and plain.count("/") == len(keys):
        return plain
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


class Paths:
    """The path of every object and list below a root by identity, found level by level and no deeper than needed.

    Of a level the small ones are opened first: where a list is long, the requested node mostly stands beside it.
    """

    __slots__ = ("_below", "_found", "_level")

    def __init__(self, root: Any) -> None:
        self._found: dict[int, Keys] = {id(root): ()}
        self._level: list[tuple[Any, Keys]] = [(root, ())] if type(root) in (dict, list) else []
        self._below: list[tuple[Any, Keys]] = []

    def get(self, key: int, default: Keys = ()) -> Keys:
        found = self._found
        while key not in found and self._level:
            node, path = self._level.pop()
            below = self._below
            for name, value in node.items() if type(node) is dict else enumerate(node):
                kind = type(value)
                if kind is dict or kind is list:
                    here = found[id(value)] = (*path, name)
                    below.append((value, here))
            if not self._level:
                self._level, self._below = below, []
                if len(below) > _FEW:
                    below.sort(key=_size, reverse=True)
        return found.get(key, default)


# Objects and lists of a level that are opened in any order.
_FEW = 8


def _size(entry: tuple[Any, Keys]) -> int:
    return len(entry[0])


def paths_below(root: Any, above: Keys = ()) -> dict[int, Keys]:
    """The path of every object and list below a root, by identity. `above` is the root's own, for errors.

    Raises `InvalidBody` for what is nested too deep: the depth of an event that is given as an object is bounded
    nowhere else, and paths are quadratic in it.
    """
    paths: dict[int, Keys] = {id(root): ()}
    stack: list[tuple[Any, Keys]] = [(root, ())] if type(root) in (dict, list) else []
    while stack:
        node, path = stack.pop()
        for key, value in node.items() if type(node) is dict else enumerate(node):
            if type(value) is dict or type(value) is list:
                below = (*path, key)
                paths[id(value)] = below
                stack.append((value, below))
        if len(path) > _DEEPEST:
            raise InvalidBody(pointer((*above, *path[:MAX_DEPTH])), f"nested deeper than {MAX_DEPTH} levels")
    return paths


def ids_below(root: Any) -> set[int]:
    """The identities of a node and of all objects and lists below it; raises as `paths_below` does."""
    found, depth = {id(root)}, 0
    level = [root] if type(root) in (dict, list) else []
    while level:
        if depth > _DEEPEST:
            paths_below(root)
        inner = []
        for node in level:
            for value in node.values() if type(node) is dict else node:
                if type(value) is dict or type(value) is list:
                    inner.append(value)
        found.update(map(id, inner))
        level, depth = inner, depth + 1
    return found


def at(node: Any, keys: Keys) -> Any:
    """What stands at a path; None where nothing does."""
    for key in keys:
        if type(node) is str:
            return None
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError):
            return None
    return node


def exists(node: Any, keys: Keys) -> bool:
    """Whether there is something at a path, be it null."""
    for key in keys:
        if type(node) is str:
            return False
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def follow(node: Any, keys: Keys) -> Keys:
    """As much of the path as exists in `node`."""
    out: list[Any] = []
    for key in keys:
        if type(node) is str:
            break
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError):
            break
        out.append(key)
    return tuple(out)


def leaves(node: Any) -> list[Keys]:
    """The paths of all that is neither an object nor a list, and not empty."""
    out: list[Keys] = []
    stack: list[tuple[Any, Keys]] = [(node, ())]
    while stack:
        here, path = stack.pop()
        for key, value in here.items() if type(here) is dict else enumerate(here):
            if type(value) is dict or type(value) is list:
                stack.append((value, (*path, key)))
            elif value is not None and value != "":
                out.append((*path, key))
    return out


class Search:
    """What is looked for below the nodes of one document: a value, or an object.

    Most nodes are searched once, and then walked; of one that is searched again an index is made, so that many
    searches of a large node take no longer than a walk.
    """

    __slots__ = ("_indexes", "_objects", "_seen")

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self._indexes: dict[int, _Index] = {}
        # By the node that was searched, where each object and list below it stands.
        self._objects: dict[int, tuple[Any, dict[int, _Place]]] = {}

    def value(self, node: Any, value: Any, name: Any = None) -> Keys:
        """The path of `value` in `node`: the very object, else the only equal one, or the only one of this name."""
        index = self._index(node)
        return _find(node, value, name) if index is None else index.value(value, name)

    def object(self, node: Any, value: Any) -> Keys:
        """The path of this very object in `node`, () when it is not there."""
        if type(node) is dict and type(value) is dict:
            for key, below in node.items():
                if below is value:  # as most are
                    return (key,)
        found = self._objects.get(id(node))
        if found is None:
            places: dict[int, _Place] = {}
            for place, below in _below(node):
                if type(below) is dict or type(below) is list:
                    places.setdefault(id(below), place)
            found = self._objects[id(node)] = node, places
        return _keys(found[1].get(id(value)))

    def _index(self, node: Any) -> _Index | None:
        index = self._indexes.get(id(node))
        if index is None and id(node) in self._seen:
            index = self._indexes[id(node)] = _Index(node)
        self._seen[id(node)] = node
        return index


def _find(node: Any, value: Any, name: Any = None) -> Keys:
    equal: list[_Place] = []
    kind = type(value)
    for place, below in _below(node):
        if type(below) is kind and below == value:
            if below is value and kind in (str, dict, list):
                return _keys(place)
            equal.append(place)
    if len(equal) > 1 and type(name) is str:
        equal = [place for place in equal if place[1] == name]
    return _keys(equal[0]) if len(equal) == 1 else ()


_Place = tuple[Any, Any]
"""Where a value is: the place around it (None for the node itself) and its key there. Paths of all that is in a node
would be quadratic in its depth."""


def _keys(place: _Place | None) -> Keys:
    out: list[Any] = []
    while place is not None:
        place, key = place
        out.append(key)
    return tuple(reversed(out))


def _below(node: Any) -> Iterator[tuple[_Place, Any]]:
    """All values below a node, each with its place."""
    stack: list[tuple[Any, _Place | None]] = [(node, None)] if type(node) is dict or type(node) is list else []
    while stack:
        here, around = stack.pop()
        for key, below in here.items() if type(here) is dict else enumerate(here):
            place = (around, key)
            yield place, below
            if type(below) is dict or type(below) is list:
                stack.append((below, place))


class _Index:
    """All that stands below a node: each object by its identity, equal values by what they are."""

    __slots__ = ("_classes", "_equal", "_held", "_known", "first")

    def __init__(self, node: Any) -> None:
        self.first: dict[int, _Place] = {}
        # The only place of a value, None where it has several; and its only place with a key.
        self._equal: dict[Any, _Place | None] = {}
        # What equal objects and lists have in common: by what is in them, and by their identity.
        self._classes: dict[Any, tuple[int]] = {}
        self._known: dict[int, tuple[int]] = {}
        self._held: list[Any] = []  # what is known by its identity must not vanish
        self._classify(node)
        for place, below in _below(node):
            if type(below) in (str, dict, list):
                self.first.setdefault(id(below), place)
            key = self._key(below)
            for each in (key, (key, place[1])):
                self._equal[each] = None if each in self._equal else place

    def _classify(self, node: Any) -> None:
        known, classes = self._known, self._classes
        self._held.append(node)
        holders = [node, *(below for _, below in _below(node) if type(below) is dict or type(below) is list)]
        for here in reversed(holders):  # what is inside stands behind
            inside: Any
            if type(here) is dict:
                inside = frozenset([(key, known.get(id(inner), inner)) for key, inner in here.items()])
            else:
                inside = tuple([known.get(id(inner), inner) for inner in here])
            known[id(here)] = classes.setdefault(inside, (len(classes),))

    def _key(self, value: Any) -> Any:
        if type(value) is not dict and type(value) is not list:
            return (type(value), value)
        if id(value) not in self._known:
            self._classify(value)
        return (type(value), self._known[id(value)])

    def value(self, value: Any, name: Any) -> Keys:
        if type(value) in (str, dict, list) and id(value) in self.first:
            return _keys(self.first[id(value)])
        key = self._key(value)
        found = self._equal.get(key)
        if found is None and type(name) is str:
            found = self._equal.get((key, name))
        return _keys(found)


def kept(rest: Any, wire: Any) -> list[Keys]:
    """The smallest paths in what was kept: whole values where nothing was taken, single keys where something was."""
    if type(rest) is not dict:
        return [()]
    out: list[Keys] = []
    for key, value in rest.items():
        if value is None or value == [] or value == {}:
            continue
        beside = wire.get(key) if type(wire) is dict else None
        if type(value) is dict and type(beside) is dict and value is not beside:
            out.extend((key, *path) for path in kept(value, beside))
        elif type(value) is list and type(beside) is list and value is not beside and len(value) == len(beside):
            for index, (left, whole) in enumerate(zip(value, beside)):
                if left is whole:
                    out.append((key, index))
                elif type(left) is dict:
                    out.extend((key, index, *path) for path in kept(left, whole))
        else:
            out.append((key,))
    return out
