"""Two-way tables for settings: a rename, an enum or a unit, declared once and used in both directions.

A wire key whose value has an unexpected JSON type is not taken: it stays with its protocol and is reported to the
others. A value that does not come back from the wire as itself is an approximation, found by the table, not by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .mapping import Bimap, IllTyped, Owned, take
from .writing import Writer

__all__ = ["Field", "Table"]

Node = dict[str, Any]

_PYTHON = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


class Field(NamedTuple):
    """One setting: its wire key, its canonical key (dotted one level deep; the same by default), and how values change.

    `values` is a `Bimap`; `read` and `write` are functions of one value that may raise `IllTyped`.
    """

    wire: str
    canonical: str = ""
    values: Bimap | None = None
    read: Callable[[Any], Any] | None = None
    write: Callable[[Any], Any] | None = None

    @property
    def path(self) -> str:
        """The canonical key, or the wire key where the field has none."""
        return self.canonical or self.wire


class Table:
    """The settings of one wire object, e.g. the request beside its messages and tools.

    `node` names the canonical object they live on; its declared JSON types guard what is read.
    """

    def __init__(self, node: str, *fields: Field) -> None:
        from ...types._tables import JSON_TYPES

        declared = JSON_TYPES.get(node, {})
        self.node = node
        self.fields = fields
        self._reads: dict[str, tuple[str, str, Any, frozenset[type] | None]] = {}
        self._flat: dict[str, Field] = {}
        self._deep: dict[str, dict[str, Field]] = {}
        for field in fields:
            group, _, key = field.path.rpartition(".")
            types = None
            if field.read is None and not group and key in declared:
                types = frozenset(_PYTHON[name] for name in declared[key])
            if field.wire not in self._reads:
                self._reads[field.wire] = (
                    group,
                    key,
                    field.read or (field.values.read if field.values else None),
                    types,
                )
            home = self._deep.setdefault(group, {}) if group else self._flat
            home.setdefault(key, field)

    @property
    def wire_keys(self) -> frozenset[str]:
        """The wire keys this table reads."""
        return frozenset(self._reads)

    @property
    def flat(self) -> dict[str, str]:
        """The wire keys of the settings that are a canonical key of their own, by that."""
        return {key: field.wire for key, field in self._flat.items() if key not in self._deep}

    def wire_key(self, keys: tuple[Any, ...]) -> str | None:
        """The wire key behind a canonical path, for locating a loss."""
        if not keys:
            return None
        field = self._flat.get(keys[0])
        if field is None and len(keys) > 1:
            field = self._deep.get(keys[0], {}).get(keys[1])
        return field.wire if field else None

    def canonical_key(self, wire: str) -> str | None:
        """The first canonical key (of the outer object) behind a wire key, for naming what was added."""
        entry = self._reads.get(wire)
        return (entry[0] or entry[1]) if entry is not None else None

    def below(self, key: str) -> tuple[tuple[str, str], ...]:
        """The canonical paths of the settings that this table gathers under one canonical key."""
        return tuple((key, inner) for inner in self._deep.get(key, ()))

    def read(self, wire: Node, node: Node) -> None:
        """Move every setting of this table from `wire` to `node`."""
        for name in tuple(wire):
            entry = self._reads.get(name)
            if entry is None:
                continue
            group, key, convert, types = entry
            value = wire[name]
            if types is not None and type(value) not in types:
                continue
            if convert is not None and value is not None:
                try:
                    value = convert(value)
                except (IllTyped, TypeError, KeyError, AttributeError):
                    continue
            if group:
                node.setdefault(group, {})[key] = value
            else:
                node[key] = value
            del wire[name]

    def write(self, node: Node, wire: Node, writer: Writer, original: Node) -> None:
        """Move every setting of this table from `node` (the copy being consumed of `original`) to `wire`."""
        crosses = writer.crosses
        for key in tuple(node):
            field = self._flat.get(key)
            if field is not None:
                if node[key] is None:
                    del node[key]
                    if not crosses:
                        wire[field.wire] = None
                elif field.values is None and field.write is None:
                    wire[field.wire] = node.pop(key)
                else:
                    self._write_one(field, node, key, wire, writer, original, (key,))
            elif key in self._deep and type(node[key]) in (dict, Owned):
                group = node[key] if type(node[key]) is Owned else take(node, key)
                fields = self._deep[key]
                for inner in tuple(group):
                    if inner in fields:
                        self._write_one(fields[inner], group, inner, wire, writer, original, (key, inner))

    def _write_one(
        self, field: Field, node: Node, key: str, wire: Node, writer: Writer, original: Node, keys: tuple[str, ...]
    ) -> None:
        value = node[key]
        if value is None and writer.crosses:
            del node[key]
            return
        if value is not None:
            if field.values is not None:
                written = field.values.write(value)
                if field.values.read(written) != value:
                    writer.report(original, keys, "approximated", f"sent as {written!r}")
                value = written
            elif field.write is not None:
                try:
                    value = field.write(value)
                except (IllTyped, TypeError, KeyError, AttributeError):
                    return
        wire[field.wire] = value
        del node[key]
