"""The value of `text_format=`: a type that pydantic supports or a JSON schema, and how a text becomes a value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from ...foundation.usage_errors import InvalidArgument

__all__ = ["WRAPPER", "Format", "format_of"]

Node = dict[str, Any]
WRAPPER = "value"
"""The property that holds a value which is not an object in the arguments of a tool."""

_SETTINGS = ("json_object", "json_schema", "text")
_WANTS = "pass a pydantic model, a dataclass, a type such as list[int], or a JSON schema as a dict"


class Format:
    """A format: its name, its JSON schema, its Python type (None for a schema), and how a text becomes it."""

    def __init__(
        self, name: str, schema: Node, load: Callable[[str], Any], description: str = "", type_: Any = None
    ) -> None:
        self.name = name
        self.schema = schema
        self.load = load
        self.description = description
        self.type = type_

    def native(self) -> Node:
        """The canonical text format."""
        return {"type": "json_schema", "name": self.name, "schema": self.schema, "strict": True}

    def tool(self) -> Node:
        """The tool whose arguments are the answer; a schema other than an object's is its one property."""
        schema = self.schema
        if self.is_wrapped:
            definitions = {key: value for key, value in schema.items() if key in ("$defs", "definitions")}
            inner = {key: value for key, value in schema.items() if key not in definitions}
            schema = {"type": "object", "properties": {WRAPPER: inner}, "required": [WRAPPER], **definitions}
        about = self.description or "The answer. Call this with all of it, exactly once."
        return {"type": "function", "name": self.name, "description": about, "parameters": schema}

    @property
    def is_wrapped(self) -> bool:
        """Whether the tool's arguments hold the answer in a property of their own."""
        return self.schema.get("type") != "object"

    def instructions(self) -> str:
        """The schema in words."""
        schema = json.dumps(self.schema, ensure_ascii=False)
        return (
            f"Answer with one JSON value and nothing else: no prose, no code fence. It must fit this schema:\n{schema}"
        )


def format_of(given: Any, name: str | None = None) -> Format:
    """The format for `text_format=`: a type that pydantic supports, or a JSON schema.

    Raises `InvalidArgument` for anything else: a word, a value, the setting that a schema would be in.

    >>> format_of(list[int]).schema
    {'items': {'type': 'integer'}, 'type': 'array'}
    """
    if isinstance(given, dict):
        if given.get("type") in _SETTINGS:
            raise InvalidArgument(f"text_format= must be the schema, not a {given['type']!r} wrapper; {_WANTS}")
        called = name or str(given.get("title") or "answer")
        return Format(_name(called), given, _loads, str(given.get("description") or ""))
    from pydantic import PydanticUserError, TypeAdapter

    # (pydantic would take a text for the name of a type, and look for it among the modules.)
    if given is None or isinstance(given, str):
        raise InvalidArgument(f"text_format={given!r} is not a type; {_WANTS}")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(given)
        schema = adapter.json_schema()
    except PydanticUserError as error:
        if error.code == "typed-dict-version":
            reason = "is a typing.TypedDict; on Python 3.11 use typing_extensions.TypedDict"
            raise InvalidArgument(f"text_format={given!r} {reason}") from error
        raise InvalidArgument(f"text_format={given!r} has no schema; {_WANTS}") from error
    called = name or str(schema.get("title") or getattr(given, "__name__", "answer"))
    return Format(_name(called), schema, adapter.validate_json, str(schema.get("description") or ""), given)


def _name(text: str) -> str:
    return re.sub(r"\W", "_", text)[:64] or "answer"


def _loads(text: str) -> Any:
    from ...foundation.json_codec import load_text

    return load_text(text)
