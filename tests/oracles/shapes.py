"""The shape of JSON objects in one line each, and a walker that complains in the words of a provider.

A line is words `name`, `name!` (must be there) or `name?` (may be null), then `:types` (s text, i whole number, n
number,
b truth, o object, a list; several with `/`) or `=a|b` for the values there are. A name alone may hold anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from oracles.refusal import Refused

Path = tuple["str | int", ...]
Node = dict[str, Any]
WORD = re.compile(r"([^!?:=]+)([!?]*)(?::(.+)|=(.+))?")
NAMES = {"s": "string", "i": "integer", "n": "number", "b": "boolean", "o": "object", "a": "array"}


@dataclass(frozen=True)
class Field:
    """What one key may hold."""

    required: bool
    nullable: bool
    types: tuple[str, ...]
    values: tuple[str, ...]


@cache
def fields(line: str) -> dict[str, Field]:
    """The fields of a line."""
    found = {}
    for word in line.split():
        named = WORD.fullmatch(word)
        assert named is not None, word
        name, marks, types, values = named.groups()
        found[name] = Field("!" in marks, "?" in marks, tuple((types or "").split("/")) if types else (),
                            tuple(values.split("|")) if values else ())  # fmt: skip
    return found


def is_a(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a kind; `1.0` is a whole number as it is in JSON, `true` is none."""
    if kind == "i":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool)
    if kind == "n":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, {"s": str, "b": bool, "o": dict, "a": list}[kind])


def kind_of(value: Any) -> str:
    """What a JSON value is called."""
    if value is None:
        return "null"
    return next(NAMES[kind] for kind in "sbinoa" if is_a(value, kind))


class Checker:
    """Walks a body. A provider's own checker defines how paths and problems read; every method raises `Refused`."""

    def path(self, path: Path) -> str:
        """The path as the provider writes it."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")

    def refuse(self, path: Path, message: str, code: str | None = None) -> NoReturn:
        """Refuse."""
        raise Refused(message, param=self.path(path) or None, code=code)

    def missing(self, path: Path) -> NoReturn:
        """A key that must be there is not."""
        raise NotImplementedError

    def unknown(self, path: Path) -> NoReturn:
        """An unknown key."""
        raise NotImplementedError

    def wrong(self, path: Path, expected: str, value: Any) -> NoReturn:
        """A value of another type."""
        raise NotImplementedError

    def value(self, path: Path, values: tuple[str, ...], value: Any) -> NoReturn:
        """A value that is none of those there are."""
        raise NotImplementedError

    def object(self, value: Any, path: Path, line: str, strangers: bool = False) -> Node:
        """The value, an object of the shape of `line`; keys of other names pass with `strangers`."""
        if not isinstance(value, dict):
            self.wrong(path, "object", value)
        known = fields(line)
        for name, field in known.items():
            if name not in value:
                if field.required:
                    self.missing((*path, name))
                continue
            held, at = value[name], (*path, name)
            if held is None:
                if not field.nullable and (field.types or field.values):
                    self.wrong(at, " or ".join(NAMES[t] for t in field.types) or "value", held)
            elif field.values:
                if not isinstance(held, str):
                    self.wrong(at, "string", held)
                if held not in field.values:
                    self.value(at, field.values, held)
            elif field.types and not any(is_a(held, kind) for kind in field.types):
                self.wrong(at, " or ".join(NAMES[t] for t in field.types), held)
        for name in value if not strangers else ():
            if name not in known:
                self.unknown((*path, name))
        return value

    def range(self, node: Node, path: Path, name: str, low: float | None = None, high: float | None = None) -> None:
        """A number within bounds, if it is there."""
        value = node.get(name)
        if value is None:
            return
        if low is not None and value < low:
            self.refuse((*path, name), self.bound(self.path((*path, name)), f"greater than or equal to {low}", value))
        if high is not None and value > high:
            self.refuse((*path, name), self.bound(self.path((*path, name)), f"less than or equal to {high}", value))

    def bound(self, path: str, bound: str, value: Any) -> str:
        """A number out of bounds."""
        return f"Invalid '{path}': expected a value {bound}, but got {value} instead."

    def schema(self, value: Any, path: Path) -> None:
        """A JSON schema that is one: types there are, containers of the right kind, references that lead somewhere."""
        for at, problem in schema_problems(value, value):
            self.refuse((*path, *at), f"Invalid schema at '{self.path((*path, *at))}': {problem}", "invalid_schema")


TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
ONES = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")


NUMBERS = ("minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
           "maxProperties")  # fmt: skip


def nodes(schema: Any, path: Path = ()) -> list[tuple[Path, Node]]:
    """Every object of a schema that is itself a schema, with its path."""
    if not isinstance(schema, dict):
        return []
    found = [(path, schema)]
    for key in MAPS:
        if isinstance(schema.get(key), dict):
            for name, each in schema[key].items():
                found += nodes(each, (*path, key, name))
    for key in LISTS:
        if isinstance(schema.get(key), list):
            for place, each in enumerate(schema[key]):
                found += nodes(each, (*path, key, place))
    for key in ONES:
        found += nodes(schema.get(key), (*path, key))
    return found


def schema_problems(schema: Any, root: Any) -> list[tuple[Path, str]]:
    """What makes a JSON schema none."""
    problems: list[tuple[Path, str]] = []
    for path, node in nodes(schema):
        kinds = node.get("type", [])
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if not isinstance(kind, str) or kind.lower() not in TYPES:
                problems.append(((*path, "type"), f"{kind!r} is not a type"))
        required = node.get("required", [])
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            problems.append(((*path, "required"), "must be an array of strings"))
        for key in NUMBERS:
            if key in node and not is_a(node[key], "n") and not str(node[key]).lstrip("-").isdecimal():
                problems.append(((*path, key), "must be a number"))
        if "enum" in node and not isinstance(node["enum"], list):
            problems.append(((*path, "enum"), "must be an array"))
        for key in MAPS[:2]:
            if not isinstance(node.get(key, {}), dict):
                problems.append(((*path, key), "must be an object"))
        for key in LISTS:
            if not isinstance(node.get(key, []), list):
                problems.append(((*path, key), "must be an array"))
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#") and not _leads(reference, root):
            problems.append(((*path, "$ref"), f"reference {reference!r} can't be resolved"))
    return problems


def _leads(reference: str, root: Any) -> bool:
    node = root
    for step in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and step.isdecimal() and int(step) < len(node):
            node = node[int(step)]
        elif isinstance(node, dict) and step in node:
            node = node[step]
        else:
            return False
    return True
