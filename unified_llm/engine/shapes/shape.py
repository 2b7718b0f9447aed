"""A wire object and its canonical node, declared once.

A shape looks like the wire object: `{"id": string("call_id"), "type": "function"}`. From it are derived both
directions, the place of every leaf, the known keys, what is left over, and what a stream delta belongs to. It is
normalized and checked when it is declared, and frozen then. Its functions are compiled when they are first used, once
for each declared shape: no document makes another.

Laws (tests/engine): reading and writing back gives the document; what is changed in the canonical node changes in the
wire object and nothing else does; every key is either understood, kept where it stood, or reported.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..compiler.compile import compiled, source_of
from ..compiler.explain import unread, unwritten
from ..compiler.rows import SPREAD, Branch, Row, key_tree, pointer, roots_of, rows_of, wire_tree
from ..compiler.signals import ABSENT, FAULTS, DeclarationError, Node, Path, is_same

__all__ = ["Family", "Place", "Shape"]

_LOCK = threading.RLock()
_FUNCTIONS = {
    "read": (True, "whole"),
    "write": (False, "whole"),
    "read_flat": (True, "flat"),
    "write_flat": (False, "flat"),
    "read_slot": (True, "slot"),
}


class Place(NamedTuple):
    """Where a canonical node was read from: the path of the wire value, its shape, and the value.

    `kind`: the node is the "whole" of the value, a "part" of it (other nodes were read from it too), or the first item
    of the "turn" that the value is the message of.
    """

    node: Node
    path: tuple[Any, ...]
    shape: Shape | None
    wire: Any
    kind: str = "whole"


class Family(NamedTuple):
    """Nodes that one field holds. `find(number)` gives the place of one of them, maybe others' too; of None, all."""

    nodes: list[Node]
    find: Callable[[int | None], Iterable[Place]]


class Shape:
    """One declared object. `wire` is the declaration, `name` what errors and tracebacks call it.

    `node`: the name of the canonical node in the tables of capabilities (`request`, `usage`, a `type`); `fact`: what
    reading one means; `cannot`: canonical keys that the wire has no place for, and why;
    `natives`: wire keys that have no canonical place, and their capability.

    >>> from unified_llm.engine import Context, Shape, string
    >>> call = Shape({"id": string("call_id"), "function": {"name": string("name")}}, name="call")
    >>> x = Context("demo", "demo")
    >>> node = call.read({"id": "1", "function": {"name": "f", "zz": 0}}, x)
    >>> node
    {'call_id': '1', 'name': 'f', 'extra': {'demo': {'rest': {'function': {'zz': 0}}}}}
    >>> call.write(node, x)
    {'id': '1', 'function': {'name': 'f', 'zz': 0}}
    >>> call.place("name")
    '/function/name'
    """

    read: Any
    write: Any
    read_flat: Any
    write_flat: Any
    read_slot: Any
    rows: tuple[Row, ...]

    def __init__(
        self,
        wire: Mapping[str, Any],
        *,
        name: str,
        node: str = "",
        fact: int = 0,
        cannot: Mapping[str, str] | None = None,
        constants: Mapping[str, Any] | None = None,
        tag: str | None = None,
        is_item: bool = False,
        natives: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.fact = fact
        self.tag = tag
        self.is_item = is_item
        self.is_view = False  # it only locates fields, and is not read or written by itself
        self.declared: dict[str, Any] = dict(wire)
        self.constants: dict[str, Any] = dict(constants or {})
        self.cannot: dict[str, str] = dict(cannot or {})
        self.natives: dict[str, str] = dict(natives or {})
        self.node: str = node or str(self.constants.get("type", ""))
        self.rows, paths = rows_of(wire, self.constants, name)
        self.wire_tree: Branch = wire_tree(self.rows, paths)
        self.key_tree: Branch = key_tree(self.rows)
        self.opaque: dict[str, Path] = {row.field.key: row.wire for row in self.rows if row.field.kind == "opaque"}
        self.leaves: frozenset[Path] = frozenset(row.key for row in self.rows if row.key)
        self.inside: frozenset[tuple[str, ...]] = frozenset(
            key[:depth] for key in self.leaves for depth in range(1, len(key))
        )
        self.roots: frozenset[str] = frozenset(root for row in self.rows if row.wire for root in roots_of(row))
        # Canonical keys of a node that are no leftover. Constants are looked at one by one.
        # Those of a field that is part of the node are known only where it wrote them.
        own = (root for row in self.rows if row.wire and row.field.kind not in SPREAD for root in roots_of(row))
        self.keys: frozenset[str] = frozenset((*own, "type", "turn", *(key[0] for key in self.inside)))
        # The value of a document in place of an optional constant stands.
        self.optional_constants: dict[Path, Any] = {
            row.wire: row.field.default
            for row in self.rows
            if row.field.kind == "constant" and row.wire and not row.must
        }
        self.words: dict[Path, Any] = {row.wire: row.field.words for row in self.rows if row.field.words}
        self.above: Path = ()  # of a case that is part of a node: where its object is in that node's
        for row in self.rows:
            if row.field.kind == "choices":
                self.optional_constants[row.field.inner.bind(row.wire)] = 0
            elif row.field.kind == "flatten":
                row.field.inner.bind(row.wire, self)
        # What is demanded of an object only where there is one.
        self.inner_defaults: tuple[Row, ...] = tuple(
            row
            for row in self.rows
            if row.field.default is not ABSENT
            and row.field.kind != "constant"
            and not all(paths[row.wire[:depth]] for depth in range(1, len(row.wire)))
        )
        self.places: dict[Path, Path] = {
            row.key: row.wire for row in self.rows if row.wire and row.key and not row.field.is_alias
        }
        self.aliases: dict[Path, Path] = {row.wire: self.places[row.key] for row in self.rows if row.field.is_alias}
        inner = [row for row in self.rows if row.field.inner is not None]
        # Where other nodes are, the turns last.
        nodes = [r for r in inner if r.field.kind != "flatten" or any(case.structural for case in r.field.inner.cases)]
        self.structural: tuple[Row, ...] = tuple(sorted(nodes, key=lambda row: row.field.kind in ("turn", "turns")))
        self.spread: tuple[Row, ...] = tuple(row for row in inner if row.field.kind in SPREAD)
        # For the report, made when there is one: where fields are and their capabilities, the same of those of cases
        # that are part of the node, and capabilities by wire key.
        self.told: dict[Path, list[tuple[Path, str, str]]] = {}
        self.told_in: dict[tuple[str, Path], tuple[str, str]] = {}
        self.named: dict[Path, str] = {}
        for key in self.cannot:
            if tuple(key.split(".")) in self.leaves:
                raise DeclarationError(f"shape {name}: cannot[{key!r}] names a key that has a field")
        if sum(1 for row in self.rows if row.field.kind in SPREAD and row.must) > 1:
            raise DeclarationError(f"shape {name}: two fields that have to be there are part of the node around them")

    def __repr__(self) -> str:
        return f"Shape({self.name!r})"

    def __getattr__(self, name: str) -> Any:
        if name not in _FUNCTIONS:
            raise AttributeError(name)
        with _LOCK:
            if name not in self.__dict__:
                self.__dict__[name] = compiled(self, *_FUNCTIONS[name])
        return self.__dict__[name]

    def source(self, direction: str = "read") -> str:
        """The generated Python of one direction: `read`, `write`, or one of the partial forms.

        >>> from unified_llm.engine import Shape, string
        >>> print(Shape({"a": string("b")}, name="demo").source("read"))
        def read_whole_demo(w, x):
            n = len(w) - 1
            v1 = w['a']
            if not (type(v1) is str): raise Mismatch
            r = None
            node = {'b': v1}
            if n: r = unknown(w, known_0, r)
            if r: keep(node, r, x)
            return node
        <BLANKLINE>
        """
        return source_of(self, *_FUNCTIONS[direction])

    def place(self, key: str) -> str | None:
        """The JSON pointer of a canonical key in the wire object; None for a key that has none of its own.

        Of a key that is an object of several fields, the pointer of the wire object that holds them all.
        """
        path = self.path_of(tuple(key.split(".")))
        return None if path is None else pointer(path)

    def path_of(self, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The wire path of a canonical path, or of what is below a leaf (whose value is carried as it is)."""
        for depth in range(len(keys), 0, -1):
            found = self.places.get(keys[:depth])
            if found is not None:
                return (*found, *keys[depth:])
        below = [path for key, path in self.places.items() if key[: len(keys)] == keys]
        if not below:
            return None
        shared = 0
        while all(len(path) > shared and path[shared] == below[0][shared] for path in below):
            shared += 1
        return below[0][:shared] or (below[0] if len(below) == 1 else None)

    def extend(
        self,
        wire: Mapping[str, Any] | None = None,
        *,
        name: str,
        without: tuple[str, ...] = (),
        cannot: Mapping[str, str] | None = None,
    ) -> Shape:
        """A dialect: this shape with fields added or replaced (objects are merged), and without some wire keys.

        >>> from unified_llm.engine import Shape, integer, string
        >>> base = Shape({"a?": string("a"), "b?": {"c?": string("c")}}, name="base")
        >>> dialect = base.extend({"b": {"d?": integer("d")}}, name="base:dialect", without=("a",))
        >>> dialect.place("a"), dialect.place("c"), dialect.place("d")
        (None, '/b/c', '/b/d')
        """
        gone = {key.removesuffix("?") for key in self.declared} & set(without)
        if gone != set(without):
            raise DeclarationError(f"shape {name}: {sorted(set(without) - gone)[0]!r} is not a key of {self.name}")
        merged = {key: value for key, value in self.declared.items() if key.removesuffix("?") not in gone}
        return Shape(
            _merged(merged, wire or {}),
            name=name,
            node=self.node,
            fact=self.fact,
            cannot={**self.cannot, **(cannot or {})},
            constants=self.constants,
            tag=self.tag,
            is_item=self.is_item,
            natives=self.natives,
        )

    def said(self, path: Path) -> Any:
        """A copy of the optional constant at a wire path."""
        return copy.deepcopy(self.optional_constants[path])

    # ---- the general path ------------------------------------------------------------------------------------------

    def read_or_explain(self, w: Any, x: Any) -> Node:
        """Read a document. Raises `Mismatch` with path and reason, which the compiled function does not have."""
        if type(w) is dict:
            try:
                node: Node = self.read(w, x)
                return node
            except FAULTS:
                pass
        raise unread(self, w, x)

    def write_or_explain(self, c: Node, x: Any) -> Node:
        """Write a node. Raises `Mismatch` with the canonical key that is missing; nothing is recorded then."""
        try:
            wire: Node = self.write(c, x)
            return wire
        except FAULTS:
            raise unwritten(self, c, x) from None

    def matches_wire(self, w: Node) -> bool:
        """Whether a wire object has the constants of this case, and the keys that have to be there."""
        for row in self.rows:
            if row.must and row.wire:
                value = _at(w, row.wire)
                if value is None or (row.field.types and type(value) not in row.field.types):
                    return False
                if row.field.kind == "constant" and not row.field.is_word(value):
                    return False
        return True

    def matches(self, c: Node, flat: bool = False) -> bool:
        """Whether a canonical node has the constants of this case (and, if it is part of a node, its fields)."""
        for row in self.rows:
            if not row.wire:
                if row.key != ("type",) and not is_same(_at(c, row.key), row.field.default):
                    return False
            elif flat and row.must and row.key and row.field.kind != "opaque" and _at(c, row.key) is None:
                return False
        return True


def _at(c: Any, path: Path) -> Any:
    for key in path:
        c = c.get(key) if type(c) is dict else None
    return c


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(old)
    for key, value in new.items():
        bare = key.removesuffix("?")
        was = next((each for each in (bare, f"{bare}?") if each in out), None)
        if was is not None and type(out[was]) is dict and type(value) is dict:
            out[was] = _merged(out[was], value)
        else:
            if was is not None:
                del out[was]
            out[key] = value
    return out
