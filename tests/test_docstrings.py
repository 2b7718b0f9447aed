"""What is public is documented: with what it means, where it is from, and an example that runs (tests/test_docs.py).

A public name is one of `unified_llm.__all__`, of what `unified_llm.client` and `unified_llm.models` export, or a
canonical class. Whether a docstring is true cannot be checked here; that one is there, names every parameter, and shows
or names an example, can be.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import unified_llm as ul
import unified_llm.client
import unified_llm.models
import unified_llm.types

ROOT = Path(__file__).parents[1]
PAGE = re.compile(r"\bdocs/[\w/-]+\.md")
# (The canonical classes are at the front too, and have rules of their own below.)
FRONT = {
    name: found
    for name in {*ul.__all__} - {"__version__"}
    if name in unified_llm.client.__all__ or name not in unified_llm.types.__all__
    if not isinstance(found := getattr(ul, name), ModuleType)
}
MODELS = {name: getattr(unified_llm.models, name) for name in unified_llm.models.__all__}
CANONICAL = {
    name: found for name in unified_llm.types.__all__ if isinstance(found := getattr(unified_llm.types, name), type)
}
PUBLIC = {**MODELS, **FRONT}
THINGS = {name: found for name, found in PUBLIC.items() if isinstance(found, type) or inspect.isroutine(found)}
# What stands in no provider's documentation, because it is ours.
OURS = {"Capability", "FrameEvent", "Kind", "Model", "Node", "Opaque", "Origin", "Unknown"}


def said(found: Any) -> str:
    """A docstring that was written for the very thing."""
    text = found.__doc__ or ""
    # What dataclasses and pydantic put there is none.
    return "" if text.startswith(f"{getattr(found, '__name__', '')}(") else inspect.cleandoc(text)


def own(found: type) -> list[tuple[str, Any]]:
    """The public methods and properties a class defines itself."""
    kinds = (property, staticmethod, classmethod)
    return [
        (name, getattr(value, "__func__", value))
        for name, value in vars(found).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds))
    ]


def test_a_public_name_shows_or_names_an_example() -> None:
    unsaid, unshown = [], []
    for name, found in sorted(THINGS.items()):
        text = said(found)
        if len(text) <= 40:
            unsaid.append(name)
        # Errors of one kind are caught in one way: the example of their base is theirs.
        kin = found.__mro__ if isinstance(found, type) and issubclass(found, Exception) else (found,)
        pages = [(ROOT / page).read_text("utf-8") for page in PAGE.findall(text) if (ROOT / page).exists()]
        if not any(">>>" in said(each) for each in kin) and not any(name in page for page in pages):
            unshown.append(name)
    assert unsaid == [], "what do they mean?"
    assert unshown == [], "an example, or the page that has one"


def test_a_function_speaks_of_every_parameter() -> None:
    unsaid = []
    for name, found in sorted(THINGS.items()):
        text = said(found)
        # What it is about, and keywords that are those of another, need no words; nor does a twin for event loops.
        if inspect.isfunction(found) and not re.search(r"^`(\w+)` for ", text):
            given = [*inspect.signature(found).parameters.values()]
            named = [each.name for each in given[1:] if each.kind is not each.VAR_KEYWORD]
            unsaid += [f"{name}({each})" for each in named if not re.search(rf"\b{each}\b", text)]
    assert unsaid == []


def test_the_methods_of_a_public_class_say_what_they_do() -> None:
    silent, unsaid = [], []
    for name, found in sorted(THINGS.items()):
        if not isinstance(found, type):
            continue
        silent += [f"{name}.{method}" for method, it in own(found) if not said(it) and not _inherited(found, method)]
        if dataclasses.is_dataclass(found):
            text = said(found) + "".join(said(value) for _, value in own(found))
            fields = [each.name for each in dataclasses.fields(found) if not each.name.startswith("_")]
            missing = [each for each in fields if not re.search(rf"\b{each}\b", text)]
            if len(missing) > len(fields) / 2:
                unsaid.append((name, missing))
    assert silent == []
    assert unsaid == []


def _inherited(found: type, method: str) -> bool:
    """Whether a base, or the protocol a class fulfils, documents a method."""
    bases = [*found.__mro__[1:], ul.Vault]
    return any(said(vars(base)[method]) for base in bases if method in vars(base))


def test_a_canonical_class_says_what_it_is_and_where_that_is_from() -> None:
    texts = {name: said(found) for name, found in CANONICAL.items()}
    unsaid = [name for name, text in texts.items() if len(text.partition("https://")[0].strip()) <= 10]
    assert unsaid == [], "what do they mean?"
    theirs = {name: text for name, text in texts.items() if name not in OURS and not name.startswith("Unknown")}
    homeless = [name for name, text in theirs.items() if not re.search(r"https://\S+", text)]
    assert homeless == [], "the page that declares it"


def test_every_error_has_a_row() -> None:
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    errors = [name for name, found in FRONT.items() if isinstance(found, type) and issubclass(found, Exception)]
    told = {"UnifiedLLMError", "ProtocolError", "ToolError"}  # bases, and one that callers raise
    assert [name for name in sorted(errors) if f"| `{name}` |" not in page and name not in told] == []


NAMED = [*(f"unified_llm.losses.{name}" for name in ("loss", "severity", "levels")), "unified_llm.client.params"]


def test_a_name_for_a_type_is_explained_where_it_is_made() -> None:
    names = {name for name in PUBLIC if name not in THINGS and not name.isupper()}
    assert names >= {"Fate", "Level", "Levels"}
    told: set[str] = set()
    for module in map(sys.modules.__getitem__, NAMED):
        body = ast.parse(Path(str(module.__file__)).read_text("utf-8")).body
        for node, after in pairwise(each for top in body for each in (getattr(top, "body", None) or [top])):
            if (
                isinstance(node, ast.Assign | ast.AnnAssign)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                told |= {each.id for each in targets if isinstance(each, ast.Name)}
    assert names <= told
