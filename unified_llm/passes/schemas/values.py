"""Constants, types and bounds: what a value is, apart from what is inside it.

Enums that the target has no place for keep their type and go into words, never into strings: a stringified enum comes
back as a string the tool does not expect.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .vocabulary import OF_KIND, TYPED, kind_of

if TYPE_CHECKING:
    from .lowering import Schema
    from .rewrite import Node

__all__ = ["const_as_enum", "constants", "numbers", "types"]


def constants(node: Node) -> None:
    """`const` and `enum`, which many targets have for strings only."""
    v, profile = node.v, node.profile
    if "const" in v and not profile.accepts("const"):
        value = v["const"]
        if profile.accepts("enum"):
            const_as_enum(node)
            v = node.v
        else:
            _type_from(node, [value])
            node.drop("const")
            return
    elif "const" in v and profile.type_required:
        _type_from(node, [v["const"]])
    if "enum" not in v:
        return
    values = v["enum"]
    if not values:
        node.drop("enum", label="enum")
        return
    kinds = list(dict.fromkeys(map(kind_of, values)))
    allowed = profile.enum_types
    if allowed is not None and "null" in kinds and "null" not in allowed and _null_apart(node, values):
        if "enum" not in node.v:
            return
        values = node.v["enum"]
        kinds = [kind for kind in kinds if kind != "null"]
    count = len(values) + profile.all_required  # one more may be needed for null
    limit = profile.max_enum_values
    refused = allowed is not None and not {"number" if k == "integer" else k for k in kinds} <= allowed
    if not profile.accepts("enum") or refused or (limit is not None and node.walk.enum_values + count > limit):
        _type_from(node, values)
        node.drop("enum")
    else:
        node.walk.enum_values += count
        if profile.type_required:
            _type_from(node, values)


def const_as_enum(node: Node) -> None:
    """Replace `const` by an `enum` of one value."""
    if "enum" in node.v:
        node.approximated("enum", "const is more specific")
        node.approximated("const", "as enum, in place of the other one")
    node.rename("const", "enum", [node.v["const"]])


def _null_apart(node: Node, values: list[Any]) -> bool:
    """Take null out of an enum where it can be expressed beside it; whether it could."""
    kinds, others = node.kinds(), [value for value in values if value is not None]
    if not others:
        return False
    if kinds and "null" not in kinds and not node.v.get("nullable"):
        node.approximated("enum", "null, which the type excludes, left out")
    elif node.profile.nullable:
        node.v["nullable"] = True
    elif node.profile.null_type and node.profile.accepts("anyOf") and "anyOf" not in node.v:
        rest: Schema = {"enum": others}
        kinds = [kind for kind in kinds if kind != "null"]
        if kinds:
            rest = {"type": kinds[0] if len(kinds) == 1 else kinds, **rest}
        place = node.place("enum")
        spots = {"type": node.place("type"), "enum": place}
        branches = [node.walk.origins.fresh(rest, spots), node.walk.origins.fresh({"type": "null"}, {"type": place})]
        node.rename("enum", "anyOf", node.walk.origins.fresh(branches, {0: node.at, 1: place}))
        node.v.pop("type", None)
        return True
    else:
        return False
    node.v["enum"] = others
    return True


def _type_from(node: Node, values: list[Any]) -> None:
    """Name the types that the values have, where no type is named."""
    if node.v.keys().isdisjoint(("type", "$ref", "anyOf", "oneOf", "allOf")) and values:
        kinds = dict.fromkeys(map(kind_of, values))
        if "number" in kinds:
            kinds.pop("integer", None)
        node.approximated("type", "by its values")
        node.set_kinds(list(kinds))


def types(node: Node) -> None:
    """Lists of types, null, and types that are missing."""
    profile = node.profile
    kinds = node.kinds()
    if "null" in kinds and (kinds != ["null"] or not profile.null_type):
        if profile.nullable or not profile.null_type:
            kinds.remove("null")
            if profile.nullable:
                node.v["nullable"] = True
            if not kinds or not profile.nullable:
                node.approximated("type", "null has no form", narrows=not profile.nullable)
            node.set_kinds(kinds or ["string"])
            kinds = node.kinds()
    if len(kinds) > 1 and not profile.type_lists:
        if "integer" in kinds and "number" in kinds:
            node.approximated("type", "every integer is a number")
            kinds.remove("integer")
        if len(kinds) == 1:
            node.set_kinds(kinds)
        elif profile.accepts("anyOf") and "anyOf" not in node.v and "oneOf" not in node.v:
            _split(node, kinds)
        elif "anyOf" in node.v or "oneOf" in node.v or not profile.type_required:
            node.lost("type", "a list of types is not accepted")
            del node.v["type"]
        else:
            node.lost("type", f"a list of types is not accepted, {kinds[0]} was kept", narrows=True)
            node.set_kinds(kinds[:1])
    if profile.type_required and node.v.keys().isdisjoint(("type", "anyOf", "oneOf", "$ref", "allOf")):
        _guess(node)
    if profile.typed_keywords and node.kinds():
        fitting = frozenset[str]().union(*(OF_KIND[kind] for kind in node.kinds()))
        for key in [key for key in node.v if key in TYPED and key not in fitting]:
            node.lost(key, f"not of type {' or '.join(node.kinds())}")
            del node.v[key]


def _split(node: Node, kinds: list[str]) -> None:
    """A list of types as a union: each type with the keywords that apply to it."""
    origins, values = node.walk.origins, node.v.get("enum")
    branches: list[Schema] = []
    for kind in kinds:
        own = {key: node.v[key] for key in node.v if key in OF_KIND[kind]}
        if values is not None:
            own["enum"] = [value for value in values if _fits(value, kind)]
            if not own["enum"]:
                continue
        spots = {key: node.place(key) for key in ("type", *own)}
        branches.append(origins.fresh({"type": kind, **own}, spots))
    if values is not None:
        # They are counted again in the branches.
        node.walk.enum_values -= len(values) + node.profile.all_required
        if sum(len(branch["enum"]) for branch in branches) < len(values):
            node.approximated("enum", "values of other types left out")
    for key in sorted(node.v.keys() & TYPED - {key for branch in branches for key in branch}):
        node.lost(key, f"not of type {' or '.join(kinds)}")
    if branches:
        node.rename("type", "anyOf", origins.fresh(branches, dict.fromkeys(range(len(branches)), node.at)))
        node.v = {key: value for key, value in node.v.items() if key not in TYPED and key != "enum"}
    else:
        node.lost("type", "no value of the enum has it")
        node.v = {key: value for key, value in node.v.items() if key not in ("type", "enum")}


def _guess(node: Node) -> None:
    """A type where the target demands one: by the keywords, else any scalar."""
    for kind in ("object", "array", "string", "number"):
        if not node.v.keys().isdisjoint(OF_KIND[kind]):
            node.approximated("type", f"{kind}, by its keywords", narrows=True)
            node.set_kinds([kind])
            return
    node.approximated("type", "any value, written as the scalar types", narrows=True)
    if not node.profile.accepts("anyOf"):
        node.set_kinds(["string"])
        return
    kinds = ["string", "number", "boolean"]
    if node.profile.nullable:
        node.v["nullable"] = True
    elif node.profile.null_type:
        kinds.append("null")
    node.v["anyOf"] = [{"type": kind} for kind in kinds]


def numbers(node: Node) -> None:
    """Exclusive bounds: inclusive ones of integers, words for other numbers."""
    kinds = node.kinds()
    for exclusive, bound, stricter in (("exclusiveMinimum", "minimum", max), ("exclusiveMaximum", "maximum", min)):
        if exclusive not in node.v or node.profile.accepts(exclusive):
            continue
        limit = node.v[exclusive]
        whole = "integer" in kinds and "number" not in kinds
        if not whole or not node.profile.accepts(bound) or (type(limit) is float and not math.isfinite(limit)):
            node.drop(exclusive)
            continue
        inclusive = math.floor(limit) + 1 if bound == "minimum" else math.ceil(limit) - 1
        if bound in node.v:
            tight = stricter(inclusive, node.v[bound])
            for key in (exclusive, bound):
                node.approximated(key, "the stricter of the two")
            del node.v[exclusive]
            node.v[bound] = tight
        else:
            if limit != int(limit):
                node.approximated(exclusive, f"{bound} {inclusive}")
            node.rename(exclusive, bound, inclusive)


def _fits(value: Any, kind: str) -> bool:
    found = kind_of(value)
    return found == kind or (found == "integer" and kind == "number") or (
        kind == "integer" and found == "number" and value == math.floor(value)
    )  # fmt: skip
