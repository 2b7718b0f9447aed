"""The unions of nodes, by kind, for classes that are used before any node is.

To declare all items takes longer than to send a request and read the text of its response. So a field names a union
here by its kind, and what it holds is declared when the first validator is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from .base import Kind, Unknown

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from .annotations import Annotation
    from .events import Event
    from .items import Item
    from .parts import Part
    from .tool_choice import ToolChoice
    from .tools import Tool

__all__ = ["MODULES", "Annotation", "Event", "Item", "Part", "Tool", "ToolChoice", "unknown"]

MODULES = {
    "annotation": ("annotations", "Annotation"),
    "event": ("events", "Event"),
    "item": ("items", "Item"),
    "part": ("parts", "Part"),
    "tool": ("tools", "Tool"),
    "tool_choice": ("tool_choice", "ToolChoice"),
}
"""Kind -> the module of its union, and the union's name."""


def unknown(kind: str) -> type[Unknown] | None:
    """The class of a node of that kind whose type is unknown; None where there is none.

    >>> unknown("item").__name__
    'UnknownItem'
    """
    found: type[Unknown] | None = getattr(_home(kind), f"Unknown{MODULES[kind][1]}", None)
    return found


def _home(kind: str) -> Any:
    return import_module(f".{MODULES[kind][0]}", __package__)


@dataclass(frozen=True, slots=True)
class _Later(Kind):
    """Stands for the union of a kind."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(getattr(_home(self.name), MODULES[self.name][1]))


if not TYPE_CHECKING:
    Annotation, Event, Item, Part, Tool, ToolChoice = (Annotated[Any, _Later(kind)] for kind in MODULES)
