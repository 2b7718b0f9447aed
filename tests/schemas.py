"""Profiles of targets as examples, and generated schemas, for the tests of schema lowering."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from unified_llm.passes.schemas import Lowered, NameRule, SchemaProfile, lower
from unified_llm.suite.mutate import replaced
from unified_llm.suite.walk import leaves

SUBSET_OF_OPENAPI = SchemaProfile(
    keywords=frozenset(
        "type format title description nullable enum items minItems maxItems properties required minProperties "
        "maxProperties minLength maxLength pattern example anyOf propertyOrdering default minimum maximum".split()
    ),
    formats=frozenset("enum date-time int32 int64 float double".split()),
    recursion="unrolled",
    unroll=1,
    type_case="upper",
    type_lists=False,
    type_required=True,
    typed_keywords=True,
    null_type=False,
    nullable=True,
    boolean_schemas=False,
    string_counts=True,
    enum_types=frozenset({"string"}),
    root_object=True,
    empty_root="omitted",
    required_exact=True,
    items_required=True,
    names=NameRule("A-Za-z_", "A-Za-z0-9_.:-", 128),
)
STRICT = SchemaProfile(
    keywords=frozenset(
        "type description title enum const anyOf $ref $defs properties required additionalProperties items pattern "
        "format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split()
    ),
    formats=frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split()),
    ref_siblings=False,
    type_required=True,
    boolean_schemas=False,
    root_object=True,
    empty_objects="text",
    closed_objects=True,
    all_required=True,
    required_exact=True,
    items_required=True,
    max_depth=10,
    max_properties=5000,
    max_enum_values=1000,
    property_names=NameRule("A-Za-z0-9_.-", "A-Za-z0-9_.-", 64),
)
SUBSET_OF_JSON_SCHEMA = SchemaProfile(
    keywords=frozenset(
        "$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum "
        "maximum anyOf oneOf properties additionalProperties required propertyOrdering".split()
    ),
    ref_siblings=False,
    recursion="optional",
    enum_types=frozenset({"string", "number"}),
    required_exact=True,
)
ALL_OF_IT = SchemaProfile()
ROOT_ONLY = SchemaProfile(root_object=True, property_names=NameRule("A-Za-z0-9_.-", "A-Za-z0-9_.-", 64))
CLOSED = SchemaProfile(
    keywords=frozenset(
        "type anyOf allOf enum const $ref $defs title description properties required items additionalProperties "
        "format minItems".split()
    ),
    recursion="unrolled",
    closed_objects=True,
)
BARE = SchemaProfile(
    keywords=frozenset({"type", "properties", "required", "items", "enum"}),
    type_lists=False,
    boolean_schemas=False,
    empty_objects="placeholder",
    max_depth=3,
    max_properties=4,
    max_enum_values=3,
)
PROFILES = {
    "openapi": SUBSET_OF_OPENAPI,
    "strict": STRICT,
    "subset": SUBSET_OF_JSON_SCHEMA,
    "all": ALL_OF_IT,
    "root": ROOT_ONLY,
    "closed": CLOSED,
    "bare": BARE,
}


def changed(done: Lowered) -> list[tuple[str, str, str]]:
    return [(change.pointer, change.keyword, change.fate) for change in done.changes]


def inside(schema: Any, profile: SchemaProfile, name: str = "p") -> tuple[Any, list[tuple[str, str, str]]]:
    """A schema lowered as a property, so that the rules of the root stay out of sight; pointers are relative."""
    root = {"type": "object", "properties": {name: schema}, "required": [name]}
    done = lower(root, profile)
    prefix = f"/properties/{name}"
    found = [(at[len(prefix) :], key, fate) for at, key, fate in changed(done) if at.startswith(prefix)]
    return done.schema["properties"][name], found


# Generated schemas ---------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.sampled_from([None, True, False, -2, 0, 1, 3, 0.5, 1.0, -2.5, "", "a", "bb", "2020-01-01"])
VALUES = st.recursive(
    SCALARS, lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(NAMES, v, max_size=3)), max_leaves=6
)
REFS = ["#", "#/$defs/a", "#/$defs/b", "#/definitions/c", "#/properties/a"]
TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"]
ANY = "title description default enum const anyOf oneOf allOf not if then else $comment x-unknown".split()
OF_TYPE = {
    "object": "properties required additionalProperties patternProperties propertyNames minProperties maxProperties "
    "dependentRequired dependentSchemas unevaluatedProperties".split(),
    "array": "items prefixItems minItems maxItems uniqueItems contains minContains maxContains "
    "unevaluatedItems".split(),
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(),
    "string": "minLength maxLength pattern format".split(),
}
OF_TYPE["integer"] = OF_TYPE["number"]
ALL = [*ANY, *(key for keys in OF_TYPE.values() for key in keys)]
SINGLE = "not if then else propertyNames contains additionalProperties items".split()
CHOICES: dict[str, list[Any]] = {
    "title": ["t", "u"],
    "description": ["d", "e"],
    "$comment": ["c"],
    "pattern": ["^a", "b$"],
    "format": ["date", "date-time", "uri"],
    "multipleOf": [2, 0.5],
    "required": [[], ["a"], ["b"], ["a", "b"], ["b", "c"]],
    "dependentRequired": [{"a": ["b"]}, {"a": [], "c": ["a"]}],
    "uniqueItems": [True, False],
    "unevaluatedProperties": [True, False],
    "unevaluatedItems": [True, False],
    **{key: [-2, 0, 1, 2, 0.5, -1.5] for key in OF_TYPE["number"][:4]},
    **{key: [0, 1, 2, 3] for key in ALL if key.startswith(("min", "max")) and key[3:] not in ("imum",)},
}
PICKS = {key: st.sampled_from(values) for key, values in CHOICES.items()}
KINDS = st.sampled_from("object object array string number integer several none mixed bool".split())
FEW, TWO, SEED = st.integers(1, 3), st.integers(0, 2), st.integers(0, 999)


def make(draw: st.DrawFn, depth: int, refs: list[str]) -> Any:
    """A schema; by hand, because composed strategies take a hundred times as long."""
    if depth <= 0:
        simple = [True, False, {}, *({"type": kind} for kind in TYPES), *({"$ref": ref} for ref in refs)]
        return draw(st.sampled_from(simple))
    kind = draw(KINDS)
    if kind == "bool":
        return draw(st.sampled_from([True, False, *({"$ref": ref} for ref in refs)]))
    out: dict[str, Any] = {}
    pool = ALL
    if kind in OF_TYPE:
        out["type"] = kind
        pool = [*OF_TYPE[kind], *OF_TYPE[kind], *ANY]
    elif kind == "several":
        out["type"] = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True))
    elif kind == "mixed" and refs:
        out["$ref"] = draw(st.sampled_from(refs))
    for key in draw(st.lists(st.sampled_from(pool), max_size=4, unique=True)):
        out[key] = value_of(draw, key, depth, refs)
    return out


def value_of(draw: st.DrawFn, key: str, depth: int, refs: list[str]) -> Any:
    if key in PICKS:
        return json.loads(json.dumps(draw(PICKS[key])))
    if key in ("properties", "dependentSchemas"):
        return {name: make(draw, depth - 1, refs) for name in "abc"[: draw(TWO) + 1]}
    if key == "patternProperties":
        return {name: make(draw, depth - 1, refs) for name in ("^a", "c$")[: draw(FEW)]}
    if key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        return [make(draw, depth - 1, refs) for _ in range(draw(FEW))]
    if key in SINGLE:
        return make(draw, depth - 1, refs)
    if key == "enum":
        return draw(st.lists(SCALARS, min_size=1, max_size=3, unique_by=repr))
    return draw(SCALARS)


@st.composite
def documents(draw: st.DrawFn, foreign: bool = False) -> dict[str, Any]:
    """A whole schema with definitions; with `foreign`, other spellings and nonsense too."""
    refs = [*REFS, "#/$defs/none"] if foreign else REFS
    root = make(draw, 3, refs)
    if type(root) is not dict:
        root = {}
    if draw(st.booleans()):
        root.setdefault("type", "object")
    root["properties"] = {"a": make(draw, 1, []), **root.get("properties", {})}
    if draw(st.booleans()):
        root["$defs"] = {"a": make(draw, 2, refs), "b": make(draw, 2, refs)}
        root["definitions"] = {"c": make(draw, 2, refs)}
    else:
        root["$defs"] = {"a": {"type": "string"}, "b": {"enum": ["x", None]}}
        root["definitions"] = {"c": {"type": "object", "properties": {"a": {"$ref": "#/definitions/c"}}}}
    if foreign:
        paths = [path for path, _ in leaves(root)]
        for _ in range(draw(TWO)):
            path = draw(st.sampled_from(paths))
            odd = draw(st.sampled_from([None, {}, [], 7, "STRING", "OBJECT", "2", float("nan"), [True], {"a": None}]))
            try:
                root = replaced(root, path, odd)
            except (LookupError, TypeError):
                continue
        if draw(st.booleans()):
            root["nullable"] = draw(st.booleans())
    return root


def tree(value: Any) -> str:
    """JSON text in which key order counts and 1 is not true."""
    return json.dumps(value)
