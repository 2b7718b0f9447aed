"""A declaration, normalized: frozen rows, and the two trees that the rows make.

A row declares that the leaf at a wire path and the leaf at a canonical path are one value. Reading walks the tree of
wire paths and fills the tree of canonical paths; writing is the same walk with the sides exchanged. Everything else the
engine derives (known keys, places, certificate) is derived from these rows, so that a declaration is read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .fields import Field, constant
from .signals import ABSENT, DeclarationError, Path

__all__ = ["SPREAD", "Branch", "Row", "key_tree", "pointer", "roots_of", "rows_of", "wire_tree"]

# Fields whose canonical side is the node around them, and not one key of it.
SPREAD = ("choices", "flatten")
_RESERVED = ("extra", "turn")
_SCALARS = (str, int, float, bool, type(None))


class Row(NamedTuple):
    """One leaf: where it is on the wire (() for a canonical constant) and in the canonical node (() for a wire one)."""

    wire: Path
    key: Path
    field: Field
    must: bool  # an object without it is not of this shape


class Branch(NamedTuple):
    """An object of one side, by its keys."""

    path: Path
    must: bool
    children: dict[str, Branch | Row]


def pointer(path: tuple[Any, ...]) -> str:
    """A JSON pointer (RFC 6901).

    >>> pointer(("a/b", 0))
    '/a~1b/0'
    """
    text = "/".join(map(str, path))
    if "~" not in text and text.count("/") == len(path) - 1:
        return f"/{text}"
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)


def _leaves(wire: Mapping[str, Any], path: Path, must: bool, name: str) -> Iterator[tuple[Path, Any, bool]]:
    seen = set()
    for key, inner in wire.items():
        if type(key) is not str or not key.rstrip("?"):
            raise DeclarationError(f"shape {name}: {key!r} is not a wire key")
        bare = key.removesuffix("?")
        here, needed = (*path, bare), must and not key.endswith("?")
        if bare in seen:
            raise DeclarationError(f"shape {name}: the wire key {pointer(here)} is declared twice")
        seen.add(bare)
        yield here, inner, needed
        if type(inner) is dict:
            yield from _leaves(inner, here, needed, name)


def rows_of(
    wire: Mapping[str, Any], constants: Mapping[str, Any], name: str
) -> tuple[tuple[Row, ...], dict[Path, bool]]:
    """The rows of a declaration, and all wire paths in order, with whether each has to be there."""
    rows: list[Row] = [
        Row((), tuple(key.split(".")), constant(_plain(value, name, key)), False) for key, value in constants.items()
    ]
    paths: dict[Path, bool] = {}
    for path, inner, must in _leaves(wire, (), True, name):
        paths[path] = must
        if type(inner) is dict:
            continue
        if type(inner) is Field:
            key: Path = () if inner.kind in ("constant", *SPREAD) else tuple(inner.key.split("."))
            if inner.kind == "opaque":
                key = ("opaque", inner.key)
            if inner.default is not ABSENT and inner.kind != "constant":
                _plain(inner.default, name, pointer(path))
            rows.append(Row(path, key, inner, must))
        else:
            rows.append(Row(path, (), constant(_plain(inner, name, pointer(path))), must))
    _check(rows, name)
    return tuple(rows), paths


def _plain(value: Any, name: str, where: str) -> Any:
    """A JSON value that can be written into source text."""
    stack = [value]
    while stack:
        each = stack.pop()
        if type(each) is dict:
            stack += each.values()
        elif type(each) is list:
            stack += each
        elif type(each) not in _SCALARS or each != each:
            raise DeclarationError(f"shape {name}: {where}: {each!r} is neither a field nor a JSON value")
    return value


def _check(rows: list[Row], name: str) -> None:
    first: dict[Path, Row] = {}
    for row in rows:
        if not row.key or row.field.is_alias:
            continue
        if "" in row.key or row.key[0] in _RESERVED:
            raise DeclarationError(f"shape {name}: {'.'.join(row.key)!r} cannot be a canonical key")
        if row.field.grows and row.field.types != (str,):
            raise DeclarationError(f"shape {name}: {pointer(row.wire)} cannot grow: it is not a string")
        if row.key in first:
            text = ".".join(row.key)
            raise DeclarationError(
                f"shape {name}: canonical key {text!r} is declared at {_at(first[row.key])} and at {_at(row)}"
            )
        first[row.key] = row
    for key in first:
        for depth in range(1, len(key)):
            if key[:depth] in first:
                raise DeclarationError(
                    f"shape {name}: canonical key {'.'.join(key)!r} is below {'.'.join(key[:depth])!r},"
                    " which is a value of its own"
                )
    for row in rows:
        if row.field.is_alias and row.key not in first:
            raise DeclarationError(
                f"shape {name}: {pointer(row.wire)} is an alias of {row.field.key!r}, which has no field"
            )
        if row.field.is_alias and row.must:
            raise DeclarationError(f"shape {name}: the alias {pointer(row.wire)} has to be optional")
    taken = {key[0]: row for key, row in first.items()}
    for row in rows:
        for root in roots_of(row) if row.field.kind in SPREAD else ():
            if root in taken and taken[root] is not row:
                raise DeclarationError(
                    f"shape {name}: canonical key {root!r} is declared at {_at(taken[root])} and inside {_at(row)}"
                )
            taken[root] = row


def _at(row: Row) -> str:
    return pointer(row.wire) if row.wire else "the constants of the case"


def roots_of(row: Row) -> tuple[str, ...]:
    """The canonical keys of the node that a row's value is part of."""
    if row.field.kind in SPREAD:
        found: tuple[str, ...] = row.field.inner.roots
        return found
    return row.key[:1]


def wire_tree(rows: tuple[Row, ...], paths: Mapping[Path, bool]) -> Branch:
    """The wire object: what reading walks, and writing fills."""
    leaves = {row.wire: row for row in rows}
    root = Branch((), True, {})
    for path, must in paths.items():
        here = root
        for key in path[:-1]:
            child = here.children[key]
            assert isinstance(child, Branch)
            here = child
        here.children[path[-1]] = leaves.get(path) or Branch(path, must, {})
    return root


def key_tree(rows: tuple[Row, ...]) -> Branch:
    """The canonical node: what writing walks, and reading fills. Without what does not have one key of its own."""
    root = Branch((), True, {})
    for row in rows:
        if not row.key or row.field.is_alias or row.field.kind == "opaque":
            continue
        here = root
        for depth, key in enumerate(row.key[:-1]):
            must = any(
                each.must and each.field.default is ABSENT
                for each in rows
                if each.key[: depth + 1] == row.key[: depth + 1]
            )
            child = here.children.setdefault(key, Branch(row.key[: depth + 1], must, {}))
            assert isinstance(child, Branch)
            here = child
        here.children[row.key[-1]] = row
    return root
