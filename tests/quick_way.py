"""The fast paths of the adapters' `turns/fast_path.py` on trial: the same document with them and without."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite


@contextmanager
def replaced(
    patch: pytest.MonkeyPatch, module: ModuleType, tools: ModuleType | None = None, **stubs: Callable[..., Any]
) -> Iterator[None]:
    """`module` with these functions, which handle nothing as usual; nor are the functions that `tools` deals with."""
    with patch.context() as patched:
        for name, stub in stubs.items():
            patched.setattr(module, name, stub)
        for name in ("read_usual_functions", "write_usual_functions"):
            if hasattr(tools, name):
                patched.setattr(tools, name, lambda *_: None)
        yield


def converted(record: dict[str, Any], target: str) -> tuple[str, set[ul.Loss]] | str:
    """What a conversion gives, losses and all; or the error."""
    done = suite.outcome(record, target)
    if done.error is not None:
        return repr(done.error)
    return json.dumps(done.value), set(done.losses)


def read(record: dict[str, Any]) -> str:
    """What reading a document gives, or the error."""
    try:
        return json.dumps(suite.canonical(record["body"], record["protocol"], record["kind"]), sort_keys=True)
    except ul.UnifiedLLMError as error:
        return repr(error)


def differing(
    found: list[dict[str, Any]], run: Callable[[dict[str, Any]], Any], without: AbstractContextManager[None]
) -> list[str]:
    """The ids of the records for which `run` gives something else without the fast paths."""
    quick = [run(record) for record in found]
    with without:
        slow = [run(record) for record in found]
    return [record["id"] for record, one, other in zip(found, quick, slow) if one != other]
