"""What a target accepts of JSON Schema, as data.

A profile does not contain how a schema is made acceptable: every answer to that is in `lowering`, and follows from
what is declared here. The defaults accept all of JSON Schema draft 2020-12, so a profile names only what is special.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

__all__ = ["Change", "Lowered", "NameRule", "SchemaProfile", "fit_name"]

WRAPPER = "value"  # the property that holds a root that is not an object
PLACEHOLDER = "unused"  # the property of an object that must have one


class NameRule(NamedTuple):
    """Which names are accepted: regular expression classes for the first and the other characters, and a length.

    >>> fit_name("get.weather", NameRule("A-Za-z_", "A-Za-z0-9_-", 64))
    'get_weather_ecb09904'
    """

    first: str
    rest: str
    length: int


def fit_name(name: str, rule: NameRule) -> str:
    """The name itself where the rule accepts it, else a cleaned one that ends in a digest of the original.

    The digest keeps apart names that look alike when cleaned or cut; the same name always becomes the same one, and
    a name that was made is accepted as it is.
    """
    if len(name) <= rule.length and re.fullmatch(f"[{rule.first}][{rule.rest}]*", name):
        return name
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    clean = re.sub(f"[^{rule.rest}]", "_", name)[: max(0, rule.length - 9)]
    if not re.match(f"[{rule.first}]", clean):
        clean = f"n{clean}"[: max(1, rule.length - 9)]
    return f"{clean}_{digest}"[: rule.length]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaProfile:
    """What one target accepts. An adapter declares one for each place a schema goes (tools, output, strict or not).

    keywords: the keywords accepted, `None` for all. A keyword that is not named here is written in another one
        where JSON Schema has a synonym for it (`const` as `enum`, `oneOf` as `anyOf`, `allOf` merged, `$ref` inlined,
        bounds of integers, tuples as `items`), else moved into `description`, else lost.
    formats: the values of `format` accepted, `None` for all.
    ref_siblings: other keywords may stand beside `$ref` (those that start with `$` always may).
    recursion: a `$ref` into what contains it is "kept", kept only below an "optional" property, or "unrolled".
    unroll: how often a definition may stand inside itself where it is unrolled.
    type_case: how types are spelled: "lower", "upper", or "either".
    type_lists: `type` may be a list.
    type_required: every schema has its `type`, or is a union or a reference.
    typed_keywords: a keyword must fit the type (no `properties` in a string).
    null_type: the type null exists.
    nullable: what may be null has `nullable: true`.
    boolean_schemas: `true` and `false` may stand where a schema is expected.
    string_counts: counts (`minItems`, `maxLength`, ...) may be strings of digits.
    enum_types: the JSON types of values accepted in `enum`, `None` for all.
    root_object: the root must be an object schema with `properties` and without unions or references.
    empty_root: what becomes of a root that names no property: "kept", or "omitted" (`Lowered.schema` is None).
    empty_objects: what becomes of an object below it that can hold no property: "kept", filled with a "placeholder"
        property, or replaced by a string that holds JSON "text".
    closed_objects: every object must have `additionalProperties: false`.
    all_required: every property must be in `required`; an optional one is allowed to be null instead.
    required_exact: `required` must name existing properties, and at least one.
    items_required: an array must have its `items`.
    most_min_items: the largest `minItems` accepted, `None` for any.
    max_depth: objects and arrays inside one another, the root included.
    max_properties, max_enum_values: their number in the whole schema.
    property_names: the names of properties accepted, `None` for all.
    names: the names of tools and of output schemas accepted, `None` for all (for `fit_name`).
    described: an output format has a description beside its schema; else it is the description of the schema.
    bare_texts: an output that is a text can be requested without quotes (`text/x.enum`); else it is JSON.
    own_names: names that tools of the provider have, each after its canonical type: a function beside one gets another.

    >>> SchemaProfile(keywords=frozenset({"type", "enum"})).accepts("const")
    False
    """

    keywords: frozenset[str] | None = None
    formats: frozenset[str] | None = None
    ref_siblings: bool = True
    recursion: Literal["kept", "optional", "unrolled"] = "kept"
    unroll: int = 2
    type_case: Literal["lower", "upper", "either"] = "lower"
    type_lists: bool = True
    type_required: bool = False
    typed_keywords: bool = False
    null_type: bool = True
    nullable: bool = False
    boolean_schemas: bool = True
    string_counts: bool = False
    enum_types: frozenset[str] | None = None
    root_object: bool = False
    empty_root: Literal["kept", "omitted"] = "kept"
    empty_objects: Literal["kept", "placeholder", "text"] = "kept"
    closed_objects: bool = False
    all_required: bool = False
    required_exact: bool = False
    items_required: bool = False
    most_min_items: int | None = None
    max_depth: int | None = None
    max_properties: int | None = None
    max_enum_values: int | None = None
    property_names: NameRule | None = None
    names: NameRule | None = None
    own_names: tuple[tuple[str, str], ...] = ()
    described: bool = True
    bare_texts: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Part of the key of every remembered result; hashing two dozen fields would take longer than all the rest.
        values = tuple(getattr(self, one.name) for one in fields(self) if one.compare)
        object.__setattr__(self, "_hash", hash(values))

    def __hash__(self) -> int:
        return self._hash

    def accepts(self, keyword: str) -> bool:
        """Whether the keyword may stand in a schema of this target."""
        return self.keywords is None or keyword in self.keywords


class Change(NamedTuple):
    """One thing that is not in the lowered schema as it was in the original.

    `pointer` is a JSON pointer into the original: to the keyword, or to the node where the keyword was missing and
    the target demands it. `fate` is "approximated" (sent in another form, in the description too) or "lost".
    `narrows` is true where the target's demand excludes values that the original allows; everything else relaxes.
    """

    pointer: str
    keyword: str
    fate: Literal["approximated", "lost"]
    detail: str = ""
    narrows: bool = False


class Lowered(NamedTuple):
    """What `lower` gives: the schema, what changed, and what `restore_arguments` needs.

    `schema` is None where the target takes no schema. `undo` names what can be seen in arguments (see
    `restore_arguments`); with nothing in it, arguments stay as they come. `original` is the caller's schema.
    """

    schema: Any
    changes: tuple[Change, ...] = ()
    original: Any = None
    undo: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """What restoring needs, as a JSON object that can wait in a database; empty when there is nothing to restore.

        >>> Lowered({}).to_json()
        {}
        """
        return {"original": self.original, "undo": list(self.undo)} if self.undo else {}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Lowered:
        """From what `to_json` gave; good for `restore_arguments`, without the schema itself."""
        return cls(None, (), value.get("original"), tuple(value.get("undo", ())))
