"""The names that editors complete: those of the adapters, the provider table and the catalog, and no others."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import unified_llm as ul
from unified_llm import models
from unified_llm.engine.registry import split
from unified_llm.models import _names, names

STUB = Path(str(names.__file__)).with_suffix(".pyi")


def offered(alias: str) -> list[str]:
    node = next(
        each
        for each in ast.parse(STUB.read_text("utf-8")).body
        if isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == alias
    )
    return [str(each.value) for each in ast.walk(node) if isinstance(each, ast.Constant)]


def test_the_generated_names_are_current() -> None:
    assert STUB.read_text("utf-8") == _names.text(), "run: python -m unified_llm.models._names"


def test_every_protocol_and_dialect_is_offered() -> None:
    found = offered("ProtocolName")
    assert set(ul.protocols()) < set(found)
    for name in found:
        split(name)  # raises for an unknown one


@pytest.mark.parametrize("name", offered("ProviderName"))
def test_every_provider_is_one(name: str) -> None:
    assert models.provider(name).id == name


def test_every_model_is_found() -> None:
    found = offered("ModelName")
    assert {"openai/gpt-5.5", "anthropic/claude-opus-4-7", "google/gemini-3-pro-preview", "local/echo"} < set(found)
    for name in found:
        assert name == "local/echo" or models.get(name).tool_call
    assert len(found) == len(set(found))


def test_any_other_string_is_as_good() -> None:
    assert names.ModelName is names.ProtocolName is names.ProviderName is names.KindName is str
    assert STUB.read_text("utf-8").count("    | str\n") == 4
