"""Old and foreign spellings: draft 4 to 7, OpenAPI 3.0, upper-case types, and values that are not schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .merge import as_types
from .values import const_as_enum
from .vocabulary import COUNTS, KINDS, SHAPES

if TYPE_CHECKING:
    from .lowering import Schema
    from .rewrite import Node

__all__ = ["account_for_null", "spell"]


def spell(node: Node) -> None:
    """Old and foreign spellings, and values that are not schemas."""
    for key in list(node.v):
        value, shapes = node.v[key], SHAPES.get(key)
        if value is None and key in SHAPES:
            del node.v[key]
        elif key in COUNTS and type(value) is str and value.isdecimal() and len(value) < 19:
            if not node.profile.string_counts:
                node.v[key] = int(value)
        elif shapes and type(value) not in shapes:
            del node.v[key]
            node.lost(key, f"not a value of {key}")
    if "type" in node.v:
        _types(node)
    if "nullable" in node.v and not node.profile.nullable:
        _unfold_nullable(node)
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if type(node.v.get(exclusive)) is bool:  # draft 4
            if node.v[exclusive] and bound in node.v:
                del node.v[exclusive]
                node.rename(bound, exclusive, node.v[bound])
            else:
                del node.v[exclusive]
                node.approximated(exclusive, "no effect, left out")
    if type(node.v.get("items")) is list:  # draft 4 to 7
        node.rename("items", "prefixItems", node.v["items"])
        if "additionalItems" in node.v:
            node.rename("additionalItems", "items", node.v["additionalItems"])


def _types(node: Node) -> None:
    value = node.v["type"]
    kinds: list[str] = []
    for index, name in enumerate(value if type(value) is list else [value]):
        kind = name.lower() if type(name) is str else ""
        if kind in KINDS and kind not in kinds:
            kinds.append(kind)
        else:
            inside = type(value) is list and kind not in kinds
            place = node.inner("type", index) if inside else node.place("type")
            node.walk.note(place, "type", "lost", "duplicate" if kind in kinds else "not a type")
    if not kinds:
        del node.v["type"]
        if value == []:
            node.lost("type", "empty")
    elif type(value) is list and len(kinds) == 1 and not node.profile.type_lists:
        node.v["type"] = kinds[0]
    else:
        node.v["type"] = kinds if type(value) is list else kinds[0]


def _unfold_nullable(node: Node) -> None:
    """`nullable: true` of OpenAPI 3.0, for a target that has null as a type."""
    if not node.v.pop("nullable"):
        node.approximated("nullable", "no effect, left out")
        return
    if node.root:
        node.lost("nullable", "the root is an object")
        return
    before = dict(node.v)
    twice = "null" in node.kinds()
    _add_null(node)
    if twice or node.v == before:
        for key in ("nullable", *(["type"] if twice else [])):
            node.approximated(key, "null is there already, or has no place")


def _add_null(node: Node) -> None:
    union = next((key for key in ("anyOf", "oneOf") if key in node.v), None)
    if "const" in node.v:
        const_as_enum(node)
    if "enum" in node.v and None not in node.v["enum"]:
        node.v["enum"] = [*node.v["enum"], None]
    if node.kinds():
        if "null" not in node.kinds():
            node.set_kinds([*node.kinds(), "null"])
        if union is None:
            return
    if union is not None:
        if not any(type(branch) is dict and branch.get("type") == "null" for branch in node.v[union]):
            branches = [*node.v[union], {"type": "null"}]
            places = {index: node.inner(union, index) for index in range(len(branches) - 1)}
            node.v[union] = node.walk.origins.fresh(branches, {**places, len(places): node.place("nullable")})
    elif "$ref" in node.v:
        ref = node.walk.origins.fresh({"$ref": node.v["$ref"]}, {"$ref": node.place("$ref")})
        node.walk.references.stands_for(ref, node.flat)
        branches = node.walk.origins.fresh([ref, {"type": "null"}], {0: node.at, 1: node.place("nullable")})
        node.rename("$ref", "anyOf", branches)


def account_for_null(node: Node, out: Schema) -> None:
    """Note a `nullable: true` that is missing in each of its spellings."""
    if node.flat.get("nullable") is not True or "nullable" in out or node.root:
        return
    said = "null" in as_types(out.get("type")) or None in out.get("enum", ())
    branches: Any = out.get("anyOf", out.get("oneOf", ()))
    if not said and not any(type(b) is dict and as_types(b.get("type")) == ["null"] for b in branches):
        node.lost("nullable", "nothing that null could be added to")
