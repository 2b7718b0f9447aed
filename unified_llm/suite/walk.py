"""Ways about JSON: paths, leaves, strict equality, and copies with one place changed.

A path is a tuple of keys and indices; `pointer` writes it as RFC 6901 does. Nothing here changes its argument.
Equality is that of JSON documents and not Python's: `1`, `1.0` and `true` are three values, key order is none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "Path",
    "as_path",
    "deleted",
    "differences",
    "dumps",
    "get",
    "is_prefix",
    "json_type",
    "leaves",
    "nodes",
    "pointer",
    "replaced",
    "same",
    "shape",
]

Path = tuple[str | int, ...]

_CONTAINERS = frozenset((dict, list))


def pointer(path: Path) -> str:
    """The JSON pointer of a path.

    >>> pointer(("messages", 0, "a/b"))
    '/messages/0/a~1b'
    """
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)


def as_path(doc: Any, text: str) -> Path:
    """The path of a JSON pointer, whose last key may be one the document lacks.

    Raises LookupError or ValueError for a pointer that leads nowhere.

    >>> as_path({"messages": [{"a/b": 1}]}, "/messages/0/a~1b")
    ('messages', 0, 'a/b')
    """
    path: list[str | int] = []
    for key in text.split("/")[1:]:
        key = key.replace("~1", "/").replace("~0", "~")
        path.append(int(key) if type(get(doc, tuple(path))) is list else key)
    return tuple(path)


def is_prefix(above: str, below: str) -> bool:
    """True when the pointer `above` is `below` or names a node around it.

    >>> is_prefix("/a", "/a/b"), is_prefix("/a", "/ab")
    (True, False)
    """
    return below == above or below.startswith(above + "/")


def get(doc: Any, path: Path) -> Any:
    """The value at a path; raises LookupError where there is none."""
    for key in path:
        fits = type(doc) is (list if type(key) is int else dict)
        if not fits:
            raise LookupError(pointer(path))
        doc = doc[key]
    return doc


def replaced(doc: Any, path: Path, value: Any) -> Any:
    """A copy with the value at `path` (an existing place, or a new key of an object) replaced; the rest is shared."""
    if not path:
        return value
    copy = dict(doc) if type(doc) is dict else list(doc)
    key: Any = path[0]
    copy[key] = replaced(doc[key], path[1:], value) if len(path) > 1 else value
    return copy


def deleted(doc: Any, path: Path) -> Any:
    """A copy without what is at `path`; the rest is shared."""
    copy = dict(doc) if type(doc) is dict else list(doc)
    key: Any = path[0]
    if len(path) == 1:
        del copy[key]
    else:
        copy[key] = deleted(doc[key], path[1:])
    return copy


def nodes(doc: Any) -> Iterator[tuple[Path, Any]]:
    """Every value of a document with its path, in document order, the document itself first."""
    stack: list[tuple[Path, Any]] = [((), doc)]
    while stack:
        path, value = stack.pop()
        yield path, value
        if type(value) is dict:
            stack += [((*path, key), value[key]) for key in reversed(value)]
        elif type(value) is list:
            stack += [((*path, index), value[index]) for index in range(len(value) - 1, -1, -1)]


def leaves(doc: Any) -> Iterator[tuple[Path, Any]]:
    """Every scalar and every empty container, with its path."""
    for path, value in nodes(doc):
        if path and (type(value) not in _CONTAINERS or not value):
            yield path, value


def json_type(value: Any) -> str:
    """The JSON type of a value, integers apart from other numbers."""
    names: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer"}
    return "null" if value is None else names.get(type(value), "number")


def shape(doc: Any, path: Path, depth: int = 9, ends: bool = False) -> str:
    """The path with indices wildcarded and every object's `type` beside its place: what makes two leaves alike.

    Below `depth` keys everything counts as alike, because there lie schemas and other free-form values. With `ends` the
    first and the last place of a list count as places of their own.

    >>> shape({"a": [{"b": 1}, {"b": 2}, {"b": 3}]}, ("a", 2, "b"), ends=True)
    'a/$/b'
    """
    out = []
    for key in path[:depth]:
        place = str(key)
        if type(key) is int:
            place = "*" if not ends or 0 < key < len(doc) - 1 else "0" if not key else "$"
        doc = doc[key]
        tag = doc.get("type") if type(doc) is dict else None
        out.append(place + (f"<{tag}>" if type(tag) is str else ""))
    return "/".join(out)


def same(one: Any, other: Any, excused: Callable[[Any, Any], bool] | None = None) -> bool:
    """JSON equality, types included. `excused` is called with scalars that differ: True counts them as equal.

    >>> same({"a": 1, "b": 2}, {"b": 2, "a": 1}), same(1, 1.0), same(1, True)
    (True, False, False)
    """
    kind = type(one)
    if kind is dict and type(other) is dict:
        if one.keys() != other.keys():
            return False
        for key, value in one.items():
            if not same(value, other[key], excused):
                return False
        return True
    if kind is list and type(other) is list:
        if len(one) != len(other):
            return False
        for mine, theirs in zip(one, other):
            if not same(mine, theirs, excused):
                return False
        return True
    if kind is type(other) and one == other:
        return True
    return excused is not None and excused(one, other)


def differences(one: Any, other: Any, path: Path = ()) -> list[Path]:
    """The outermost places where two documents differ; a key that only one of them has is such a place.

    Lists of unlike length differ in the elements both have, and in the first place that only one has.
    """
    out: list[Path] = []
    _compare(one, other, path, out)
    return out


def _compare(one: Any, other: Any, path: Path, out: list[Path]) -> None:
    if type(one) is dict and type(other) is dict:
        for key, mine in one.items():
            if key not in other:
                out.append((*path, key))
            elif not _is_same_scalar(mine, other[key]):
                _compare(mine, other[key], (*path, key), out)
        out += [(*path, key) for key in other if key not in one]
    elif type(one) is list and type(other) is list:
        for index, (mine, theirs) in enumerate(zip(one, other)):
            if not _is_same_scalar(mine, theirs):
                _compare(mine, theirs, (*path, index), out)
        if len(one) != len(other):
            out.append((*path, min(len(one), len(other))))
    elif not same(one, other):
        out.append(path)


def _is_same_scalar(one: Any, other: Any) -> bool:
    """Whether two values are the same scalar: most are, and a path is only made where something may differ."""
    kind = type(one)
    return kind not in _CONTAINERS and kind is type(other) and bool(one == other)


def dumps(doc: Any) -> str:
    """Short JSON text in the document's own key order, for byte comparison and for messages."""
    return json.dumps(doc, ensure_ascii=False, separators=(",", ":"))
