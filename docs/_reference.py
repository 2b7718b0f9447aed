"""docs/reference.md: every class of the canonical model and its fields, written from the classes.

`python docs/_reference.py` renews the page, `--check` only compares. Descriptions of fields are in
`unified_llm/types/descriptions`, those of classes are their docstrings.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from _pages import renew
from unified_llm.types._generate import classes
from unified_llm.types.base import Kind, Model, field_capability

PAGE = Path(__file__).parent / "reference.md"
INTRO = """# Canonical model

All classes of `unified_llm.types` with their fields. The canonical model is a superset of
[Open Responses](https://www.openresponses.org/specification). A field is optional and absent unless its row contains
"required"; absent and `null` are different values. "Capability" is the name in a [loss report](losses.md). Unknown
fields are kept. Terms: [glossary](glossary.md).

```python
>>> import unified_llm as ul
>>> request = ul.read({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, "openai-chat", "request")
>>> request.input[0].role
'user'

```

This page is written by `docs/_reference.py`.
"""
SECTIONS = {  # heading: module names in reading order
    "Requests and settings": ("request", "settings", "tool_choice"),
    "Responses": ("response", "usage"),
    "Errors": ("errors",),
    "Items": ("itembase", "items", "context_items", "hosted_items", "action_items"),
    "Parts": ("parts",),
    "Annotations": ("annotations",),
    "Tools": ("toolbase", "tools", "hosted_tools"),
    "Events": ("eventbase", "events", "content_events", "hosted_events"),
    "Common": ("base",),
}
KINDS = {"item": "Item", "part": "Part", "annotation": "Annotation", "tool": "Tool", "event": "Event"}


def page() -> str:
    """The whole page."""
    found = [cls for cls in classes() if cls.__module__.startswith("unified_llm.types.")]
    parts = [INTRO]
    for heading, modules in SECTIONS.items():
        parts.append(f"## {heading}\n")
        for module in modules:
            here = [cls for cls in found if cls.__module__.rpartition(".")[2] == module and cls is not Model]
            parts += [_class(cls) for cls in sorted(here, key=lambda cls: inspect.getsourcelines(cls)[1])]
    return "\n".join(parts)


def _class(cls: type[Model]) -> str:
    lines = [f"### {cls.__name__}", "", *_summary(cls), ""]
    bases = [base for base in cls.__bases__ if issubclass(base, Model) and base is not Model]
    if bases:
        lines += [
            "Also the fields of " + ", ".join(f"[{base.__name__}](#{base.__name__.lower()})" for base in bases) + ".",
            "",
        ]
    rows = [
        _row(cls, name, info) for name, info in cls.__pydantic_fields__.items() if name in vars(cls)["__annotations__"]
    ]
    if rows:
        lines += ["| field | type | default | capability | description |", "| --- | --- | --- | --- | --- |", *rows, ""]
    return "\n".join(lines)


def _summary(cls: type[Model]) -> list[str]:
    """The docstring without its links, which follow in angle brackets, and without examples."""
    text = inspect.cleandoc(cls.__doc__ or "").partition(">>>")[0]
    links = re.findall(r"https://\S+", text)
    words = [line for line in re.sub(r"https://\S+", "", text).splitlines() if line.strip()]
    return [*(line.rstrip() for line in words), *([""] if links else []), *(f"<{link}>" for link in links)]


def _row(cls: type[Model], name: str, info: FieldInfo) -> str:
    default = "required" if info.is_required() else "" if info.default is None else f"`{info.default}`"
    capability = field_capability(info) or cls.node_capability
    cells = [f"`{info.alias or name}`", type_of(info), default, f"`{capability}`", info.description or ""]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def type_of(info: FieldInfo) -> str:
    """The type of a field as a reader of JSON sees it; `null` is omitted for an optional field."""
    return _type(Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation)


def _type(here: Any) -> str:
    origin, inside = get_origin(here), get_args(here)
    if origin is Annotated:
        kind = next((mark.name for mark in inside[1:] if isinstance(mark, Kind)), None)
        return f"[{KINDS[kind]}](#{kind}s)" if kind in KINDS else "tool choice object" if kind else _type(inside[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(each) for each in inside if each is not type(None)))
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in inside)
    if origin is list:
        return f"list of {_type(inside[0])}"
    if origin is dict:
        return "object"
    if isinstance(here, type) and issubclass(here, Model):
        return f"[{here.__name__}](#{here.__name__.lower()})"
    names = {str: "string", int: "integer", float: "number", bool: "boolean", Any: "any JSON"}
    return names.get(here, str(here))


def main() -> int:
    return renew({PAGE: page()})


if __name__ == "__main__":
    sys.exit(main())
