"""Source text of a function over one shape: lines, names, and the target object that it fills.

`Source` generates the code that puts a value somewhere; what is put where, and when, is the walk of `compile.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from .fields import Field
from .rows import Branch, Row
from .signals import ABSENT, Path

if TYPE_CHECKING:
    from ..shapes.shape import Shape

__all__ = ["Source", "branches_of", "is_safe"]


class Source:
    """The text of one function, in one direction."""

    def __init__(self, shape: Shape, reads: bool, mode: str) -> None:
        self.shape = shape
        self.reads = reads
        self.mode = mode
        self.walked: Branch = shape.wire_tree if reads else shape.key_tree
        self.filled: Branch = shape.key_tree if reads else shape.wire_tree
        self.given, self.made = ("w", "node") if reads else ("c", "wire")
        self.title: str = f"{'read' if reads else 'write'}_{mode}_{re.sub(r'[^0-9a-zA-Z]+', '_', shape.name)}"
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []
        self.depth: int = 1
        self.vars: count[int] = count(1)
        self.holders: dict[Path, str] = {(): self.made}  # objects of the target, and
        self.certain: set[Path] = {()}  # those that are there from the start
        self.openings: dict[Path, str] = {}  # what the others begin with
        self.values: dict[Path, str] = {}  # values of fields that have to be there, by target path
        self.inner: list[tuple[Branch, str, str, str]] = []  # objects that have to be there, with counts
        self.worded: list[tuple[Row, str]] = []  # what has to be there and may have another word
        self.nears: list[tuple[Path, str]] = []  # what has to be there and is only approximated, and why
        self.late: list[tuple[Path, str]] = []  # what has to be there, unless it is among the leftovers
        self.used: list[str] = []  # keys of the node that a spread field wrote

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, line: str = "") -> Iterator[None]:
        """What is added inside stands below a line."""
        if line:
            self.add(line)
        depth = self.depth
        self.depth += 1 if line else 0
        yield
        self.depth = depth

    def name(self, prefix: str, value: Any) -> str:
        for name, known in self.names.items():
            if known is value:
                return name
        name = f"{prefix}_{len(self.names)}"
        self.names[name] = value
        return name

    def name_shape(self) -> None:
        self.names["S"] = self.shape

    def var(self, prefix: str = "v") -> str:
        return f"{prefix}{next(self.vars)}"

    def where(self, row: Row, source: bool) -> Path:
        return row.wire if source == self.reads else row.key

    def check(self, var: str, row: Row) -> str:
        types = row.field.types if self.reads else row.field.canonical
        if not types:
            return f"{var} is not None"
        if len(types) == 1:
            return f"type({var}) is {types[0].__name__}"
        return f"type({var}) in {self.name('types', types)}"

    def changed(self, var: str, row: Row) -> str:
        change = row.field.read if self.reads else row.field.write
        return f"{self.name(row.field.kind, change)}({var}, x)" if change is not None else var

    def differs(self, var: str, value: Any) -> str:
        return f"{var} != {value!r}" if type(value) is str else f"not is_same({var}, {value!r})"

    def nor_word(self, var: str, row: Row) -> str:
        """The condition that a value is none of the further words of a constant either."""
        return f" and {var} not in {tuple(row.field.words)!r}" if row.field.words else ""

    def marked(self, row: Row) -> str:
        """The name under which the spelling of a field is kept."""
        return repr("/".join(self.shape.above + row.wire))

    def word(self, row: Row, var: str) -> None:
        """Keep that a value had another word."""
        many = row.field.types == (list,)
        with self.block(f"for word in {var}:" if many else ""):
            word = "word" if many else var
            self.add(f"if {word} in {tuple(row.field.words)!r}: spell(node, {self.marked(row)}, 'word:' + {word}, x)")

    def entries(self, branch: Branch) -> str:
        return ", ".join(f"{key!r}: {value}" for key, value in self.pairs(branch))

    def pairs(self, branch: Branch) -> list[tuple[str, str]]:
        out = []
        for key, child in branch.children.items():
            if isinstance(child, Branch):
                if child.path in self.certain:
                    out.append((key, self.holders[child.path]))
                continue
            if not self.reads and self.is_filled_in(child):
                out.append((key, "ABSENT"))  # in its place, to be written or filled in
                continue
            constant = not self.where(child, source=True)
            goal = self.where(child, source=False)
            if constant and child.field.kind == "constant":
                if child.field.written:
                    out.append((key, repr(child.field.default)))
            elif goal in self.values and child.field.kind != "opaque" and not child.field.is_alias:
                var, field = self.values[goal], child.field
                value = self.changed(var, child) if is_safe(field) else var
                out.append((key, f"None if {var} is None else {value}" if field.null and value != var else value))
        return out

    def is_filled_in(self, row: Row) -> bool:
        """Whether every wire object has the key, so that it is filled in where the node has none."""
        return row.must and row.field.default is not ABSENT and row.field.kind != "constant"

    def store(self, path: Path, value: str) -> None:
        """Put a value into the target, making the objects above it."""
        self.above(path[:-1])
        self.add(f"{self.holders[path[:-1]]}[{path[-1]!r}] = {value}")

    def above(self, path: Path) -> None:
        if path in self.certain:
            return
        var = self.holders[path]
        with self.block(f"if {var} is None:"):
            self.above(path[:-1])
            self.add(f"{var} = {self.holders[path[:-1]]}[{path[-1]!r}] = {{{self.openings[path]}}}")

    def guarded(self, line: str) -> None:
        """A line that may raise; what it recorded before it did is struck out."""
        if self.reads:
            self.add(line)
            return
        self.add("mark = len(x.raw)")
        self.add(f"try: {line}")
        self.add("except FAULTS:")
        self.add("    del x.raw[mark:]; raise")

    def tried(self, row: Row, var: str, goal: Path, refused: str) -> None:
        """Store a value that a codec changes; an object around it is made only if there is a value to put into it."""
        deep = len(goal) > 1
        made = self.var() if deep else f"{self.made}[{goal[0]!r}]"
        self.add(f"try: {made} = {self.changed(var, row)}")
        node = "node" if self.reads else "c"
        self.add(f"except Approximate as near: {made} = near.value; x.approximated({node}, {row.key!r}, near.why)")
        self.add(refused + (f"; {made} = ABSENT" if deep else ""))
        if deep:
            with self.block(f"if {made} is not ABSENT:"):
                self.store(goal, made)


def is_safe(field: Field) -> bool:
    """Whether what is inside a field raises nothing once its type was checked."""
    return field.inner is not None and field.kind not in ("nested", "one")


def branches_of(branch: Branch) -> list[Branch]:
    """The objects below one, innermost first."""
    out = []
    for child in branch.children.values():
        if isinstance(child, Branch):
            out += [*branches_of(child), child]
    return out
