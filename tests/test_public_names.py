"""The public names of the packages: sorted, importable, and shown to type checkers."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

import unified_llm
from source_tree import CORE, SOURCES, name_of, tree_of


def declared_all(path: Path) -> list[str] | None:
    for node in tree_of(path).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        if ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return None


def order(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then the rest: what ruff's rule RUF022 writes."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name


def test_public_names_are_sorted_and_importable() -> None:
    unsorted, missing, seen = [], [], 0
    for path in SOURCES:
        if "\n__all__" not in path.read_text("utf-8"):
            continue
        seen += 1
        names, module = declared_all(path), importlib.import_module(name_of(path))
        assert names is not None, name_of(path)
        if names != sorted(set(names), key=order):
            unsorted.append(name_of(path))
        missing += [f"{name_of(path)}.{name}" for name in names if not hasattr(module, name)]
    assert seen
    assert unsorted == [], "`ruff check --fix` sorts them"
    assert missing == []


def test_the_front_door_lists_its_public_names() -> None:
    names = declared_all(CORE / "__init__.py")
    assert names is not None
    bound = {alias.asname or alias.name for node in tree_of(CORE / "__init__.py").body
             if isinstance(node, ast.ImportFrom) and node.level for alias in node.names}  # fmt: skip
    assert {name for name in bound if not name.startswith("_")} <= set(names)


def test_a_name_of_the_client_and_one_of_the_model_are_not_the_same() -> None:
    assert set(unified_llm.client.__all__) & set(unified_llm.types.__all__) == {"Tool"}
    assert unified_llm.ResponseEvent is unified_llm.types.ResponseEvent


def for_checkers(path: Path) -> dict[str, str]:
    """What a type checker is shown and the interpreter is not: name -> the module it comes from."""
    blocks = [node for node in tree_of(path).body if isinstance(node, ast.If) and "not " not in ast.unparse(node.test)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom) and node.level]
    shown: dict[str, str] = {}
    for node in imports:
        home = node.module or ""
        every = declared_all(path.parent / f"{home}.py") if node.names[0].name == "*" else None
        shown |= dict.fromkeys(every or [alias.asname or alias.name for alias in node.names], home)
    return shown


LAZY = ["", "client", "drift", "engine", "models", "types"]


@pytest.mark.parametrize("package", LAZY)
def test_checkers_and_completion_are_shown_what_loads_on_first_use(package: str) -> None:
    path = CORE / package / "__init__.py"
    module = importlib.import_module(name_of(path))
    names = declared_all(path)
    assert names is not None and dir(module) == sorted(names)
    shown = for_checkers(path)
    assert set(shown) <= set(names)
    for name, home in shown.items():
        origin = importlib.import_module(f"{name_of(path)}.{home}".rstrip("."))
        if home:
            assert getattr(module, name) is getattr(origin, name), f"{name} is not that of {home}"
    eager = {alias.name for node in tree_of(path).body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(names) - eager - {"__version__"} <= set(shown), "names without a type"


def test_everything_of_the_client_and_the_model_is_at_the_front() -> None:
    front = declared_all(CORE / "__init__.py")
    packages = {name for name, home in for_checkers(CORE / "__init__.py").items() if not home}
    below = {
        *(declared_all(CORE / "client" / "__init__.py") or ()),
        *(declared_all(CORE / "types" / "__init__.py") or ()),
    }
    assert front is not None and below <= set(front)
    assert {path.name for path in CORE.iterdir() if path.is_dir()} & set(front) == packages
