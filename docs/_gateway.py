"""The configuration reference of the gateway in docs/gateway-configuration.md, written from its models.

`python docs/_gateway.py` renews it, `--check` only checks that it is current (a test does the same).
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from _pages import filled, renew
from unified_llm.gateway.configuration import config

PAGE = Path(__file__).parent / "gateway-configuration.md"
TABLES = [each for each in vars(config).values() if isinstance(each, type) and issubclass(each, config.Table)]


def reference() -> str:
    """The tables of all models, in the order of the file."""
    out = []
    for table in TABLES:
        if table in (config.Config, config.Table):
            continue
        out += [
            "",
            f"## {(table.__doc__ or '').splitlines()[0]}",
            "",
            "| field | type | default | meaning |",
            "| --- | --- | --- | --- |",
        ]
        for name, field in table.model_fields.items():
            default = "required" if field.is_required() else shown(field.default)
            out.append(f"| `{name}` | {kind(field.annotation)} | {default} | {field.description} |")
    return "\n".join(out).strip()


def shown(value: Any) -> str:
    if value is None or value is PydanticUndefined:
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value!r}`".replace("'", '"')


def kind(annotation: Any) -> str:
    """A TOML type in words."""
    inner = [each for each in get_args(annotation) if each is not type(None)]
    if get_origin(annotation) in (Annotated, Union, UnionType):
        return kind(inner[0])
    if get_origin(annotation) is Literal:
        return " or ".join(f'`"{each}"`' for each in inner)
    words = {int: "integer", float: "number", bool: "boolean", str: "string", dict: "table"}
    if get_origin(annotation) is list:
        return f"list of {kind(inner[0])}s"
    return words[get_origin(annotation) or annotation]


def renewed(page: Path) -> str:
    """The page with the current reference."""
    return filled(page, {"configuration": reference()})


def main() -> int:
    return renew({PAGE: renewed(PAGE)})


if __name__ == "__main__":
    sys.exit(main())
