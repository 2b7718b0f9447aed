"""`anyOf` and `oneOf`: null taken out, constants gathered, branches lowered; what is done where there are no unions.

A union may only get wider. `oneOf` with a branch that was relaxed could match twice where it matched once, so it
becomes `anyOf`; objects that are merged because the target has no union there are the one place where it narrows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .merge import as_types, same_as
from .refs import Keys

if TYPE_CHECKING:
    from .lowering import Lowering, Schema
    from .rewrite import Node

__all__ = ["can_be_object", "lower_unions", "settle_unions"]

UNIONS = ("anyOf", "oneOf")
LITERAL = frozenset({"const", "enum", "type"})


def settle_unions(node: Node) -> Any:
    """Turn unions into what they are short for. Not None: the whole node was started over, and this is the result."""
    for key in UNIONS:
        if key not in node.v:
            continue
        if not node.v[key]:
            node.lost(key, "empty")
            del node.v[key]
            continue
        if node.profile.closed_objects and not node.root and ("properties" in node.v or "object" in node.kinds()):
            node.drop(key)  # no value could meet two closed objects
            continue
        _without_impossible(node, key)
        lone = _null_apart(node, key)
        if lone:
            return node.again(*lone)
        if key in node.v:
            _gather_constants(node, key)
        if key not in node.v:
            continue
        if node.root and node.profile.root_object:
            return _one_object(node, key)
        if not any(node.profile.accepts(name) for name in UNIONS):
            return _without_union(node, key)
    return None


def lower_unions(node: Node) -> None:
    """Lower the branches, and write `oneOf` as `anyOf` where it is not accepted or no longer exclusive."""
    profile, walk = node.profile, node.walk
    for key in UNIONS:
        if key not in node.v:
            continue
        branches, before = node.v[key], walk.mark()
        made = [node.child(branch, node.inner(key, i), deeper=False) for i, branch in enumerate(branches)]
        same_as_before = all(new is old for new, old in zip(made, branches))
        other = "anyOf" if key == "oneOf" else "oneOf"
        if profile.accepts(key) and (same_as_before or key == "anyOf"):
            node.v[key] = branches if same_as_before else made
        elif profile.accepts(other) and other not in node.v and (other == "anyOf" or len(branches) == 1):
            node.approximated(key, f"as {other}")
            node.rename(key, other, made)
            return
        else:  # an anyOf that became exclusive would be narrower
            walk.back_to(before)
            node.drop(key)


def _branches(node: Node, key: str, keep: list[int]) -> None:
    """Keep these branches of a union."""
    kept = [node.v[key][index] for index in keep]
    node.v[key] = node.walk.origins.fresh(kept, {new: node.inner(key, old) for new, old in enumerate(keep)})


def _without_impossible(node: Node, key: str) -> None:
    keep = [index for index, branch in enumerate(node.v[key]) if branch is not False]
    if keep and len(keep) < len(node.v[key]) and not node.profile.boolean_schemas:
        for index in sorted(set(range(len(node.v[key]))) - set(keep)):
            node.walk.note(node.inner(key, index), key, "approximated", "no value meets it, left out")
        _branches(node, key, keep)


def _null_apart(node: Node, key: str) -> tuple[Schema, Keys] | None:
    """Null as a branch of its own, where the target has `nullable` or nothing for it.

    The only branch that is left is handed back, to be merged with what stands beside the union.
    """
    profile, branches = node.profile, node.v[key]
    if not profile.nullable and profile.null_type:
        return None
    keep = [index for index, branch in enumerate(branches) if not _is_null(branch)]
    if len(keep) == len(branches):
        return None
    for count, index in enumerate(sorted(set(range(len(branches))) - set(keep))):
        if count or set(branches[index]) - LITERAL or not profile.nullable:
            place = node.inner(key, index)
            node.walk.note(place, key, "lost", "the branch that is null", not profile.nullable)
    if not keep:
        del node.v[key]
        if "type" not in node.v:
            node.v["type"] = "null"
        node.approximated(key, "only null")
        return None
    if profile.nullable:
        node.v["nullable"] = True
    _branches(node, key, keep)
    return _lone(node, key)


def _lone(node: Node, key: str) -> tuple[Schema, Keys] | None:
    """The only branch of a union, taken out of it, unless it has to stay a reference."""
    if len(node.v[key]) != 1:
        return None
    flat, at, node.stack = node.walk.flatten(node.v[key][0], node.inner(key, 0), node.stack, optional=node.optional)
    if "$ref" in flat:
        return None
    del node.v[key]
    return flat, at


def _is_null(branch: Any) -> bool:
    if type(branch) is not dict:
        return False
    if as_types(branch.get("type")) == ["null"]:
        return True
    return "type" not in branch and (branch.get("enum") == [None] or ("const" in branch and branch["const"] is None))


def _gather_constants(node: Node, key: str) -> None:
    """A union of constants is an enum, for a target without `const` or without unions."""
    profile, branches = node.profile, node.v[key]
    literal = all(type(b) is dict and b.keys() <= LITERAL and ("const" in b) != ("enum" in b) for b in branches)
    if not literal or "enum" in node.v or "const" in node.v or not profile.accepts("enum"):
        return
    if profile.accepts(key) and (profile.accepts("const") or not any("const" in b for b in branches)):
        return
    types = {str(b.get("type")) for b in branches}
    if len(types) > 1 or type(branches[0].get("type", "")) is not str or ("type" in branches[0] and "type" in node.v):
        return
    values: dict[Any, Any] = {}
    for branch in branches:
        members = branch["enum"] if "enum" in branch else [branch["const"]]
        if type(members) is not list:
            return
        for value in members:
            values.setdefault(same_as(value), value)
    if "type" in branches[0]:
        node.v["type"] = branches[0]["type"].lower()
        node.moved["type"] = node.place(key)
    node.rename(key, "enum", list(values.values()))


def _without_union(node: Node, key: str) -> Any:
    """A target without unions: one branch, one object, or a list of types; the rest in words."""
    lone = _lone(node, key)
    if lone:
        return node.again(*lone)
    before = node.walk.mark()
    flats = _flat_branches(node, key)
    node.walk.back_to(before)
    if all(_is_object(flat) for flat, _ in flats):
        return _one_object(node, key)
    kinds = list(dict.fromkeys(kind for flat, _ in flats for kind in as_types(flat.get("type"))))
    if "type" not in node.v and all("type" in flat for flat, _ in flats):
        node.approximated("type", "the types of the branches")
        node.set_kinds(kinds)
    node.drop(key)
    return None


def _flat_branches(node: Node, key: str, objects_only: bool = False) -> list[tuple[Schema, Keys]]:
    """The branches as plain schemas with their places."""
    out = []
    for index, branch in enumerate(node.v[key]):
        before = node.walk.mark()
        flat, at, _ = node.walk.flatten(branch, node.inner(key, index), node.stack, inline=True)
        if _is_object(flat) or not objects_only:
            out.append((flat, at))
        else:
            node.walk.back_to(before)
            node.walk.note(node.inner(key, index), key, "lost", "no object", True)
    return out


def _is_object(flat: Schema) -> bool:
    if "type" in flat:
        return "object" in as_types(flat["type"])
    return "properties" in flat or "required" in flat


def _required(flat: Schema) -> set[str]:
    listed = flat.get("required")
    return {name for name in listed if type(name) is str} if type(listed) is list else set()


def _one_object(node: Node, key: str) -> Any:
    """A union of objects as one object that has the properties of all; only what all require is required."""
    origins = node.walk.origins
    branches = _flat_branches(node, key, objects_only=True)
    names: dict[str, dict[Any, tuple[Any, Keys]]] = {}
    for flat, at in branches:
        properties = flat.get("properties")
        where = origins.place(flat, "properties", at)
        for name, schema in properties.items() if type(properties) is dict else ():
            places = names.setdefault(name, {})
            if (its := same_as(schema)) not in places:
                places[its] = schema, origins.place(properties, name, where)
    merged: Schema = {}
    spots: dict[Any, Keys] = {}
    for name, places in names.items():
        found = [*places.values()]
        merged[name], spots[name] = found[0]
        if len(found) > 1:
            union = origins.fresh([schema for schema, _ in found], {i: at for i, (_, at) in enumerate(found)})
            merged[name] = origins.fresh({"anyOf": union}, {"anyOf": spots[name]})
    lists = [_required(flat) for flat, _ in branches]
    beside = node.v.get("properties")
    known = {**names, **(beside if type(beside) is dict else {})}
    required = [name for name in known if lists and all(name in listed for listed in lists)]
    closed = bool(branches) and all(flat.get("additionalProperties") is False for flat, _ in branches)
    counts = [len(flat["properties"]) if type(flat.get("properties")) is dict else 0 for flat, _ in branches]
    partial = any(count < len(names) for count in counts)
    detail, place = "one object with the properties of all", node.place(key)
    for where in dict.fromkeys((place, *(at for _, at in branches))):
        node.walk.note(where, key, "approximated", detail, partial and not closed)
    for flat, at in branches:
        for name in sorted(flat.keys() - {"properties"}):
            where, value = origins.place(flat, name, at), flat[name]
            if name == "type":
                node.walk.note(where, name, "approximated", detail)
            elif name == "required" and type(value) is list:
                for index, listed in enumerate(value):
                    if listed not in required:
                        node.walk.note((*where, index), name, "lost", detail)
            elif name != "additionalProperties" or not closed:
                node.walk.note(where, name, "lost", detail)
            for elsewhere in origins.elsewhere(value, at):  # what came from a definition is not below the branch
                if elsewhere[: len(place)] != place:
                    node.walk.note(elsewhere, name, "lost", detail)
    del node.v[key]
    extra: Schema = {"type": "object"}
    if merged:
        extra["properties"] = origins.fresh(merged, spots)
    if required:
        extra["required"] = required
    if closed:
        extra["additionalProperties"] = False
    return node.again(origins.fresh(extra, dict.fromkeys(extra, place)), place)


def can_be_object(walk: Lowering, flat: Schema, at: Keys, stack: tuple[Keys, ...]) -> bool:
    """Whether an object can meet the root; if not, it has to be wrapped in one."""
    if "type" in flat:
        kinds = as_types(flat["type"])
        return not kinds or "object" in kinds
    for key in ("const", "enum"):
        if key in flat:
            values = flat[key] if key == "enum" and type(flat[key]) is list else [flat[key]]
            return any(type(value) is dict for value in values)
    for key in UNIONS:
        branches = flat.get(key)
        if type(branches) is list and branches:
            seen = len(walk.changes), len(walk.used)
            place = walk.origins.place(flat, key, at)
            flats = [walk.flatten(b, (*place, i), stack, inline=True)[0] for i, b in enumerate(branches)]
            del walk.changes[seen[0] :], walk.used[seen[1] :]
            if not any(_is_object(found) or "type" not in found for found in flats):
                return False
    return True
