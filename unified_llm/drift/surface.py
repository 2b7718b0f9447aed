"""What an official SDK declares of a wire format, as plain data: nodes, their keys, the types of those.

A node is a kind of object. One that declares what it is (`type`, `event_type`, ... with one fixed word) goes by that
word, any other by the key it stands at, so that a renamed class is not a change. Where several classes are one node
(what is sent and what comes back) their keys are joined. JSON schemas give the same shape. SDKs are imported nowhere
else.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Literal, Union, get_args, get_origin

from ..engine.sdk_declarations import Surface

__all__ = ["of_schema", "of_types"]

TAGS = ("type", "event_type", "object")
"""Keys that declare what an object is, in the order they are looked at."""

HINTS = ("model", "agent", "betas")
"""Keys whose words are examples: a new model or header is not drift of a wire format."""


def of_types(roots: Mapping[str, str]) -> Surface:
    """The surface below some types, `{name: "module:Type"}`. A type that is not there is left out.

    Raises `ImportError` when the SDK is not installed.
    """
    surface: Surface = {}
    for name, where in roots.items():
        module, _, type_ = where.partition(":")
        try:
            root = getattr(import_module(module), type_)
        except (AttributeError, ModuleNotFoundError):
            import_module(module.partition(".")[0])
            continue
        _Walk(surface).node(root, name)
    return _sorted(surface)


def _sorted(surface: Surface) -> Surface:
    return {
        node: {key: sorted(set(kinds)) for key, kinds in sorted(keys.items())} for node, keys in sorted(surface.items())
    }


class _Walk:
    """One walk down declared types; a class is entered once."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self.seen: set[Any] = set()

    def node(self, annotation: Any, at: str) -> list[str]:
        """What an annotation is, in words; the structs in it become nodes."""
        found: list[str] = []
        for member in _members(annotation):
            origin = get_origin(member)
            if origin is Literal:
                found += [f'"{word}"' for word in get_args(member)]
            elif _is_struct(member):
                # An SDK's class for unknown objects is not a declaration.
                found += [] if member.__name__.startswith("Unknown") else [self.struct(member, at)]
            elif origin in (dict, Mapping) or (inspect.isclass(origin) and issubclass(origin, Mapping)):
                found += [f"{kind}{{}}" for kind in self.node(get_args(member)[-1], at)]
            elif origin is not None and get_args(member):
                found += [f"{kind}[]" for kind in self.node(get_args(member)[0], at)]
            elif inspect.isclass(member) and getattr(member, "__members__", None):
                found += [f'"{word.value}"' for word in getattr(member, "__members__").values()]  # noqa: B009
            elif member not in (types.NoneType, None):
                found.append(_plain(member))
        return found

    def struct(self, struct: Any, at: str) -> str:
        fields = _fields(struct)
        name = _tag(fields) or at
        if (struct, name) not in self.seen:
            self.seen.add((struct, name))
            keys = self.surface.setdefault(name, {})
            for key, annotation in fields.items():
                kinds = self.node(annotation, f"{name}.{key}" if "." not in name else key)
                words = [kind for kind in kinds if kind.startswith('"')] if key in HINTS else []
                keys.setdefault(key, []).extend([kind for kind in kinds if kind not in words] or ["string"])
        return name


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", bytes: "string", object: "any"}


def _plain(member: Any) -> str:
    if member is Any:
        return "any"
    if inspect.isclass(member) and issubclass(member, str):
        return "string"
    return _PLAIN.get(member, getattr(member, "__name__", str(member)))


def _tag(fields: Mapping[str, Any]) -> str:
    for key in TAGS:
        for member in _members(fields[key]) if key in fields else ():
            if get_origin(member) is Literal and len(get_args(member)) == 1:
                return str(get_args(member)[0])
    return ""


def _members(annotation: Any) -> Iterator[Any]:
    """The members of a union, through aliases and marks; any other type is its own single member."""
    while True:
        origin = get_origin(annotation)
        if origin in (typing.Annotated, typing.Required, typing.NotRequired):
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, getattr(typing, "TypeAliasType", ())) or hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            break
    if origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    elif not isinstance(annotation, (str, typing.ForwardRef)):
        yield annotation


def _is_struct(declared: Any) -> bool:
    return inspect.isclass(declared) and (hasattr(declared, "model_fields") or hasattr(declared, "__required_keys__"))


def _fields(struct: Any) -> dict[str, Any]:
    """The declared keys by their name on the wire."""
    if hasattr(struct, "model_fields"):
        return {info.alias or name: info.annotation for name, info in struct.model_fields.items()}
    hints: dict[str, Any] = typing.get_type_hints(struct, include_extras=True)
    return hints


# ---- JSON schemas ---------------------------------------------------------------------------------------------------


def of_schema(document: Mapping[str, Any]) -> Surface:
    """The surface of an OpenAPI document or of a schema with definitions."""
    definitions: Mapping[str, Any] = document.get("components", {}).get("schemas") or document.get("$defs") or {}
    surface: Surface = {}
    for name, schema in definitions.items():
        properties = _properties(schema, definitions)
        if properties:
            keys = surface.setdefault(_schema_tag(properties) or name, {})
            for key, inner in properties.items():
                keys.setdefault(key, []).extend(_schema_kinds(inner, definitions))
    return _sorted(surface)


def _properties(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in schema.get("allOf", ()):
        found |= _properties(_target(part, definitions), definitions)
    found |= schema.get("properties", {})
    return found


def _target(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    target: Mapping[str, Any] = definitions.get(name, {}) if name else schema
    return target


def _schema_tag(properties: Mapping[str, Any]) -> str:
    for key in TAGS:
        words = properties.get(key, {}).get("enum") or [properties.get(key, {}).get("const")]
        if len(words) == 1 and isinstance(words[0], str):
            return words[0]
    return ""


def _schema_kinds(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for key in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(key, ()):
            found += _schema_kinds(part, definitions)
    if "$ref" in schema:
        target = _target(schema, definitions)
        properties = _properties(target, definitions)
        name = str(schema["$ref"]).rpartition("/")[2]
        return found + ([_schema_tag(properties) or name] if properties else _schema_kinds(target, definitions))
    words = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if words:
        return found + [f'"{word}"' for word in words if word is not None]
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind == "array":
            found += [f"{inner}[]" for inner in _schema_kinds(schema.get("items", {}), definitions)]
        elif kind != "null":
            found.append(kind)
    return found


def main() -> None:
    """Print the surfaces of the roots on the command line: how another environment's SDK is looked at."""
    import json
    import sys

    out = {}
    for protocol, roots in json.loads(sys.argv[1]).items():
        try:
            out[protocol] = {"sdk": release(roots), "nodes": of_types(roots)}
        except ImportError as error:
            out[protocol] = {"missing": str(error)}
    json.dump(out, sys.stdout)


def release(roots: Mapping[str, str]) -> str:
    """The SDK that declares the roots, with its version: `name 1.2.3`.

    A module that makes types of what another package declares names that package in `__sdk__`.
    """
    name = next(iter(roots.values())).partition(":")[0]
    while name:
        module = import_module(name) if name.count(".") < 2 else None
        version = getattr(module, "__version__", None)
        if version:
            return f"{getattr(module, '__sdk__', name.replace('.', '-'))} {version}"
        name = name.rpartition(".")[0]
    return ""


if __name__ == "__main__":
    main()
