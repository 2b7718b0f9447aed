"""Why a value is not of a shape: called only after the compiled function failed.

Compiled functions answer yes or "not mine". What has to be there is looked at once more here, field by field and in the
same order, and the first that is wrong is named with path and reason. Nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .rows import SPREAD, Branch, Row
from .runtime import is_kept, opaque_of
from .signals import ABSENT, FAULTS, Approximate, Mismatch, Node

if TYPE_CHECKING:
    from ..shapes.shape import Shape

__all__ = ["unread", "unwritten"]

_JSON: dict[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
_JSON |= {int: "a whole number", float: "a number"}


def unread(shape: Shape, w: Any, x: Any) -> Mismatch:
    """Why a wire object is not of this shape."""
    if type(w) is not dict:
        return Mismatch((), "is not an object")
    try:
        _demand(shape.wire_tree, w, shape.tag)
        for row in shape.rows:
            value: Any = w
            for key in row.wire if row.must else ():
                value = value[key]
            if row.must and row.field.kind == "flatten":
                if row.field.inner.read_flat(value, type(x)(x.source, x.target), {}) is value:
                    raise Mismatch(row.wire, "is of no known case")
            elif row.must and row.field.read is not None and row.field.kind not in SPREAD:
                if value is not None or not row.field.null:
                    _change(row.field.read, value, row.wire, type(x)(x.source, x.target), "has an unexpected value")
    except Mismatch as error:
        return error
    return Mismatch((), "has an unexpected form")


def _demand(branch: Branch, w: Node, tag: str | None) -> None:
    for key, child in branch.children.items():
        if not child.must:
            continue
        if key not in w:
            raise Mismatch((key,), "is missing")
        value = w[key]
        try:
            if isinstance(child, Branch):
                if type(value) is not dict:
                    raise Mismatch((), "is not an object")
                _demand(child, value, None)
            elif child.field.kind == "constant":
                if key != tag and not child.field.is_word(value):
                    raise Mismatch((), f"is not {child.field.default!r}")
            elif not _is_typed(value, child, child.field.types):
                raise Mismatch((), f"is {_JSON.get(type(value), 'null')}, not {_names(child.field.types)}")
        except Mismatch as error:
            raise Mismatch((key, *error.path), error.reason) from None


def unwritten(shape: Shape, c: Node, x: Any) -> Mismatch:
    """Why a canonical node has no wire object of this shape."""
    y = type(x)(x.source, x.target, here=x.here, match=x.match)
    try:
        for row in shape.rows:
            if row.field.kind == "opaque" and row.must:
                try:
                    opaque_of(c, row.field.key, y)
                except FAULTS:
                    raise Mismatch(("opaque",), f"holds no {row.field.key} of {x.target}") from None
            elif row.field.kind in SPREAD and row.must:
                try:
                    out = row.field.inner.write_flat(c, y)[0]
                except FAULTS:
                    out = None
                if out is None or (out is ABSENT and not is_kept(c, row.wire, y)):
                    raise Mismatch((), f"has nothing to write at /{'/'.join(row.wire)}")
        for row, got in _demanded(shape.key_tree, c):
            if row.key[-1] not in got:
                raise Mismatch(row.key, "is missing")
            value = got[row.key[-1]]
            if not _is_typed(value, row, row.field.canonical):
                raise Mismatch(row.key, f"is {_JSON.get(type(value), 'null')}")
            if row.field.write is not None and value is not None:
                _change(row.field.write, value, row.key, y, "has no form in the target")
    except Mismatch as error:
        return error
    return Mismatch((), "has no form in the target")


def _demanded(branch: Branch, got: Any) -> Iterator[tuple[Row, Node]]:
    """The fields without which there is no wire object, each with the canonical object that it is in."""
    for key, child in branch.children.items():
        if isinstance(child, Row):
            if child.wire and child.must and child.field.default is ABSENT:
                yield child, got
        elif type(got.get(key)) is dict:
            yield from _demanded(child, got[key])
        elif child.must:
            raise Mismatch(child.path, "is missing" if key not in got else "is not an object")


def _change(change: Any, value: Any, path: tuple[str, ...], x: Any, unsaid: str) -> None:
    try:
        change(value, x)
    except Approximate:
        pass
    except FAULTS as error:
        reason = getattr(error, "why", "") if unsaid.startswith("has no") else getattr(error, "reason", "")
        raise Mismatch(path, reason or unsaid) from None


def _is_typed(value: Any, row: Row, types: tuple[type, ...]) -> bool:
    if value is None and row.field.null:
        return True
    return type(value) in types if types else value is not None


def _names(types: tuple[type, ...]) -> str:
    """The JSON types that a field takes."""
    return " or ".join(_JSON[each] for each in types if each is not int or float not in types) or "a value"
