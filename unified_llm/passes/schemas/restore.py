"""Arguments as the original schema means them, from arguments made under the lowered one.

The walk follows the original schema, not the lowered one: what the original forbids and lowering brought in (a null for
what was left out, an unused property, JSON text, another name) is undone; what the original allows is never touched.
"""

from __future__ import annotations

from typing import Any

from ...foundation.json_codec import dump_text, load_text
from .containers import renamed
from .merge import as_types
from .profile import PLACEHOLDER, WRAPPER, Lowered, SchemaProfile
from .refs import References

__all__ = ["restore_arguments"]

Schema = dict[str, Any]


def restore_arguments(arguments: Any, lowered: Lowered, profile: SchemaProfile | None = None) -> Any:
    """Undo in a tool's arguments (or in structured output) what lowering the schema did that can be seen there.

    Nulls of optional properties that had to be required are removed, unused properties that had to be there too; JSON
    text where an object was meant is parsed; a value that had to be wrapped in an object is unwrapped; renamed
    properties get their names back (`profile` is needed for that). `arguments` is a JSON value or JSON text, and text
    comes back as text: the same text where nothing is to be done, also when it is not JSON. Nothing is raised.

    >>> schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    >>> from unified_llm.passes.schemas import SchemaProfile, lower
    >>> strict = lower(schema, SchemaProfile(closed_objects=True, all_required=True))
    >>> strict.schema["required"], strict.undo
    (['a', 'b'], ('nulls',))
    >>> restore_arguments('{"a":"x","b":null}', strict)
    '{"a":"x"}'
    """
    if not lowered.undo:
        return arguments
    try:
        value = load_text(arguments) if isinstance(arguments, (str, bytes)) else arguments
        restored = _Restorer(lowered, profile).root(value)
        if restored is value:
            return arguments
        return dump_text(restored) if isinstance(arguments, (str, bytes)) else restored
    except (RecursionError, ValueError):
        return arguments


class _Restorer:
    def __init__(self, lowered: Lowered, profile: SchemaProfile | None) -> None:
        self.undo = frozenset(lowered.undo)
        self.schema = lowered.original
        self.profile = profile or SchemaProfile()
        self.references = References(self.schema)

    def root(self, value: Any) -> Any:
        if "wrapped" in self.undo and type(value) is dict and WRAPPER in value:
            value = value[WRAPPER]
        return self.value(value, [self.schema])

    def value(self, value: Any, schemas: list[Any]) -> Any:
        if type(value) not in (str, dict, list):
            return value
        meant = self.meant(schemas)
        if type(value) is str:
            return self.text(value, meant)
        if type(value) is list:
            out = [self.value(item, self.items(meant, index)) for index, item in enumerate(value)]
            return value if all(new is old for new, old in zip(out, value)) else out
        return self.object(value, meant)

    def meant(self, schemas: list[Any]) -> list[Schema]:
        """Every schema that may apply to a value: references followed, unions and intersections opened."""
        out: list[Schema] = []
        seen: set[int] = set()
        todo = list(reversed(schemas))
        while todo:
            schema = todo.pop()
            if type(schema) is not dict or id(schema) in seen:
                continue
            seen.add(id(schema))
            out.append(schema)
            if type(schema.get("$ref")) is str:
                found = self.references.resolve(schema["$ref"])
                todo += [found[0]] if found else []
            for key in ("allOf", "anyOf", "oneOf"):
                todo += reversed(schema[key]) if type(schema.get(key)) is list else []
        return out

    def text(self, value: str, meant: list[Schema]) -> Any:
        """JSON text of an object, where an object was meant and no string."""
        if "text" not in self.undo:
            return value
        kinds = {kind for schema in meant for kind in as_types(schema.get("type"))}
        if "object" not in kinds or "string" in kinds:
            return value
        try:
            parsed = load_text(value)
        except ValueError:
            return value
        return self.value(parsed, list(meant)) if type(parsed) is dict else value

    def items(self, meant: list[Schema], index: int) -> list[Any]:
        out: list[Any] = []
        for schema in meant:
            items = schema.get("items")
            members = items if type(items) is list else schema.get("prefixItems")
            if type(members) is list and index < len(members):
                out.append(members[index])
            else:
                out.append(items)
        return out

    def object(self, value: Schema, meant: list[Schema]) -> Schema:
        maps = [schema["properties"] for schema in meant if type(schema.get("properties")) is dict]
        required = {n for s in meant if type(s.get("required")) is list for n in s["required"] if type(n) is str}
        names: dict[str, str] = {}
        if "names" in self.undo:
            for properties in maps:
                names.update({new: name for name, new in renamed(properties, self.profile).items() if new != name})
        out: Schema = {}
        for key, inner in value.items():
            name = names.get(key, key)
            schemas = [properties[name] for properties in maps if name in properties]
            if not schemas:
                if name == PLACEHOLDER and "placeholder" in self.undo:
                    continue
                schemas = [schema.get("additionalProperties") for schema in meant]
            elif inner is None and "nulls" in self.undo and name not in required and not self.nullable(schemas):
                continue
            out[name] = self.value(inner, schemas)
        same = list(out) == list(value) and all(out[key] is value[key] for key in out)
        return value if same else out

    def nullable(self, schemas: list[Any]) -> bool:
        """Whether null is a value the original allows (every one of the schemas, one branch of a union at least)."""
        return all(self._takes_null(schema, 0) for schema in schemas)

    def _takes_null(self, schema: Any, depth: int) -> bool:
        if type(schema) is not dict or depth > 50:
            return schema is not False
        if schema.get("nullable") is True:
            return True
        if "type" in schema and "null" not in as_types(schema["type"]):
            return False
        if "const" in schema and schema["const"] is not None:
            return False
        if type(schema.get("enum")) is list and None not in schema["enum"]:
            return False
        if type(schema.get("$ref")) is str:
            found = self.references.resolve(schema["$ref"])
            if found and not self._takes_null(found[0], depth + 1):
                return False
        if type(schema.get("allOf")) is list and not all(self._takes_null(b, depth + 1) for b in schema["allOf"]):
            return False
        for key in ("anyOf", "oneOf"):
            branches = schema.get(key)
            if type(branches) is list and branches and not any(self._takes_null(b, depth + 1) for b in branches):
                return False
        return True
