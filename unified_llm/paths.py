"""Ways through JSON trees: pointers, paths by identity, and where a value stands.

Used when something is reported and never while converting, so that what is looked for is walked for then.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

__all__ = [
    "Keys",
    "Paths",
    "at",
    "find",
    "find_object",
    "follow",
    "ids_below",
    "kept",
    "leaves",
    "paths_below",
    "pointer",
]

Keys = tuple[Any, ...]


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
    """The path of every object and list below a root by identity, found level by level and no deeper than asked.

    Of a level the small ones are opened first: where a list is long, what is asked for mostly stands beside it.
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
            for name, value in node.items() if type(node) is dict else enumerate(node):
                if type(value) is dict or type(value) is list:
                    here = found[id(value)] = (*path, name)
                    self._below.append((value, here))
            if not self._level:
                self._level, self._below = sorted(self._below, key=_size, reverse=True), []
        return found.get(key, default)


def _size(entry: tuple[Any, Keys]) -> int:
    return len(entry[0])


def paths_below(root: Any) -> dict[int, Keys]:
    """The path of every object and list below a root, by identity."""
    paths: dict[int, Keys] = {id(root): ()}
    stack: list[tuple[Any, Keys]] = [(root, ())] if type(root) in (dict, list) else []
    while stack:
        node, path = stack.pop()
        for key, value in node.items() if type(node) is dict else enumerate(node):
            if type(value) is dict or type(value) is list:
                below = (*path, key)
                paths[id(value)] = below
                stack.append((value, below))
    return paths


def ids_below(node: Any) -> frozenset[int]:
    """The identities of a node and of all below it."""
    return frozenset(paths_below(node))


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
    """The paths of all that is no object, no list, and not empty."""
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


def find(node: Any, value: Any, name: Any = None) -> Keys:
    """The path of `value` in `node`: the very object, else the only equal one, or the only one of this name."""
    equal: list[Keys] = []
    stack: list[tuple[Any, Keys]] = [(node, ())]
    while stack:
        here, path = stack.pop()
        for key, below in here.items() if type(here) is dict else enumerate(here):
            if type(below) is type(value) and below == value:
                if below is value and type(value) in (str, dict, list):
                    return (*path, key)
                equal.append((*path, key))
            if type(below) is dict or type(below) is list:
                stack.append((below, (*path, key)))
    if len(equal) > 1 and type(name) is str:
        equal = [path for path in equal if path[-1] == name]
    return equal[0] if len(equal) == 1 else ()


def find_object(node: Any, value: Any) -> Keys:
    """The path of this very object in `node`, () when it is not there."""
    stack: list[tuple[Any, Keys]] = [(node, ())]
    while stack:
        here, path = stack.pop()
        for key, below in here.items() if type(here) is dict else enumerate(here):
            if below is value:
                return (*path, key)
            if type(below) is dict or type(below) is list:
                stack.append((below, (*path, key)))
    return ()


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
