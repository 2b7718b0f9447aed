"""The meaning of a shape, step by step: what compiled functions, and the reasons of refusals, have to agree with."""

from __future__ import annotations

import copy
from typing import Any

from unified_llm.engine import Shape
from unified_llm.engine.compiler.rows import SPREAD, Branch, Row
from unified_llm.engine.compiler.runtime import (
    demand,
    drawers,
    finish,
    keep,
    left,
    opaque_in,
    opaque_of,
    opaque_out,
    reach,
    spell,
)
from unified_llm.engine.compiler.signals import ABSENT, FAULTS, Approximate, Mismatch, Node, Path, is_same

__all__ = ["read", "read_flat", "read_slot", "write", "write_flat"]


# ---- reading ---------------------------------------------------------------------------------------------------------


def read(shape: Shape, w: Any, x: Any) -> Node:
    """The canonical node of a wire object. Raises `Mismatch` for one that is not of this shape."""
    node: Node = {}
    rest = read_flat(shape, w, x, node)
    if rest:
        keep(node, rest, x)
    return node


def read_flat(shape: Shape, w: Any, x: Any, node: Node) -> Node | None:
    """Read into a node that others fill too; what is left over is given back."""
    rest = _read(shape, w, x, node)
    return rest or None


def read_slot(shape: Shape, w: Any, x: Any) -> tuple[Node, int]:
    """Read a node of some keys of an object; the number of keys that are not of this shape."""
    node: Node = {}
    rest = _read(shape, w, x, node)
    known = {key: value for key, value in rest.items() if key in shape.wire_tree.children}
    if known:
        keep(node, known, x)
    return node, len(rest) - len(known)


def _read(shape: Shape, w: Any, x: Any, node: Node) -> Node:
    if type(w) is not dict:
        raise Mismatch((), "is not an object")
    _demand(shape.wire_tree, w, shape.tag)
    for row in shape.rows:
        if not row.wire:
            reach(node, row.key[:-1])[row.key[-1]] = copy.deepcopy(row.field.default)
    rest = _read_object(shape.wire_tree, w, node, x, shape.above)
    x.flags |= shape.fact
    return rest


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
                raise Mismatch((), f"is {_json(value)}, not {_names(child.field.types)}")
        except Mismatch as error:
            raise Mismatch((key, *error.path), error.reason) from None


def _read_object(branch: Branch, w: Node, node: Node, x: Any, above: Path) -> Node:
    """Fill the node; what is left over is given back."""
    rest: Node = {}
    late: list[tuple[str, Row]] = []
    for key, child in branch.children.items():
        if key not in w:
            if isinstance(child, Row) and child.field.kind == "constant" and child.field.written and x.own:
                spell(node, "/".join(above + child.wire), "absent", x)
            continue
        value = w[key]
        if isinstance(child, Branch):
            known = type(value) is dict and (value or child.must)
            inner = _read_object(child, value, node, x, above) if known else value
            if inner or not known:
                rest[key] = inner
        elif child.field.is_alias:
            late.append((key, child))
        elif not _read_leaf(key, child, value, node, x, rest, above):
            rest[key] = value
    for key, row in late:
        if _has(node, row.key) or not _read_leaf(key, row, w[key], node, x, rest, above):
            rest[key] = w[key]
        else:
            spell(node, "/".join(above + row.wire), "alias", x)
    rest.update({key: value for key, value in w.items() if key not in branch.children})
    return rest


def _read_leaf(key: str, row: Row, value: Any, node: Node, x: Any, rest: Node, above: Path) -> bool:
    """Whether the value was understood; what is left over inside it goes to `rest`."""
    field = row.field
    if field.kind == "constant":
        where = "/".join(above + row.wire)
        if field.words and type(value) is str and value in field.words:
            spell(node, where, f"word:{value}", x)
        elif row.must:
            return True
        elif not is_same(value, field.default):
            return False
        elif not field.written or (x.own and len(above + row.wire) > 1):
            spell(node, where, "said", x)
        return True
    if field.kind == "opaque":
        if type(value) is not str or not (value or row.must):
            return False
        opaque_in(node, field.key, value, x)
        return True
    if field.fact and value:
        x.flags |= field.fact
    if field.null and value is None:
        reach(node, row.key[:-1])[row.key[-1]] = None
        return True
    if not _is_typed(value, row, field.types):
        return False
    if field.kind in SPREAD:
        more = field.inner.read_flat(value, x, node)
        if row.must and field.kind == "flatten" and more is value:
            raise Mismatch(row.wire, "is of no known case")
        if more is not None:
            rest[key] = more
        return True
    try:
        found = field.read(value, x) if field.read is not None else value
    except Approximate as near:
        found = near.value
        x.approximated(node, row.key, near.why)
    except FAULTS as error:
        if row.must:
            raise Mismatch(row.wire, getattr(error, "reason", "has an unexpected value")) from None
        return False
    reach(node, row.key[:-1])[row.key[-1]] = found
    for word in value if type(value) is list else [value]:
        if field.words and word in field.words:
            spell(node, "/".join(above + row.wire), f"word:{word}", x)
    return True


# ---- writing ---------------------------------------------------------------------------------------------------------


def write(shape: Shape, c: Node, x: Any) -> Node:
    """The wire object of a canonical node. Raises `Mismatch`, and records nothing, where it cannot be one."""
    wire, done = _write(shape, c, x)
    wire = finish(c, wire, shape, x, done)
    if x.trace is not None:
        x.trace.append((c, wire))
    return wire


def write_flat(shape: Shape, c: Node, x: Any) -> tuple[Node, tuple[str, ...]]:
    """Write some keys of a node that others write too; and which keys those were."""
    wire, _ = _write(shape, c, x)
    return wire, tuple(sorted(root for root in shape.roots if root in c))


def _write(shape: Shape, c: Node, x: Any) -> tuple[Node, tuple[str, ...]]:
    mark = len(x.raw)
    try:
        return _written(shape, c, x)
    except Mismatch:
        del x.raw[mark:]
        raise


def _written(shape: Shape, c: Node, x: Any) -> tuple[Node, tuple[str, ...]]:
    wire: Node = {}
    done: tuple[str, ...] = ()
    _open(shape.wire_tree, wire)
    for row in shape.rows:
        if row.field.kind == "opaque" and row.must:
            try:
                opaque_of(c, row.field.key, x)
            except FAULTS:
                raise Mismatch(("opaque",), f"holds no {row.field.key} of {x.target}") from None
        elif row.field.kind in SPREAD:
            try:
                out, used = row.field.inner.write_flat(c, x)
            except FAULTS:
                raise Mismatch((), f"has nothing to write at /{'/'.join(row.wire)}") from None
            if out is not ABSENT:
                reach(wire, row.wire[:-1])[row.wire[-1]] = out
                done += used
            elif row.must and not _is_kept(c, row.wire, x):
                raise Mismatch((), f"has nothing to write at /{'/'.join(row.wire)}")
    _write_object(shape, shape.key_tree, c, c, wire, x)
    if "opaque" in c and shape.opaque:
        opaque_out(c, wire, shape, x)
        done += ("opaque",)
    _close(shape.wire_tree, wire)
    if shape.inner_defaults and not x.own:
        demand(wire, shape, x)
    return wire, done


def _is_kept(c: Node, path: tuple[str, ...], x: Any) -> bool:
    """Whether the target's own leftovers have a value for a field."""
    return any(protocol == x.target and _has(kept.get("rest"), path) for protocol, kept in drawers(c))


def _open(branch: Branch, wire: Node) -> None:
    """Constants, and objects that have to be there."""
    for key, child in branch.children.items():
        if isinstance(child, Branch):
            if child.must:
                _open(child, wire.setdefault(key, {}))
        elif child.field.kind == "constant" and child.field.written:
            wire[key] = copy.deepcopy(child.field.default)


def _close(branch: Branch, wire: Node) -> None:
    """Constants of the objects that came to be."""
    for key, child in branch.children.items():
        if isinstance(child, Branch) and type(wire.get(key)) is dict:
            _close(child, wire[key])
            for name, leaf in child.children.items():
                if isinstance(leaf, Row) and leaf.field.kind == "constant" and leaf.field.written:
                    wire[key].setdefault(name, copy.deepcopy(leaf.field.default))


def _write_object(shape: Shape, branch: Branch, got: Node, c: Node, wire: Node, x: Any) -> None:
    for key, child in branch.children.items():
        if isinstance(child, Branch):
            value = got.get(key)
            if type(value) is dict:
                _write_object(shape, child, value, c, wire, x)
                left(c, value, child.path, shape, x)
                continue
            if child.must:
                raise Mismatch(child.path, "is missing" if key not in got else "is not an object")
            if key in got:
                left(c, value, child.path, shape, x)
            _defaults(shape, child, wire, x)
        elif child.wire:
            _write_leaf(shape, child, got, c, wire, x)


def _defaults(shape: Shape, branch: Branch, wire: Node, x: Any) -> None:
    for child in branch.children.values():
        if isinstance(child, Branch):
            _defaults(shape, child, wire, x)
        else:
            _default(shape, child, wire, x)


def _default(shape: Shape, row: Row, wire: Node, x: Any) -> None:
    if row.field.default is ABSENT or row.field.kind == "constant" or row in shape.inner_defaults:
        return
    if x.own and not row.must:
        return
    out, key = reach(wire, row.wire[:-1]), row.wire[-1]
    if key not in out:
        out[key] = copy.deepcopy(row.field.default)
        if row.field.default is not None:
            x.added(out, key, row.field.why, (shape.node, row.key))


def _write_leaf(shape: Shape, row: Row, got: Node, c: Node, wire: Node, x: Any) -> None:
    field, key = row.field, row.key[-1]
    must = row.must and field.default is ABSENT
    if key not in got:
        if must:
            raise Mismatch(row.key, "is missing")
    elif field.null and got[key] is None:
        if x.own or must:
            reach(wire, row.wire[:-1])[row.wire[-1]] = None
    elif not _is_typed(got[key], row, field.canonical):
        if must:
            raise Mismatch(row.key, f"is {_json(got[key])}")
        x.lost(c, row.key)
    else:
        try:
            value = field.write(got[key], x) if field.write is not None else got[key]
        except Approximate as near:
            reach(wire, row.wire[:-1])[row.wire[-1]] = near.value
            x.approximated(c, row.key, near.why)
        except FAULTS as fault:
            why = getattr(fault, "why", "")
            if must:
                raise Mismatch(row.key, why or "has no form in the target") from None
            x.lost(c, row.key, why)
        else:
            if value != [] or x.own or not field.is_filled:
                reach(wire, row.wire[:-1])[row.wire[-1]] = value
    _default(shape, row, wire, x)


def _is_typed(value: Any, row: Row, types: tuple[type, ...]) -> bool:
    if value is None and row.field.null:
        return True
    return type(value) in types if types else value is not None


def _has(c: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if type(c) is not dict or key not in c:
            return False
        c = c[key]
    return True


_JSON: dict[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
_JSON |= {int: "a whole number", float: "a number"}


def _json(value: Any) -> str:
    return _JSON.get(type(value), "null")


def _names(types: tuple[type, ...]) -> str:
    """The JSON types that a field takes."""
    return " or ".join(_JSON[each] for each in types if each is not int or float not in types) or "a value"
