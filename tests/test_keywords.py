"""The texts of keyword arguments are found by a search of the source; a parser finds the same."""

from __future__ import annotations

import ast
import inspect
import pickle
from pathlib import Path
from types import ModuleType

import pytest

import unified_llm
from unified_llm.client import params
from unified_llm.client.tools import function_tools
from unified_llm.client.transports import transport
from unified_llm.client.upstreams import options
from unified_llm.passes.keyword_arguments import texts_in


def parsed(file: str) -> dict[str, str]:
    out: dict[str, str] = {}
    for node in ast.parse(Path(file).read_text("utf-8")).body:
        for field, text in zip(node.body, node.body[1:]) if isinstance(node, ast.ClassDef) else ():
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                out[ast.unparse(field.target)] = str(text.value.value).strip()
    return out


@pytest.mark.parametrize("module", [params, transport, options, function_tools], ids=lambda each: each.__name__)
def test_the_texts_are_those_that_a_parser_finds(module: ModuleType) -> None:
    assert module.__file__ is not None
    found = texts_in(module.__file__)
    assert found and found == parsed(module.__file__)


def test_without_a_source_there_are_none(tmp_path: Path) -> None:
    assert texts_in(str(tmp_path / "gone.py")) == {}


def test_a_signature_is_one_of_python_in_every_use() -> None:
    """That of a bound method, which leaves out the first parameter, a changed copy, and one that was pickled."""
    client = unified_llm.Client("local/echo")
    shown = inspect.signature(client.responses.create)
    assert "input" in shown.parameters and "self" not in shown.parameters
    plain = inspect.signature(unified_llm.convert_stream)
    assert plain.replace(parameters=[]).parameters == {} and "target" in plain.parameters
    assert pickle.loads(pickle.dumps(plain)) == plain == plain.replace()
