"""The tables of data in this package: written by hand as TOML, read as the JSON made of it.

Run `python -m unified_llm.foundation.packaged` after any change to one; a test compares. To parse the TOML of the
provider table takes longer than a whole call to `local/echo`.
"""

from __future__ import annotations

import sys
from importlib import resources
from typing import Any

import orjson

__all__ = ["TABLES", "main", "table", "text"]

TABLES = (
    "gateway/clients",
    "gateway/configuration/yaml_import",
    "losses/advice",
    "losses/defaults",
    "losses/reasons",
    "losses/weights",
    "models/data/providers",
    "models/data/weights",
    "suite/certificate/words",
)
"""The tables, by their path in the package, without a suffix."""

_PACKAGE = __package__.partition(".")[0]


def table(name: str) -> dict[str, Any]:
    """The table of that name, one of `TABLES`.

    >>> table("losses/weights")["severity"]
    {'high': 6, 'medium': 2}
    """
    found: dict[str, Any] = orjson.loads((resources.files(_PACKAGE) / f"{name}.json").read_bytes())
    return found


def text(name: str) -> str:
    """The JSON of a table, made of its TOML."""
    import tomllib

    read = tomllib.loads((resources.files(_PACKAGE) / f"{name}.toml").read_text("utf-8"))
    return orjson.dumps(read, option=orjson.OPT_INDENT_2).decode() + "\n"


def main() -> int:
    """Write the JSON of each table, and print which of them changed."""
    from pathlib import Path

    root = Path(__file__).resolve().parent.parent
    for name in TABLES:
        path, made = root / f"{name}.json", text(name)
        changed = not path.exists() or path.read_text("utf-8") != made
        path.write_text(made, "utf-8")
        sys.stdout.write(f"{name}.json: {'written' if changed else 'unchanged'}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
