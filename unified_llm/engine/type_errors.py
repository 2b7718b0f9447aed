"""What a reader could not take for what its type promises: found after reading, for callers of objects.

Converting is lenient: an ill-typed value stays with its protocol, without an error. A caller that reads a document as
objects is reported: which node, where in the document, and why. Nothing here runs in a conversion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..foundation.json_paths import at
from ..losses.locator import Finder
from ..types._tables import JSON_TYPES
from .adapter import Adapter
from .compiler.rows import Row
from .pairs.mapping import NATIVE, Mapping, json_types
from .pairs.reading import Reader
from .pairs.writing import Writer

__all__ = ["Misfit", "misfits"]

Node = dict[str, Any]
_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "a boolean", list: "a list", dict: "an object"}


class Misfit(NamedTuple):
    """A canonical node with something ill-typed: `path` in the caller's document, `key` of the node, `reason`."""

    node: Node
    path: tuple[Any, ...]
    key: str
    reason: str


def misfits(root: Any, name: str, reader: Reader) -> list[Misfit]:
    """Every ill-typed value of a document that was just read; `name` is the canonical kind of its root.

    And the reader's own entries, path and reason in `context["misfits"]`: what is missing is of no type.
    """
    adapter = reader.adapter
    finder = Finder(root, None, Writer(adapter), reader, None, adapter, name, ())
    told = [Misfit(root, path, "", reason) for path, reason in reader.context.get("misfits", ())]
    return told + [
        Misfit(node, finder._source(node, ()) + ((key,) if key else ()), key, reason)
        for node in _nodes(root)
        for key, reason in _problems(node, node is root, name, reader.protocol, adapter)
    ]


def _nodes(root: Any) -> Iterator[Node]:
    stack = [root]
    while stack:
        here = stack.pop()
        if type(here) is list:
            stack.extend(reversed(here))
        elif type(here) is dict:
            yield here
            stack.extend(value for key, value in reversed(here.items()) if key != "extra")


def _problems(node: Node, is_root: bool, name: str, protocol: str, adapter: Adapter) -> Iterator[tuple[str, str]]:
    extra = node.get("extra")
    drawer = extra.get(protocol) if type(extra) is dict else None
    if type(drawer) is not dict or "rest" not in drawer:
        return
    rest = drawer["rest"]
    family = (drawer.get("form") or {}).get("native")
    if family:
        if node.get("type") == NATIVE and (type(rest) is not dict or _is_known(rest, family, adapter)):
            yield "", "not an object" if type(rest) is not dict else "not what its type promises"
        return
    kind = name if is_root else node.get("type")
    if type(rest) is not dict or type(kind) is not str or kind not in JSON_TYPES:
        return
    declared = json_types(kind)
    table = adapter.settings.get(kind) if is_root else None
    for key, value in rest.items():
        if value is None:
            continue
        if table is not None and key in table.wire_keys:
            yield key, f"{_NAMES[type(value)]} is not what it takes"
        elif key in declared and key not in node and type(value) not in declared[key]:
            yield key, _wanted(value, declared[key])
    for row in _rows(kind, adapter):
        value = at(rest, row.wire)
        if value is not None and row.field.types and type(value) not in row.field.types:
            if len(row.wire) > 1 or row.wire != row.key:
                yield row.wire[0], " is ".join((*row.wire[1:], _wanted(value, row.field.types)))


def _wanted(value: Any, types: Iterable[type]) -> str:
    wanted = " or ".join(sorted(_NAMES[type_] for type_ in types if type_ in _NAMES))
    return f"{_NAMES[type(value)]}, should be {wanted}"


def _rows(kind: str, adapter: Adapter) -> Iterator[Row]:
    """The fields of the shapes that read as a canonical type."""
    for family in adapter.mappings:
        for shape, _ in family.cases.by_type.get(kind, ()) if family.cases is not None else ():
            yield from (row for row in shape.rows if row.wire)


def _is_known(wire: Node, family: str, adapter: Adapter) -> bool:
    """Whether the family reads nodes of this kind, or could not determine what kind this is."""
    mappings: list[Mapping] = [mapping for mapping in adapter.mappings if mapping.name == family]
    kinds = [(wire.get(mapping.tag, mapping.default), mapping) for mapping in mappings]
    return not kinds or any(
        type(kind) is not str or kind in mapping.reads or kind in mapping.same_keys for kind, mapping in kinds
    )
