"""The walk: references inlined or kept, `allOf` merged, every node rewritten once, every change written down.

A node is lowered from the outside in: first it is made flat (`flatten`), then its keywords are rewritten (`rewrite`),
which lowers its children. Nothing is ever changed in place, and what needs no change is handed back as the same object.
Places are paths into the original, through merges and inlined definitions too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import orjson

from ...foundation.json_codec import dump, is_exact, load_text
from .merge import Origins, json_text, merge
from .profile import Change, Lowered, SchemaProfile
from .refs import DEFINITIONS, Keys, References
from .rewrite import Node, rewrite_root

__all__ = ["Lowering", "lower"]

Schema = dict[str, Any]
Fate = Literal["approximated", "lost"]

# Schemas inside schemas that are followed. Python's own stack is the limit behind it; no provider takes more.
MAX_NESTING = 50
# Nodes made by inlining definitions, beyond four times the size of the schema.
MAX_EXPANSION = 2_000

# The longest JSON text of a schema whose result is remembered.
REMEMBERED = 16_384

# Keywords without effect on validity or help for a model: lost rather than described.
SILENT = frozenset(
    {"title", "deprecated", "readOnly", "writeOnly", "discriminator", "xml", "externalDocs", "description"}
)

META_SCHEMAS = ("http://json-schema.org/", "https://json-schema.org/")
"""How `$schema` begins where it names a published draft; another meta-schema may define keywords of its own."""


def lower(schema: Any, profile: SchemaProfile) -> Lowered:
    """The schema as a target accepts it, and every change that took.

    A schema that is accepted comes back as the same object without changes; lowering twice is lowering once. The
    result accepts every value that the original accepts, except where a change has `narrows`. Any JSON value
    is taken, also one that is not a schema; nothing is raised. `None` stands for "no schema": an object without
    properties. The work is linear in the size of the schema, with a bound on what inlining definitions may add.

    >>> profile = SchemaProfile(keywords=frozenset({"type", "description", "minimum", "enum"}), type_lists=False)
    >>> lower({"type": "integer", "exclusiveMinimum": 0}, profile).schema
    {'type': 'integer', 'minimum': 1}
    >>> done = lower({"type": "number", "multipleOf": 0.5}, profile)
    >>> done.schema
    {'type': 'number', 'description': 'multipleOf: 0.5'}
    >>> [(change.pointer, change.fate, change.detail) for change in done.changes]
    [('/multipleOf', 'approximated', 'in the description')]

    Sources of what is special about each target are with the adapters' profiles; the keywords are those of
    https://json-schema.org/draft/2020-12, with the spellings of draft 4 to 7 and of OpenAPI 3.0 understood.
    """
    if type(schema) is dict:
        try:
            text = orjson.dumps(schema)
        except (TypeError, RecursionError):
            return _lower(schema, profile)
        if len(text) <= REMEMBERED and is_exact(text, schema):
            lowered, changes, undo = _remembered(text, profile)
            return Lowered(schema if lowered is None else load_text(lowered), changes, schema, undo)
    return _lower(schema, profile)


@lru_cache(maxsize=256)
def _remembered(text: bytes, profile: SchemaProfile) -> tuple[bytes | None, tuple[Change, ...], tuple[str, ...]]:
    """The same tools come with every request of a conversation. Text in, text out: nothing is shared with a caller."""
    schema = orjson.loads(text)
    done = _lower(schema, profile)
    return None if done.schema is schema else dump(done.schema), done.changes, done.undo


def _lower(schema: Any, profile: SchemaProfile) -> Lowered:
    try:
        walk = Lowering(schema, profile)
        out = walk.run()
        # References by path hold only as long as nothing moves; otherwise their targets become definitions.
        if walk.path_refs and out.schema is not schema:
            out = Lowering(schema, profile, hoist=True).run()
        return out
    except RecursionError:  # values nested too deeply to be compared or printed
        empty = Lowering(None, profile).run()
        change = Change("", "", "lost", "nested too deeply", profile.root_object)
        return Lowered(empty.schema, (change,), schema)


class Lowering:
    """One run over one schema; the state that nodes share."""

    def __init__(self, schema: Any, profile: SchemaProfile, hoist: bool = False) -> None:
        self.schema = schema
        self.profile = profile
        self.hoist = hoist
        self.origins: Origins = Origins()
        self.changes: list[Change] = []
        self.undo: list[str] = []
        self.used: list[Keys] = []  # definitions that were kept or written out
        self.path_refs: bool = False
        self.wrapped = False
        self.rooted: set[str] = set()  # the containers of definitions at the root of the result
        self.hoisted: dict[Keys, str] = {}
        self.taken: set[str] = set()  # the names of definitions that are there, and of those hoisted
        self.waiting: list[tuple[str, Any, Keys]] = []
        # Container to what has to be in it at the root of the result.
        self.definitions: dict[str, Schema] = {}
        self.properties: int = 0
        self.enum_values: int = 0
        self.expanded: int = 0
        self.nesting: int = 0
        self._references: References | None = None
        self._defining = False
        # Two closed objects in one allOf would exclude each other.
        self._merges = not profile.accepts("allOf") or profile.closed_objects

    @property
    def references(self) -> References:
        """The index of references, built when the first one is met."""
        if self._references is None:
            self._references = References(self.schema)
        return self._references

    def run(self) -> Lowered:
        """Lower the whole schema, with the definitions that it refers to."""
        out = rewrite_root(self)
        for name, target, at in self.waiting:  # which grows meanwhile
            self.definitions.setdefault("$defs", {})[name] = self.node(target, at, 1, (at,))
        for key, members in self.definitions.items():
            out = {**out, key: {**out.get(key, {}), **members}}
        self._unreferenced()
        return Lowered(out, tuple(dict.fromkeys(self.changes)), self.schema, tuple(sorted(set(self.undo))))

    def note(self, place: Keys, keyword: str, fate: Fate, detail: str, narrows: bool = False) -> None:
        """Write down a change at a place of the original."""
        pointer = "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in place)
        self.changes.append(Change(pointer, keyword, fate, detail, narrows))

    def mark(self) -> tuple[Any, ...]:
        """The state to go `back_to` when what is lowered from here on turns out to be of no use."""
        lengths = len(self.changes), len(self.undo), len(self.used), len(self.waiting)
        return *lengths, self.properties, self.enum_values, len(self.hoisted)

    def back_to(self, mark: tuple[Any, ...]) -> None:
        """Forget all that was noted since the mark."""
        changes, undo, used, waiting, self.properties, self.enum_values, hoisted = mark
        while len(self.hoisted) > hoisted:
            self.taken.discard(self.hoisted.popitem()[1])
        del self.changes[changes:], self.undo[undo:], self.used[used:], self.waiting[waiting:]

    def node(self, schema: Any, at: Keys, depth: int, stack: tuple[Keys, ...], optional: bool = False) -> Any:
        """One schema below the root, lowered. `depth` counts objects and arrays, `stack` the definitions we are in."""
        if type(schema) is bool and self.profile.boolean_schemas:
            return schema
        self.nesting += 1
        try:
            if self.nesting > MAX_NESTING:
                self.note(at, "", "lost", f"more than {MAX_NESTING} schemas inside one another")
                schema = {}
            if stack:
                self.expanded += 1
            flat, at, stack = self.flatten(schema, at, stack, optional=optional)
            return Node(self, flat, at, depth, stack, optional).lowered(schema)
        finally:
            self.nesting -= 1

    # --- references and allOf

    def flatten(
        self, schema: Any, at: Keys, stack: tuple[Keys, ...], *, optional: bool = False, inline: bool = False
    ) -> tuple[Schema, Keys, tuple[Keys, ...]]:
        """The schema as one dict without what the target cannot follow, its place, and the definitions it is in.

        With `inline` nothing is left but keywords: for branches that are merged and for a root that must be an object.
        """
        self.nesting += 1
        try:
            if type(schema) is not dict:
                if schema is False:
                    self.note(at, "", "lost", "false, which no value meets, became a schema that all values meet")
                elif schema is not True and schema is not None:
                    self.note(at, "", "lost", f"a schema was expected, not {json_text(schema)[:40]}")
                return {}, at, stack
            if self.nesting > 3 * MAX_NESTING:
                self.note(at, "", "lost", "nested too deeply")
                return {}, at, stack
            if "$defs" in schema or "definitions" in schema:
                self._defining = True
            if "$ref" in schema:
                schema, at, stack = self._reference(schema, at, stack, optional, inline)
            if type(schema.get("allOf")) is list and (inline or self._merges):
                schema, at, stack = self._all_of(schema, at, stack, optional, inline)
            return schema, at, stack
        finally:
            self.nesting -= 1

    def _reference(
        self, schema: Schema, at: Keys, stack: tuple[Keys, ...], optional: bool, inline: bool
    ) -> tuple[Schema, Keys, tuple[Keys, ...]]:
        ref = schema["$ref"]
        place = self.origins.place(schema, "$ref", at)
        found = self.references.resolve(ref) if type(ref) is str else None
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        rest = self.origins.fresh(siblings, {key: self.origins.place(schema, key, at) for key in siblings})
        if found is None:
            self.note(place, "$ref", "lost", "leads nowhere")
            return self.flatten(rest, at, stack, optional=optional, inline=inline)
        target, target_at = found
        circular = self.references.circular(schema, target)
        alone = all(key.startswith("$") or key in DEFINITIONS for key in siblings)
        profile = self.profile
        if profile.accepts("$ref") and not inline:
            allowed = not circular or profile.recursion == "kept" or (profile.recursion == "optional" and optional)
            if allowed and (alone or profile.ref_siblings):
                return self._kept(schema, at, ref, target, target_at), at, stack
            if allowed and circular:
                # Inlining would never end, so the reference gets a place of its own beside its siblings.
                for union in ("allOf", "anyOf"):
                    if profile.accepts(union) and union not in siblings:
                        branch = self.origins.fresh({"$ref": ref}, {"$ref": place})
                        self.references.stands_for(branch, schema)
                        rest[union] = self.origins.fresh([branch], {0: at})
                        self.origins.set(rest, union, place)
                        self.used.append(target_at)
                        return rest, at, stack
        if stack.count(target_at) > profile.unroll or self.expanded > MAX_EXPANSION + 4 * self.references.size:
            kind = target.get("type", "object" if "properties" in target else None) if type(target) is dict else None
            detail = f"unrolled {profile.unroll} times" if circular else "too many definitions to be written out"
            self.note(place, "$ref", "approximated", detail)
            spot = (*target_at, "type") if type(target) is dict and "type" in target else target_at
            body: Schema = {} if kind is None else self.origins.fresh({"type": kind}, {"type": spot})
            body_at = at
        else:
            self.used.append(target_at)
            stack = (*stack, target_at)
            body, body_at, stack = self.flatten(target, target_at, stack, optional=optional, inline=inline)
        if not rest:
            return body, body_at, stack
        if "$ref" in body:  # a reference to a reference that is kept
            return self._beside(rest, body, body_at, at, stack, optional, inline)
        self.merge(rest, body, body_at, place)
        return rest, at, stack

    def _beside(
        self,
        rest: Schema,
        body: Schema,
        body_at: Keys,
        at: Keys,
        stack: tuple[Keys, ...],
        optional: bool,
        inline: bool,
    ) -> tuple[Schema, Keys, tuple[Keys, ...]]:
        """Siblings of a reference whose target is a reference again: go on with that one."""
        for key, value in body.items():
            if key not in rest:
                rest[key] = value
                self.origins.set(rest, key, self.origins.place(body, key, body_at))
            else:
                self.note(self.origins.place(body, key, body_at), key, "lost", "the reference to it overrides it")
        self.references.stands_for(rest, body)
        return self.flatten(rest, at, stack, optional=optional, inline=inline)

    def _kept(self, schema: Schema, at: Keys, ref: str, target: Any, target_at: Keys) -> Schema:
        """A schema with its reference, which leads to a definition the target will find."""
        profile = self.profile
        stays = len(target_at) == 2 and target_at[0] in DEFINITIONS and profile.accepts(target_at[0])
        if not target_at:
            stays = not self.wrapped
        if not stays and profile.keywords is None and not self.hoist:
            self.path_refs = stays = True
        if stays:
            return schema
        self.used.append(target_at)
        name = self.hoisted.get(target_at)
        if name is None:
            if not self.hoisted:
                known = self.schema.get("$defs")
                self.taken = {*(known if type(known) is dict and profile.accepts("$defs") else ())}
            stem = name = str(target_at[-1]) if target_at else "root"
            while name in self.taken:
                name = f"{stem}_{len(self.taken)}"
                stem += "_"
            self.hoisted[target_at] = name
            self.taken.add(name)
            self.waiting.append((name, target, target_at))
        moved = self.origins.copy(schema, at)
        self.references.stands_for(moved, schema)
        moved["$ref"] = "#/$defs/" + name.replace("~", "~0").replace("/", "~1")
        return moved

    def _all_of(
        self, schema: Schema, at: Keys, stack: tuple[Keys, ...], optional: bool, inline: bool
    ) -> tuple[Schema, Keys, tuple[Keys, ...]]:
        branches, place = schema["allOf"], self.origins.place(schema, "allOf", at)
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        rest = self.origins.fresh(rest, {key: self.origins.place(schema, key, at) for key in rest})
        if not branches:
            self.note(place, "allOf", "approximated", "empty, left out")
        lone = branches[0] if len(branches) == 1 else None
        if type(lone) is dict and "$ref" in lone and not inline and not set(lone) & set(rest):
            # A reference wrapped for the sake of its siblings: the same without the wrapping.
            where = self.origins.place(branches, 0, place)
            for key, value in lone.items():
                rest[key] = value
                self.origins.set(rest, key, self.origins.place(lone, key, where))
            self.references.stands_for(rest, lone)
            return self.flatten(rest, at, stack, optional=optional, inline=inline)
        for index, branch in enumerate(branches):
            where = self.origins.place(branches, index, place)
            if branch is True or branch == {}:
                self.note(where, "allOf", "approximated", "no effect, left out")
                continue
            flat, flat_at, stack = self.flatten(branch, where, stack, optional=optional, inline=True)
            self.merge(rest, flat, flat_at, where)
        return rest, at, stack

    def merge(self, into: Schema, other: Schema, at: Keys, said_at: Keys) -> None:
        """Add to a fresh schema what another one demands, which the schema at `said_at` brought in."""
        touched = (*other, "description")
        before, additions = {key: into.get(key, ...) for key in touched}, self.origins.additions

        def note(keyword: str, value: Any, place: Keys, weighed: bool) -> None:
            if weighed:
                self.note(place, keyword, "approximated", "merged with the same keyword of another schema")
            else:
                known = "description" in into
                self.unsaid(into, keyword, value, place)
                if not known and "description" in into:
                    self.origins.set(into, "description", place)

        merge(into, other, at, self.origins, note)
        same = additions == self.origins.additions
        if same and all(before[key] is into.get(key, ...) for key in before):
            for place in dict.fromkeys((said_at, at)):
                self.note(place, "", "approximated", "nothing can be added from it, left out")

    # --- what has no form in the target

    def unsaid(self, schema: Schema, keyword: str, value: Any, place: Keys, label: str = "") -> None:
        """A keyword that cannot stand in `schema`: into its description where that helps, else lost."""
        line = self.described(keyword, value, label)
        if line is None:
            if keyword == "$schema" and type(value) is str and value.startswith(META_SCHEMAS):
                self.note(place, keyword, "approximated", "names the meta-schema and constrains nothing")
            else:
                self.note(place, keyword, "lost", "not accepted")
            return
        self.note(place, keyword, "approximated", "in the description")
        before = schema.get("description")
        schema["description"] = f"{before}\n\n{line}" if type(before) is str and before else line

    def described(self, keyword: str, value: Any, label: str = "") -> str | None:
        """The text for a keyword in a description, or None if the text would not help."""
        if keyword.startswith(("$", "x-")) or keyword in SILENT or not self.profile.accepts("description"):
            return None
        if type(value) is bool and keyword not in ("default", "const", "example"):
            if not value or keyword.startswith(("additional", "unevaluated")):
                return None
        if keyword in ("enum", "const"):
            values = value if keyword == "enum" and type(value) is list else [value]
            text, label = ", ".join(map(json_text, values)), label or "Allowed values"
        else:
            text = json_text(value)
        return f"{label or keyword}: {text}" if len(text) <= 1000 else None

    def _unreferenced(self) -> None:
        """Definitions that are no longer there and were not written out anywhere."""
        if not self._defining:
            return
        used = set(self.used)
        unused = [at for at in self.references.definitions if at not in used]
        reached = self.references.reached() if unused else ()
        for at in unused:
            if at in reached:
                self.note(at, at[-2], "lost", "what refers to it has no form here")
            else:
                self.note(at, at[-2], "approximated", "nothing refers to it: it constrains nothing")
