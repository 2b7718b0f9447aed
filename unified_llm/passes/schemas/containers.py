"""Objects and arrays, and the keywords that hold schemas: children are lowered here.

A keyword that constrains by negation (`not`, `if`, `unevaluatedProperties`) is kept only when its schema came through
as it is: there, a relaxed schema would exclude more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .merge import as_types, json_text
from .profile import PLACEHOLDER, SchemaProfile, fit_name
from .refs import DEFINITIONS, Keys

if TYPE_CHECKING:
    from .rewrite import Node

__all__ = ["arrays", "is_closed_map", "objects", "renamed", "subschemas"]

Schema = dict[str, Any]


def objects(node: Node) -> None:
    """Properties and the keywords about them."""
    v, profile = node.v, node.profile
    typed = "object" in node.kinds()
    if not typed and v.keys().isdisjoint(("properties", "patternProperties", "additionalProperties", "required")):
        return
    if profile.max_depth is not None and node.depth > profile.max_depth:
        for key in ("properties", "patternProperties", "required", "additionalProperties"):
            if key in v and (key != "additionalProperties" or type(v[key]) is dict):
                del v[key]
                node.lost(key, f"deeper than {profile.max_depth}", narrows=profile.closed_objects)
    if "patternProperties" in v and not profile.accepts("patternProperties"):
        node.drop("patternProperties")
        v = node.v
        if profile.closed_objects:
            node.approximated("patternProperties", "not accepted", narrows=True)
        elif v.get("additionalProperties", True) is not True:
            del v["additionalProperties"]
            node.lost("additionalProperties", "would exclude what patternProperties allowed")
    if _full(node) and v.get("properties"):
        node.lost("properties", f"more than {profile.max_properties} properties", narrows=True)
        v["properties"] = {}
    if typed and not v.get("properties") and not node.root and _empty(node):
        return
    if profile.all_required and typed and "properties" not in v:
        node.approximated("properties", "none, and the object is closed")
        v["properties"] = {}
    if "properties" in v:
        _properties(node)
    _additional(node, typed)
    _required(node)
    if profile.all_required and node.v.get("properties"):
        _all_required(node)


def is_closed_map(flat: Schema, profile: SchemaProfile) -> bool:
    """Whether a root is a map (any keys, no named properties) that would be closed, so that it could only be empty.

    Below the root such a map is a string of JSON text, which a root cannot be.
    """
    if not profile.closed_objects or profile.empty_objects != "text" or flat.get("properties"):
        return False
    if "object" not in as_types(flat.get("type")) or not flat.keys().isdisjoint(("anyOf", "oneOf", "$ref", "allOf")):
        return False
    more = flat.get("additionalProperties")
    return more is True or type(more) is dict or bool(flat.get("patternProperties"))


def _full(node: Node) -> bool:
    limit = node.profile.max_properties
    return limit is not None and node.walk.properties >= limit


def _empty(node: Node) -> bool:
    """Lower an object that can have no property; true if the result is not an object."""
    v, profile, how = node.v, node.profile, node.profile.empty_objects
    open_to_any = v.get("additionalProperties", True) is not False or "patternProperties" in node.flat
    if how == "kept" or not v.keys().isdisjoint(("anyOf", "oneOf", "$ref", "allOf")):
        return False
    # An object that is meant to be empty may be so where the target has no objection; "text" serves the open ones too.
    no_room = _full(node) or (profile.max_depth is not None and node.depth > profile.max_depth)
    if how == "text" or no_room:
        if how == "text" and profile.closed_objects and not open_to_any:
            return False
        said = {key: value for key, value in node.flat.items() if key not in ("description", "title", "type")}
        text = json_text({"type": "object", **said})
        line = f"JSON text of: {text if len(text) <= 1000 else 'an object'}"
        if len(text) <= 1000:  # with the definitions in it
            within = [(*node.at, key) for key in DEFINITIONS if key in said]
            node.walk.used += [at for at in node.walk.references.definitions if at[:-1] in within]
        kinds = ["string" if kind == "object" else kind for kind in node.kinds()]
        node.walk.note(node.at, "type", "approximated", "a string that holds JSON text", True)
        node.walk.undo.append("text")
        for key in [key for key in v if key not in ("description", "title", "type", "nullable")]:
            del v[key]
        node.set_kinds(list(dict.fromkeys(kinds)))
        if profile.accepts("description"):
            before = node.v.get("description")
            node.v["description"] = f"{before}\n\n{line}" if before else line
        return True
    node.approximated("properties", f"an unused one, {PLACEHOLDER!r}, because there must be one")
    node.walk.undo.append("placeholder")
    unused = {"type": "string", "description": "Not used; leave it out or empty."}
    if not profile.accepts("description"):
        del unused["description"]
    v["properties"] = node.walk.origins.fresh({PLACEHOLDER: unused}, {PLACEHOLDER: node.at})
    return False


def _properties(node: Node) -> None:
    walk, profile, properties = node.walk, node.profile, node.v["properties"]
    required = node.v.get("required")
    needed = {name for name in required if type(name) is str} if type(required) is list else set()
    names = renamed(properties, profile)
    out: Schema = {}
    for name, schema in properties.items():
        place = node.inner("properties", name)
        if _full(node):
            walk.note(place, "properties", "lost", f"more than {profile.max_properties} properties", True)
            continue
        walk.properties += 1
        if names[name] != name:
            walk.note(place, "properties", "approximated", f"renamed to {names[name]}", True)
            walk.undo.append("names")
        out[names[name]] = node.child(schema, place, optional=name not in needed)
    if list(out) == list(properties) and all(out[name] is properties[name] for name in out):
        return
    node.v["properties"] = out
    for key in ("required", "propertyOrdering"):
        listed = node.v.get(key)
        if type(listed) is list and any(names.get(name, name) != name for name in listed if type(name) is str):
            new = [names.get(name, name) if type(name) is str else name for name in listed]
            node.v[key] = walk.origins.fresh(new, {index: node.inner(key, index) for index in range(len(new))})


def renamed(properties: Schema, profile: Any) -> dict[str, str]:
    """The names of properties, each with the one it has in the target."""
    rule = profile.property_names
    if rule is None:
        return {name: name for name in properties}
    out: dict[str, str] = {}
    taken = set(properties)
    for name in properties:
        new, mark = fit_name(name, rule), name
        while new != name and new in taken:
            mark += "~"
            new = fit_name(mark, rule)
        taken.add(new)
        out[name] = new
    return out


def _additional(node: Node, typed: bool) -> None:
    v, key = node.v, "additionalProperties"
    if node.profile.closed_objects and (typed or ("properties" in v and "type" not in v)):
        if v.get(key, True) is not False:
            node.approximated(key, "must be false", narrows=True)
            v[key] = False
    elif type(v.get(key)) is dict and node.profile.accepts(key):
        v[key] = node.child(v[key], node.place(key), optional=True)


def _required(node: Node) -> None:
    v = node.v
    if "required" not in v:
        return
    listed, known = v["required"], v.get("properties")
    known = known if type(known) is dict else {}
    exact = node.profile.required_exact
    out: list[str] = []
    said: set[str] = set()
    places: dict[Any, Keys] = {}
    for index, name in enumerate(listed):
        place = node.inner("required", index)
        if type(name) is not str:
            node.walk.note(place, "required", "lost", "not a name")
        elif exact and name not in known:
            node.walk.note(place, "required", "lost", "no property has this name")
        elif exact and name in said:
            node.walk.note(place, "required", "approximated", "duplicate")
        else:
            places[len(out)] = place
            out.append(name)
            said.add(name)
    if len(out) < len(listed):
        v["required"] = node.walk.origins.fresh(out, places)
    if not out and exact:
        if not listed:
            node.approximated("required", "empty, left out")
        del v["required"]


def _all_required(node: Node) -> None:
    """Optional properties become required and nullable: the declared narrowing of strict targets."""
    properties = node.v["properties"]
    listed = node.v.get("required", [])
    required = {name for name in listed if type(name) is str}
    optional = [name for name in properties if name not in required]
    if not optional:
        return
    out = dict(properties)
    source = node.flat.get("properties")
    for name in optional:
        out[name] = _or_null(node, properties[name])
        inside = type(source) is dict and name in source
        place = node.walk.origins.place(source, name, node.place("properties")) if inside else node.at
        detail = "optional, became required and nullable"
        node.walk.note(place, "required", "approximated", detail, True)
    node.walk.undo.append("nulls")
    node.v["properties"] = out
    node.v["required"] = [*listed, *optional]


def _or_null(node: Node, schema: Any) -> Any:
    """A lowered schema that accepts null too."""
    profile = node.profile
    null = "NULL" if profile.type_case == "upper" else "null"
    if type(schema) is not dict or not schema:
        return schema
    kinds = schema.get("type")
    listed = kinds if type(kinds) is list else [kinds]
    union = schema.get("anyOf")
    if null in listed and "enum" in schema and None not in schema["enum"] and profile.null_type:
        return {**schema, "enum": [*schema["enum"], None]}
    if schema.get("nullable") is True or null in listed:
        return schema
    if type(union) is list and any(type(b) is dict and b.get("type") == null for b in union):
        return schema
    if profile.nullable:
        return {**schema, "nullable": True}
    if not profile.null_type:
        return schema
    if kinds is not None and profile.type_lists and "const" not in schema and union is None and "oneOf" not in schema:
        out = {**schema, "type": [*listed, null]}
        if "enum" in schema and None not in schema["enum"]:
            out["enum"] = [*schema["enum"], None]
        return out
    if type(union) is list and schema.keys() <= {"anyOf", "description", "title"}:
        return {**schema, "anyOf": [*union, {"type": null}]}
    return {"anyOf": [schema, {"type": null}]} if profile.accepts("anyOf") else schema


def arrays(node: Node) -> None:
    """Items, tuples and what must be contained."""
    v, profile = node.v, node.profile
    if profile.max_depth is not None and node.depth > profile.max_depth and "array" in node.kinds():
        for key in ("items", "prefixItems", "contains", "minContains", "maxContains"):
            if key in v:
                del v[key]
                node.lost(key, f"deeper than {profile.max_depth}")
    if "prefixItems" in v and not profile.accepts("prefixItems"):
        _untupled(node)
        v = node.v
    if "prefixItems" in v:
        _list_of_schemas(node, "prefixItems")
    if type(v.get("items")) is bool and not profile.boolean_schemas:
        value = v["items"]
        if value:
            del v["items"]
            node.approximated("items", "true has no effect, left out")
        elif profile.accepts("maxItems") and "prefixItems" not in v:
            node.approximated("items", "as maxItems")
            if "maxItems" in v:
                node.approximated("maxItems", "no items")
            node.rename("items", "maxItems", 0)
        else:
            node.drop("items")
        v = node.v
    if type(v.get("items")) is dict and profile.accepts("items"):
        v["items"] = node.child(v["items"], node.place("items"))
    if profile.items_required and node.kinds() == ["array"] and "items" not in v and "prefixItems" not in v:
        # Of one scalar type: an item of any type could be an array, which must have its items again.
        node.approximated("items", "any, written as a string", narrows=True)
        v["items"] = {"type": "STRING" if profile.type_case == "upper" else "string"}
    if type(v.get("contains")) in (dict, bool) and profile.accepts("contains"):
        source = v["contains"]
        v["contains"] = node.child(source, node.place("contains"))
        if v["contains"] is not source and "maxContains" in v:
            node.drop("maxContains")


def _untupled(node: Node) -> None:
    """A tuple as a list whose items may be any of its members', where nothing else may follow them."""
    v, profile, origins = node.v, node.profile, node.walk.origins
    members, rest = v["prefixItems"], v.get("items", True)
    longest = v.get("maxItems")
    ends = rest is False or (longest is not None and longest <= len(members))
    kept: list[Any] = []
    places: dict[Any, Keys] = {}
    for index, member in enumerate(members):
        if not any(json_text(member) == json_text(known) for known in kept):
            places[len(kept)] = node.inner("prefixItems", index)
            kept.append(member)
    if not ends and type(rest) is dict:
        places[len(kept)] = node.place("items")
        kept.append(rest)
        ends = True
    possible = ends and kept and all(type(member) is dict for member in kept)
    if not possible or not profile.accepts("items") or (len(kept) > 1 and not profile.accepts("anyOf")):
        if "items" in v:
            node.lost("items", "would apply to the whole tuple")
            del v["items"]
        node.drop("prefixItems")
        return
    line = node.walk.described("prefixItems", members) if len(kept) > 1 else None
    node.approximated("prefixItems", "as items, in the order of the description" if line else "as items, in any order")
    if line:
        before = v.get("description")
        v["description"] = f"{before}\n\n{line}" if type(before) is str and before else line
    if "items" in v:
        node.approximated("items", "together with prefixItems")
        del v["items"]
    if rest is False and longest is None and profile.accepts("maxItems"):
        v["maxItems"] = len(members)
    union = origins.fresh(kept, places)
    spots = {"anyOf": node.place("prefixItems")}
    lone = len(kept) == 1
    node.rename("prefixItems", "items", kept[0] if lone else origins.fresh({"anyOf": union}, spots))
    if lone:
        node.moved["items"] = places[0]


def _list_of_schemas(node: Node, key: str, deeper: bool = True) -> None:
    members = node.v[key]
    out = [node.child(member, node.inner(key, index), deeper=deeper) for index, member in enumerate(members)]
    if any(new is not old for new, old in zip(out, members)):
        node.v[key] = out


def _map_of_schemas(node: Node, key: str, deeper: bool = True) -> None:
    members = node.v[key]
    out = {name: node.child(member, node.inner(key, name), deeper=deeper) for name, member in members.items()}
    if any(out[name] is not members[name] for name in out):
        node.v[key] = out


def subschemas(node: Node) -> None:
    """The other keywords that hold schemas, as far as they are still there."""
    v = node.v
    if "allOf" in v:
        _list_of_schemas(node, "allOf", deeper=False)
    for key in ("patternProperties", "dependentSchemas"):
        if key in v:
            _map_of_schemas(node, key, deeper=key == "patternProperties")
    for key in ("propertyNames", "then", "else"):
        if type(v.get(key)) is dict:
            v[key] = node.child(v[key], node.place(key), deeper=False)
    for key, group in (("not", ("not",)), ("if", ("if", "then", "else"))):
        if type(v.get(key)) is dict and not _unchanged(node, key):
            for name in group:
                if name in node.v:
                    node.drop(name)
            v = node.v
    for key in DEFINITIONS:
        if key in v:
            _definitions(node, key)
    for key in ("unevaluatedProperties", "unevaluatedItems"):
        if key in node.v:
            moved = node.v.keys() != node.flat.keys() or any(node.v[k] is not node.flat[k] for k in node.v)
            if moved or (type(node.v[key]) is dict and not _unchanged(node, key)):
                node.drop(key)


def _unchanged(node: Node, key: str) -> bool:
    """Whether a schema comes through as it is; if not, nothing of the attempt is kept."""
    before, source = node.walk.mark(), node.v[key]
    if node.child(source, node.place(key), deeper=False) is source:
        return True
    node.walk.back_to(before)
    return False


def _definitions(node: Node, key: str) -> None:
    """Definitions stay at the root of the schema, for a target that follows references."""
    profile, walk, members = node.profile, node.walk, node.v[key]
    # The root may also be written out below itself, where its definitions are not repeated.
    top = int(walk.wrapped or not profile.root_object)
    at_root = node.place(key) == (key,) and walk.nesting == top and key not in walk.rooted
    everywhere = profile.keywords is None
    if not everywhere and not (at_root and profile.accepts(key) and profile.accepts("$ref")):
        del node.v[key]  # what nothing refers to is noted at the end
        return
    if at_root:
        walk.rooted.add(key)
    out: Schema = {}
    for name, member in members.items():
        place = node.inner(key, name)
        walk.used.append(place)
        out[name] = walk.node(member, place, 1, (place,))
    if any(out[name] is not members[name] for name in out):
        node.v[key] = out
    if at_root and walk.wrapped:
        walk.definitions[key] = dict(node.v.pop(key))
