"""The reference of the canonical model: every field is described once, and the page is current."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import _reference
from unified_llm import suite
from unified_llm.client.sending.api_errors import _CLASSES
from unified_llm.types import ErrorBody, Finish, Request
from unified_llm.types._generate import classes
from unified_llm.types.base import Model
from unified_llm.types.descriptions import DESCRIPTIONS

DOCS = Path(__file__).parents[1] / "docs"
CLASSES = [cls for cls in classes() if cls.__module__.startswith("unified_llm.types.") and cls is not Model]


def test_every_field_has_a_description() -> None:
    fields = [(cls.__name__, name, info) for cls in CLASSES for name, info in cls.__pydantic_fields__.items()]
    assert len(fields) > 700
    missing = [f"{cls}.{name}" for cls, name, info in fields if not info.description]
    assert not missing


def listed(cls: type[Model], key: str) -> set[str]:
    """The words that the docstring of a class lists for a field."""
    text = str(cls.__doc__).partition(f"`{key}` is stop" if cls is Finish else f"`{key}` is invalid")[0]
    words = str(cls.__doc__)[len(text) :].partition(" is ")[2]
    return set(re.findall(r"\w+", re.split(r"[.;]", words)[0])) - {"or"}


def test_the_types_of_errors_and_the_reasons_of_ends_are_listed() -> None:
    """Those that the packaged documents are read as."""
    assert listed(ErrorBody, "type") == {*_CLASSES, "other"}
    errors = {
        suite.canonical(each["body"], each["protocol"], "error", each)["error"].get("type") for each in of("error")
    }
    assert errors <= listed(ErrorBody, "type")
    answers = [suite.canonical(each["body"], each["protocol"], "response", each) for each in of("response")]
    reasons = {answer["finish"]["reason"] for answer in answers if "reason" in (answer.get("finish") or {})}
    assert reasons == listed(Finish, "reason")


def of(kind: str) -> list[dict[str, Any]]:
    return [record for record in suite.records(kind=kind) if record["body"] is not None]


def test_every_description_belongs_to_a_field() -> None:
    used = set()
    for cls in CLASSES:
        for name, info in cls.__pydantic_fields__.items():
            key = info.alias or name
            own = [f"{base.__name__}.{key}" for base in cls.__mro__ if f"{base.__name__}.{key}" in DESCRIPTIONS]
            used.add(own[0] if own else key)
    assert sorted(DESCRIPTIONS.keys() - used) == []


def test_descriptions_are_sentences() -> None:
    odd = [key for key, text in DESCRIPTIONS.items() if not text.endswith(".") or len(text.split()) > 25]
    assert not odd


def test_a_schema_has_the_descriptions() -> None:
    found = Request.model_json_schema()["$defs"]["FunctionCall"]["properties"]["call_id"]
    assert found["description"] == "Id that pairs a call with its result."


def test_the_page_is_current() -> None:
    assert _reference.page() == (DOCS / "reference.md").read_text("utf-8"), "run: python docs/_reference.py"


def test_the_page_has_every_class_and_field() -> None:
    text = (DOCS / "reference.md").read_text("utf-8")
    for cls in CLASSES:
        assert text.count(f"\n### {cls.__name__}\n") == 1
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    own = [name for cls in CLASSES for name in cls.__pydantic_fields__ if name in vars(cls)["__annotations__"]]
    assert len(rows) == len(own)
