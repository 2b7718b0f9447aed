"""What was popped is consumed: an object taken out of a node is gone through with `take` or by the engine, never peeked
into, because what is left in it would be lost without a word. Read from the source by `ast`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).parents[1] / "adapters"


def peeks(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of every `[...]` or `.get()` on something that was popped in the same function."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        popped: dict[str, int] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and is_pop(node.value):
                popped |= {target.id: node.lineno for target in node.targets if isinstance(target, ast.Name)}
        for node in ast.walk(function):
            base = None
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and is_key(node.slice):
                base = node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                base = node.func.value
            if base is not None and (is_pop(base) or (isinstance(base, ast.Name) and base.id in popped)):
                yield node.lineno, ast.unparse(base)


def is_pop(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop"


def is_key(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_the_lint_sees_what_it_is_for() -> None:
    bad = "def f(w, r):\n    x = w.pop('a')\n    return x['b'], x.get('c'), w.pop('d')['e']\n"
    good = "def f(w, r):\n    x = take(w, 'a')\n    return x.pop('b'), w.pop('parts')[0], r.nodes(parts, w.pop('c'))\n"
    assert [line for line, _ in peeks(bad)] == [3, 3, 3]
    assert not list(peeks(good))


@pytest.mark.parametrize("path", sorted(ADAPTERS.rglob("*.py")), ids=lambda path: str(path.relative_to(ADAPTERS)))
def test_no_adapter_peeks_into_what_it_popped(path: Path) -> None:
    assert not [f"{path.name}:{line}: {name}" for line, name in peeks(path.read_text(encoding="utf-8"))]
