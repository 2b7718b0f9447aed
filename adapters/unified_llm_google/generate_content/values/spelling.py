"""camelCase and snake_case: the API takes both for every key of its own, and clients mix them within one request.

A `Shape` declares the API's own keys. Reading respells those that came in snake_case and notes where (a marker
of form), so that pairs handle one spelling and a document returns in its own; what is left over keeps the spelling it
had. What belongs to the user (arguments, schemas, labels) is in no shape and is never touched.

https://protobuf.dev/programming-guides/json/
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

__all__ = ["Shape", "actual", "snake", "take_nulls", "to_camel", "to_snake"]

Node = dict[str, Any]

_UPPER = re.compile("([A-Z])")


@lru_cache(maxsize=1024)
def snake(name: str) -> str:
    """`mimeType` as `mime_type`."""
    return _UPPER.sub(r"_\1", name).lower()


class Shape:
    """The keys of one wire object: `keys` hold anything, `below` names those that hold objects of a shape."""

    __slots__ = ("below", "snake")

    def __init__(self, keys: str = "", **below: Shape) -> None:
        self.below = below
        self.snake = {snake(name): name for name in (*keys.split(), *below) if snake(name) != name}


def to_camel(node: Node, shape: Shape, path: str = "") -> list[str]:
    """Respell `node` (our own copy) in place; the paths of what was respelled, parents first."""
    found: list[str] = []
    if not path and not _spelled(node, shape):
        return found
    for key in tuple(node):
        if "_" in key and key in shape.snake and shape.snake[key] not in node:
            camel = shape.snake[key]
            node[camel] = node.pop(key)
            found.append(path + camel)
    for key, below in shape.below.items():
        value = node.get(key)
        if type(value) is dict:
            if _spelled(value, below):
                node[key] = value = value.copy()
                found += to_camel(value, below, f"{path}{key}/")
        elif type(value) is list and any(type(each) is dict and _spelled(each, below) for each in value):
            node[key] = value = [each.copy() if type(each) is dict else each for each in value]
            for index, each in enumerate(value):
                if type(each) is dict:
                    found += to_camel(each, below, f"{path}{key}/{index}/")
    return found


def _spelled(node: Node, shape: Shape) -> bool:
    """Whether anything in `node` is in snake_case."""
    if not shape.snake.keys().isdisjoint(node):
        return True
    shapes = shape.below
    for key in () if shapes.keys().isdisjoint(node) else node:
        if key not in shapes:
            continue
        value, inner = node[key], shapes[key]
        for each in (value,) if type(value) is dict else value if type(value) is list else ():
            # (Most objects hold none of a shape.)
            if type(each) is dict and each:
                if _spelled(each, inner) if inner.below else not inner.snake.keys().isdisjoint(each):
                    return True
    return False


def take_nulls(node: Node, shape: Shape) -> Node:
    """Take the nulls from the objects in `node` (our own copy): in protobuf's JSON, what is null was not set."""
    found: Node = {}
    for key, value in node.items():
        if type(value) is dict and key in shape.below and None in value.values():
            found[key] = {name: None for name, each in value.items() if each is None}
            node[key] = {name: each for name, each in value.items() if each is not None}
    return found


def to_snake(node: Any, paths: list[str]) -> Any:
    """Give back the spelling that `to_camel` took, where what it was taken from is still there."""
    for path in reversed(paths) if type(paths) is list else ():
        *above, last = str(path).split("/")
        here = node
        for key in above:
            if type(here) is list:
                index = int(key) if key.isdecimal() and len(key) < 9 else len(here)
                here = here[index] if index < len(here) else None
            else:
                here = here.get(key) if isinstance(here, dict) else None
        if isinstance(here, dict) and last in here:
            here[snake(last)] = here.pop(last)
    return node


def actual(path: tuple[Any, ...], paths: list[str]) -> tuple[Any, ...]:
    """The keys of `path` as the document spells them."""
    if not paths:
        return path
    out: list[Any] = []
    for index, key in enumerate(path):
        out.append(snake(key) if "/".join(map(str, path[: index + 1])) in paths else key)
    return tuple(out)
