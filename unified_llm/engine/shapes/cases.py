"""Cases of a union: which of several reads an object, which writes a node, and whether one hides another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiler.codecs import Own
from ..compiler.fields import Field
from ..compiler.runtime import reach
from ..compiler.signals import FAULTS, Approximate, Cannot, Mismatch, Node, is_same
from .shape import Shape

__all__ = [
    "OnDemand",
    "Whole",
    "accepts_all",
    "chosen_writer",
    "constant_roots",
    "first_reader",
    "fixed",
    "holds",
    "writes",
]


class OnDemand(dict[Any, Any]):
    """A table whose entries are made on first use: what no document needs is not compiled."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: Any) -> Any:
        found = self[key] = self.make(key)
        return found


class Whole(Shape):
    """A case of a flattened union that is one codec of the whole object."""

    read_flat: Any
    write_flat: Any

    def __init__(self, name: str, said: str, field: Field, tag: str | None) -> None:
        super().__init__({f"{tag}": said}, name=name, tag=tag)
        self.field = field
        self.key: str = field.key
        self.roots: frozenset[str] = frozenset((field.key.partition(".")[0],))
        self.read_flat, self.write_flat = self._read, self._write

    def _read(self, w: Any, x: Any, node: Node) -> Node | None:
        """Read the object; what its inverse does not give back is left over."""
        assert self.field.read is not None and self.field.write is not None
        value = self.field.read(w, x)
        back = self.field.write(value, Own)
        if not all(key in w and is_same(w[key], its) for key, its in back.items()):
            raise Mismatch((), "does not come back from its canonical form")
        path = self.key.split(".")
        reach(node, tuple(path[:-1]))[path[-1]] = value
        return {key: its for key, its in w.items() if key not in back} or None

    def _write(self, c: Node, x: Any) -> tuple[Any, tuple[str, ...]]:
        value: Any = c
        for key in self.key.split("."):
            value = value[key]
        if type(value) not in self.field.canonical or self.field.write is None:
            raise Mismatch
        return self.field.write(value, x), tuple(self.roots)

    def path_of(self, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return ()


def first_reader(shapes: list[Shape]) -> Any:
    """The reader of the only case, or of the first that reads an object."""
    if len(shapes) == 1:
        return shapes[0].read

    def read(w: Any, x: Any) -> Any:
        for shape in shapes:
            try:
                return shape.read(w, x)
            except FAULTS:
                continue
        raise Mismatch

    return read


def chosen_writer(found: list[tuple[Shape, Callable[[Node], bool] | None]]) -> Any:
    """The writer of the only case, or of the first whose constants and condition a node meets."""
    if len(found) == 1 and found[0][1] is None and not fixed(found[0][0]):
        return found[0][0].write
    keys = {key for shape, _ in found for key in fixed(shape)}
    if len(keys) == 1 and all(when is None for _, when in found):
        (key,) = keys
        table = {fixed(shape).get(key): shape for shape, _ in found}
        if "." not in key and all(type(value) is str for value in table):
            writers = {value: shape.write for value, shape in table.items()}
            return lambda c, x: writers[c[key]](c, x)

    def write(c: Node, x: Any) -> Any:
        for shape, when in found:
            if shape.matches(c) and holds(when, c):
                return shape.write(c, x)
        raise Mismatch

    return write


def holds(when: Callable[[Node], bool] | None, c: Node) -> bool:
    """Whether a condition is true of a node; without a condition True, on a node that lacks what it reads False."""
    try:
        return when is None or when(c)
    except FAULTS:
        return False  # a condition on what the node does not have


def fixed(shape: Shape) -> dict[str, Any]:
    """The constants that distinguish cases of one type."""
    return {key: value for key, value in shape.constants.items() if key != "type" and type(value) in (str, bool, int)}


def writes(shape: Shape, c: Node) -> bool:
    """Whether a flattened case writes these keys of a node of its own protocol."""
    try:
        return shape.matches(c, flat=True) and bool(shape.write_flat(c, Own))
    except (Approximate, Cannot, *FAULTS):
        return False


def constant_roots(shape: Shape) -> set[str]:
    """The top-level keys of the constants of a shape."""
    return {key.partition(".")[0] for key in shape.constants}


def accepts_all(first: Shape, second: Shape) -> bool:
    """Whether the first case reads everything that the second does."""
    demanded = [
        {
            row.wire: (row.field.default if row.field.kind == "constant" else None, row.field.types)
            for row in shape.rows
            if row.must and row.wire != (shape.tag,)  # they share a tag, be it by another word
        }
        for shape in (first, second)
    ]
    for wire, (value, types) in demanded[0].items():
        if wire not in demanded[1]:
            return False
        other, others = demanded[1][wire]
        if demanded[0][wire][0] is not None and value != other:
            return False
        if value is None and other is None and types and not set(others or ()) <= set(types):
            return False
    return True
