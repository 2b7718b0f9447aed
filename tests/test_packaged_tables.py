"""Tables are written as TOML and read as JSON: both have the same content, and nothing else reads the TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import unified_llm
from unified_llm.foundation import packaged

ROOT = Path(unified_llm.__file__).parent


@pytest.mark.parametrize("name", packaged.TABLES)
def test_the_json_of_a_table_is_that_of_its_toml(name: str) -> None:
    written = (ROOT / f"{name}.json").read_text("utf-8")
    assert written == packaged.text(name), "run python -m unified_llm.foundation.packaged"
    assert packaged.table(name) == tomllib.loads((ROOT / f"{name}.toml").read_text("utf-8"))


def test_every_table_of_the_package_is_read_this_way() -> None:
    found = {path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.rglob("*.toml")}
    assert found == set(packaged.TABLES)
