"""Rewrite the configuration reference of the gateway from its models: `python docs/_gateway.py`."""

from __future__ import annotations

from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from unified_llm.gateway.configuration import config

PAGE = Path(__file__).parent / "gateway-configuration.md"
START, END = "<!-- configuration -->", "<!-- /configuration -->"
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
    return "\n".join(out) + "\n"


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
    before, _, rest = page.read_text("utf-8").partition(START)
    return f"{before}{START}\n{reference()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE), "utf-8")
