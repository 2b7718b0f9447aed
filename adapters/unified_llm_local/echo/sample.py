"""A value for any JSON schema: always the same one, and valid where the schema can be satisfied by simple means.

Optional properties are filled in down to a depth, so that every branch of a schema is seen; below it only what is
required is, and null where it is allowed, so that a schema that refers to itself ends. Keywords that a protocol does
not have are in the description (`multipleOf: 5`, `JSON text of: {...}`), and are followed as a model follows them.
"""

from __future__ import annotations

import json
import math
import re
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

DEEP = 4
"""From this depth on only required properties are made."""

FORMATS = {
    "date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "duration": "P1D",
    "email": "ann@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
    "uri": "https://example.com/", "uri-reference": "/a", "uuid": "00000000-0000-4000-8000-000000000000",
    "byte": "ZWNobw==", "regex": ".*", "json-pointer": "/a",
}  # fmt: skip


_LINE = re.compile(
    r"^(JSON text of|Allowed values|format|pattern|multipleOf|prefixItems|uniqueItems"
    r"|(?:min|max)(?:imum|Length|Items|Properties)|exclusiveM(?:in|ax)imum): (.+)$",
    re.MULTILINE,
)


def sample(schema: Any, name: str = "value") -> Any:
    """A value that `schema` accepts. A text without other hints is `name`, the property it is for.

    >>> sample({"properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}}})
    {'city': 'city', 'days': 2}
    """
    return _value(schema, schema, name, 0)


def _merged(schema: dict[str, Any], root: Any, seen: int = 0, *, ending: bool = False) -> dict[str, Any]:
    """The schema with its reference, its allOf and its first choice written into it; null, where it has to end."""
    if seen > 20:
        return {k: v for k, v in schema.items() if k not in ("$ref", "ref", "allOf", "anyOf", "oneOf")}
    more: list[Any] = []
    if isinstance(schema.get("$ref"), str):
        more.append(_found(schema["$ref"], root))
    more += schema.get("allOf") or []
    for key in ("anyOf", "oneOf", "any_of"):
        choices = [c for c in schema.get(key) or [] if c is not False]
        if choices:
            plain = [c for c in choices if isinstance(c, dict) and "$ref" not in c and c.get("type") != "null"]
            nothing = [c for c in choices if isinstance(c, dict) and c.get("type") == "null"]
            ends = ending or (plain and _is_cut(plain[0]))
            more.append((nothing if nothing and ends else plain or choices)[0])
    merged = {k: v for k, v in schema.items() if k not in ("$ref", "allOf", "anyOf", "oneOf", "any_of")}
    for each in more:
        if not isinstance(each, dict):
            continue
        each = _merged(each, root, seen + 1, ending=ending)
        for key, value in each.items():
            held = merged.get(key)
            if key == "properties" and isinstance(held, dict):
                merged[key] = {**held, **value}
            elif key == "required" and isinstance(held, list):
                merged[key] = [*held, *(k for k in value if k not in held)]
            elif key in ("minimum", "minLength", "minItems") and held is not None:
                merged[key] = max(held, value)
            elif key in ("maximum", "maxLength", "maxItems") and held is not None:
                merged[key] = min(held, value)
            else:
                merged.setdefault(key, value)
    return merged


def _is_cut(schema: dict[str, Any]) -> bool:
    """Whether a schema is what is left of one that refers to itself: an object of which nothing more is known."""
    found = _described(schema)
    return {k: v for k, v in found.get("JSON text of", found).items() if k not in _WORDS} == {"type": "object"}


_WORDS = ("title", "description")


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the keywords that stand in its description."""
    found: dict[str, Any] = {}
    text = schema.get("description")
    for keyword, line in _LINE.findall(text) if isinstance(text, str) else ():
        try:
            found[keyword] = json.loads(f"[{line}]") if keyword == "Allowed values" else json.loads(line)
        except ValueError:
            continue  # words of the author, which only look like one
    if "Allowed values" in found:
        found["enum"] = found.pop("Allowed values")
    return {**schema, **found}  # what stands there in words may be stricter: `minItems: 2` beside the 1 that is taken


def _found(reference: str, root: Any) -> Any:
    node = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if step:
            node = node.get(step) if isinstance(node, dict) else None
    return node if node is not None else {}


def _value(schema: Any, root: Any, name: str, depth: int) -> Any:
    if not isinstance(schema, dict):
        return name
    if depth > 40:
        return None
    schema = _described(_merged(schema, root, ending=depth >= DEEP))
    if isinstance(schema.get("JSON text of"), dict):
        return json.dumps(_value(schema["JSON text of"], root, name, depth))
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kinds = schema.get("type")
    kinds = [k.lower() for k in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(k, str)]
    if depth >= DEEP and "null" in kinds:
        return None
    kind = next((k for k in kinds if k != "null"), "null" if kinds else _guessed(schema))
    if kind == "object":
        return _object(schema, root, depth)
    if kind == "array":
        return _array(schema, root, name, depth)
    if kind in ("integer", "number"):
        return _number(schema, kind == "integer")
    if kind == "boolean":
        return True
    return None if kind == "null" else _text(schema, name)


def _guessed(schema: dict[str, Any]) -> str:
    if "properties" in schema or "required" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema or "minItems" in schema:
        return "array"
    return "number" if {"minimum", "maximum", "multipleOf"} & schema.keys() else "string"


def _object(schema: dict[str, Any], root: Any, depth: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    required = schema.get("required") or []
    wanted = [k for k, v in properties.items() if v is not False and (depth < DEEP or k in required)]
    made = {key: _value(properties[key], root, key, depth + 1) for key in wanted}
    other = schema.get("additionalProperties")
    for key in required:
        if key not in made:
            made[key] = _value(other, root, key, depth + 1) if isinstance(other, dict) else key
    least = int(schema.get("minProperties") or 0)
    while len(made) < least:
        key = f"key{len(made)}"
        made[key] = _value(other, root, key, depth + 1) if isinstance(other, dict) else key
    return made


def _array(schema: dict[str, Any], root: Any, name: str, depth: int) -> list[Any]:
    first = schema.get("prefixItems") or []
    made = [_value(each, root, name, depth + 1) for each in first]
    items = schema.get("items")
    least = int(schema.get("minItems") or 0)
    most = schema.get("maxItems")
    wanted = max(least, 1 if items is not False and not first and depth < DEEP else 0)
    wanted = min(wanted, int(most)) if most is not None else wanted
    while len(made) < wanted:
        each = _value(items, root, name, depth + 1)
        made.append(_another(each, items, len(made)) if schema.get("uniqueItems") and each in made else each)
    return made[: int(most)] if most is not None else made


def _another(value: Any, schema: Any, number: int) -> Any:
    """A different one, for lists whose members may not repeat."""
    if isinstance(schema, dict) and schema.get("enum"):
        return schema["enum"][number % len(schema["enum"])]
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, (int, float)):
        step = schema.get("multipleOf", 1) if isinstance(schema, dict) else 1
        return value + number * step
    return f"{value}{number}" if isinstance(value, str) else value


def _number(schema: dict[str, Any], whole: bool) -> int | float:
    low, high = _bound(schema, "minimum", "exclusiveMinimum", 1), _bound(schema, "maximum", "exclusiveMaximum", -1)
    step = schema.get("multipleOf") or (1 if whole else None)
    low_open, high_open = low[1], high[1]
    at: int | float = low[0] if low[0] is not None else min(1, high[0]) if high[0] is not None else 1
    if step:
        at = math.ceil(at / step) * step
        if low_open and at == low[0]:
            at += step
        if low[0] is None and high[0] is not None:
            at = math.floor(high[0] / step) * step if at > high[0] else at
            at = at - step if high_open and at == high[0] else at
    elif low_open or (high_open and at == high[0]):
        other = high[0] if low_open else None
        at = (at + other) / 2 if other is not None else at + (1 if low_open else -1)
    return int(at) if whole or (isinstance(at, float) and at.is_integer()) else at


def _bound(schema: dict[str, Any], name: str, other: str, sign: int) -> tuple[Any, bool]:
    """A bound and whether it is itself outside; int64 bounds of one provider are texts."""
    closed, outside = schema.get(name), schema.get(other)
    closed = float(closed) if isinstance(closed, str) else closed
    if isinstance(outside, bool):
        return closed, outside
    if outside is None or (closed is not None and sign * closed > sign * outside):
        return closed, False
    return outside, True


def _text(schema: dict[str, Any], name: str) -> str:
    said = FORMATS.get(schema.get("format", ""))
    if said is None and isinstance(schema.get("pattern"), str):
        try:
            said = _matching(sre_parser.parse(schema["pattern"]))
        except (re.error, OverflowError, RecursionError):
            said = None
    said = name if said is None else said
    least, most = int(schema.get("minLength") or 0), schema.get("maxLength")
    said = said if len(said) >= least else (said or "x") * (least // max(len(said), 1) + 1)
    said = (
        said[: max(least, len(name))]
        if len(said) > least and "pattern" not in schema and "format" not in schema
        else said
    )
    return said[: int(most)] if most is not None else said


def _matching(tree: Any) -> str:
    """A text that a regular expression matches, without looking around or back."""
    said = ""
    for what, value in tree:
        if what is sre.LITERAL:
            said += chr(value)
        elif what is sre.ANY:
            said += "a"
        elif what is sre.NOT_LITERAL:
            said += "a" if value != ord("a") else "b"
        elif what is sre.IN:
            said += _member(value)
        elif what is sre.BRANCH:
            said += _matching(value[1][0])
        elif what is sre.SUBPATTERN:
            said += _matching(value[-1])
        elif what in (sre.MAX_REPEAT, sre.MIN_REPEAT, getattr(sre, "POSSESSIVE_REPEAT", None)):
            least, most, inner = value
            said += _matching(inner) * (least or min(1, most))
    return said


CATEGORIES = {"CATEGORY_DIGIT": "0", "CATEGORY_WORD": "a", "CATEGORY_SPACE": " "}


def _member(choices: Any) -> str:
    if choices[0][0] is sre.NEGATE:
        inside = re.compile("x")  # any character that none of the choices names
        for letter in "aA0 -_.:/":
            if not any(_names(choice, letter) for choice in choices[1:]):
                return letter
        return inside.pattern
    what, value = choices[0]
    if what is sre.RANGE:
        return chr(value[0])
    return chr(value) if what is sre.LITERAL else CATEGORIES.get(str(value), "-")


def _names(choice: Any, letter: str) -> bool:
    what, value = choice
    if what is sre.LITERAL:
        return bool(value == ord(letter))
    if what is sre.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    tests = {"CATEGORY_DIGIT": letter.isdigit(), "CATEGORY_WORD": letter.isalnum() or letter == "_",
             "CATEGORY_SPACE": letter.isspace()}  # fmt: skip
    return tests.get(str(value), True)
