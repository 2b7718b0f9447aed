"""What was read belongs to the caller: changing it changes no other document, and not the one it was read from.

(In flight, equal nodes share their marks of form; objects hold copies of them.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import unified_llm as ul
from corpus import PROTOCOLS, fixtures


def changeable(value: Any) -> Iterator[Any]:
    """Every object below that can be changed."""
    if isinstance(value, BaseModel):
        yield value
        for key in value.model_fields_set:
            yield from changeable(getattr(value, key))
    elif isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from changeable(inner)


@pytest.mark.parametrize("kind", ["request", "response", "error"])
@pytest.mark.parametrize("protocol", PROTOCOLS.values())
def test_nothing_that_was_read_is_shared(protocol: str, kind: str) -> None:
    kept = []
    for record in fixtures(protocol, kind):
        one, other = ul.read(record["body"], protocol, kind), ul.read(record["body"], protocol, kind)
        known = {id(each) for each in (*changeable(other), *changeable(record["body"]))}
        assert not [each for each in changeable(one) if id(each) in known], record["id"]
        drawers = [id(each) for each in changeable(one) if isinstance(each, dict) and "form" in each]
        assert len(drawers) == len(set(drawers)), record["id"]
        kept += [one, other]
    assert len(kept) > 20


def test_a_mark_of_one_call_is_not_that_of_another() -> None:
    calls = [{"functionCall": {"name": name, "args": {}}} for name in ("f", "g")]
    body = {"contents": [{"role": "user", "parts": [{"text": "?"}]}, {"role": "model", "parts": calls}]}
    read = ul.read(body, "google-generate-content")
    first, second = read.input[1:]
    first.extra["google-generate-content"]["form"]["id"] = "changed"
    assert second.extra["google-generate-content"]["form"] == {"id": "absent"}
    again = ul.read(body, "google-generate-content")
    assert again.input[1].extra["google-generate-content"]["form"] == {"id": "absent"}
    assert ul.convert(body, source="google-generate-content", target="google-generate-content").value == body
