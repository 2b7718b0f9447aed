"""One flat node, keyword by keyword: spelling, unions, constants, types, numbers, then whatever else is not accepted.

The order matters: a union may turn out to be a type with null, a constant an enum, an enum a type. Children are lowered
where their keyword is. Objects and arrays have a file of their own (`containers`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .containers import arrays, is_closed_map, objects, subschemas
from .merge import as_types
from .profile import WRAPPER, SchemaProfile
from .refs import DEFINITIONS, Keys
from .spelling import account_for_null, spell
from .unions import can_be_object, lower_unions, settle_unions
from .values import constants, numbers, types

if TYPE_CHECKING:
    from .lowering import Lowering, Schema

__all__ = ["Node", "rewrite_root"]


class Node:
    """One schema being rewritten: `flat` as it was, `v` as it becomes."""

    def __init__(
        self,
        walk: Lowering,
        flat: Schema,
        at: Keys,
        depth: int,
        stack: tuple[Keys, ...],
        optional: bool = False,
        root: bool = False,
    ) -> None:
        self.walk = walk
        self.profile: SchemaProfile = walk.profile
        self.flat = flat
        self.at = at
        self.depth = depth
        self.stack = stack
        self.optional = optional
        self.root = root
        self.v: Schema = dict(flat)
        self.moved: dict[str, Keys] = {}

    # --- tools

    def place(self, key: str) -> Keys:
        """Where a keyword stands in the original; one that was added has the place of the node."""
        if key in self.moved:
            return self.moved[key]
        return self.walk.origins.place(self.flat, key, self.at) if key in self.flat else self.at

    def inner(self, key: str, index: Any) -> Keys:
        """Where an entry of a keyword's value stands in the original."""
        return self.walk.origins.place(self.v[key], index, self.place(key))

    def approximated(self, key: str, detail: str, *, narrows: bool = False) -> None:
        """Note a keyword that is there in another form, or that was added: then at the node."""
        self.walk.note(self.place(key), key, "approximated", detail, narrows)

    def lost(self, key: str, detail: str, *, narrows: bool = False) -> None:
        """Note a keyword, or a part of its value, that is gone."""
        self.walk.note(self.place(key), key, "lost", detail, narrows)
        for place in self.walk.origins.elsewhere(self.flat.get(key), self.place(key)):
            self.walk.note(place, key, "lost", detail, narrows)

    def drop(self, key: str, label: str = "") -> None:
        """Take a keyword out, into the description where that helps."""
        value = self.v.pop(key)
        self.walk.unsaid(self.v, key, value, self.place(key), label)
        last = self.walk.changes[-1]
        for place in self.walk.origins.elsewhere(value, self.place(key)):
            self.walk.note(place, key, last.fate, last.detail)

    def child(self, schema: Any, place: Keys, *, deeper: bool = True, optional: bool | None = None) -> Any:
        """A schema below this one, lowered."""
        optional = self.optional if optional is None else optional
        return self.walk.node(schema, place, self.depth + deeper, self.stack, optional)

    def kinds(self) -> list[str]:
        """The types the node names."""
        return as_types(self.v["type"]) if "type" in self.v else []

    def set_kinds(self, kinds: list[str]) -> None:
        """Name these types, at the place of `type` or in front."""
        value = kinds[0] if len(kinds) == 1 else kinds
        self.v = {**self.v, "type": value} if "type" in self.v else {"type": value, **self.v}

    def rename(self, old: str, new: str, value: Any) -> None:
        """Put another keyword in the place of one."""
        self.moved[new] = self.place(old)
        others = {key: kept for key, kept in self.v.items() if key != new}
        self.v = {new if key == old else key: value if key == old else kept for key, kept in others.items()}

    def again(self, extra: Schema, at: Keys) -> Any:
        """Start over with this node and `extra` together."""
        base = self.walk.origins.fresh(dict(self.v), {key: self.place(key) for key in self.v})
        self.walk.merge(base, extra, at, at)
        out = Node(self.walk, base, self.at, self.depth, self.stack, self.optional, self.root).lowered(None)
        account_for_null(self, out)
        return out

    # --- the steps

    def lowered(self, schema: Any) -> Any:
        """The node lowered; `schema` itself when it is what was flat and nothing had to change."""
        spell(self)
        if self.root:
            self.as_root()
        replaced = settle_unions(self)
        if replaced is not None:
            return replaced
        constants(self)
        types(self)
        lower_unions(self)
        numbers(self)
        objects(self)
        arrays(self)
        self.rest()
        self.render_types()
        subschemas(self)
        account_for_null(self, self.v)
        if list(self.v) == list(self.flat) and all(self.v[key] is self.flat[key] for key in self.v):
            return schema if self.flat is schema else self.flat
        return self.v

    def as_root(self) -> None:
        """The root is an object, and has that type."""
        kinds = self.kinds()
        if kinds != ["object"]:
            self.approximated("type", "the root is an object", narrows=True)
        if self.v.get("type") != "object":
            self.set_kinds(["object"])
        for key in ("enum", "const", "nullable"):
            if key in self.v:
                self.drop(key)
        # An object without properties is the same schema as one with an empty list of them.
        self.v.setdefault("properties", {})

    def rest(self) -> None:
        """Whatever is not accepted and was not written in another way."""
        profile = self.profile
        formats = profile.formats
        for key in list(self.v):
            accepted = profile.accepts(key) or key in DEFINITIONS or key == "type"
            if key == "nullable":
                accepted = profile.nullable
            if key == "format" and accepted:
                accepted = formats is None or self.v[key] in formats
            if not accepted and self.v[key] is None and key != "default":
                del self.v[key]  # a null has no effect
            elif not accepted:
                self.drop(key)
            elif key == "minItems" and profile.most_min_items is not None and self.v[key] > profile.most_min_items:
                self.drop(key)
                self.v[key] = profile.most_min_items

    def render_types(self) -> None:
        """The target's spelling of types; the source's own list where nothing changed."""
        if "type" not in self.v:
            return
        value, case, source = self.v["type"], self.profile.type_case, self.flat.get("type")
        if case == "upper":
            value = [kind.upper() for kind in value] if type(value) is list else value.upper()
        if value == source or (case == "either" and type(value) is type(source) and self.kinds() == as_types(source)):
            value = source
        self.v["type"] = value


def rewrite_root(walk: Lowering) -> Any:
    """The root of the schema, which has to be an object at some targets."""
    schema, profile = walk.schema, walk.profile
    if schema is None or not profile.root_object:
        done = walk.node({} if schema is None else schema, (), 1, ()) if schema is not None else {}
        if not profile.root_object:
            return done
    if schema is None and profile.empty_root == "omitted":
        return None
    before = walk.mark()
    flat, at, stack = walk.flatten(schema, (), (), inline=True)
    if not can_be_object(walk, flat, at, stack) or is_closed_map(flat, profile):
        walk.back_to(before)
        walk.wrapped = True
        walk.undo.append("wrapped")
        walk.note((), "", "approximated", f"in an object, as its property {WRAPPER!r}", True)
        properties = walk.origins.fresh({WRAPPER: schema}, {WRAPPER: ()})
        flat = walk.origins.fresh({"type": "object", "properties": properties, "required": [WRAPPER]}, {})
        at, stack = (), ()
    elif schema is None:
        flat = {"type": "object", "properties": {}}
    out = Node(walk, flat, at, 1, stack, root=True).lowered(schema)
    if profile.empty_root == "omitted" and not out.get("properties"):
        walk.note((), "", "approximated", "no properties, so no schema")
        return None
    return out
