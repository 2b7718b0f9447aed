"""What is written from a valid document is valid: by the official SDK's own types, and for a strict server."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

from corpus import corpus_folder, records, show
from sdk_wire import MODELS, WIRE, declared, refused
from unified_llm import suite
from unified_llm.suite.outcome import document
from validity_exceptions import EXCEPTIONS

pytestmark = pytest.mark.long

TARGETS = sorted({protocol for protocol, _ in WIRE})
KINDS = ("request", "response", "stream")

NEWER = ["*/usage/input_tokens_details/cache_write_tokens: missing"]
"""Required keys that answers have had for a short time only: recorded ones without them were valid."""


def is_valid(record: dict[str, Any]) -> bool:
    """Whether a record is valid in its own protocol. Keys that the SDK does not have may be newer than it."""
    protocol, kind, body = record["protocol"], record["kind"], document(record)
    problems = [
        problem
        for problem in declared(protocol, kind, body)
        if ": not declared by " not in problem and not any(fnmatchcase(problem, pattern) for pattern in NEWER)
    ]
    return not problems and not (kind == "request" and refused(protocol, body))


@functools.cache
def valid_records() -> tuple[dict[str, Any], ...]:
    """The records that are valid in their own protocol."""
    found = (record for kind in KINDS for record in records(None, kind) if (record["protocol"], kind) in WIRE)
    return tuple(record for record in found if is_valid(record))


def is_error(value: Any) -> bool:
    """Whether an error is in the place of an answer: the SDKs raise it before they look at types."""
    return isinstance(value, dict) and "error" in value and (len(value) == 1 or value.get("type") == "error")


def checked(target: str) -> tuple[int, list[suite.Failure]]:
    """How many documents were written to a target, and everything it has against them."""

    def check(value: Any, kind: str) -> Iterator[str]:
        if kind == "response" and is_error(value):
            return
        yield from declared(target, kind, value)
        if kind == "request":
            yield from refused(target, value)

    good = [record for record in valid_records() if record["protocol"] != target]
    return len(good), suite.valid(good, target, check, model=MODELS[target])


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_valid_is_written_valid(target: str) -> None:
    examined, failures = checked(target)
    assert examined > 300
    unexpected, used = [], set()
    for failure in failures:
        problem = f"{failure.path}: {failure.detail}"
        found = [pattern for pattern in EXCEPTIONS[target] if fnmatchcase(problem, pattern)]
        used.update(found)
        if not found:
            unexpected.append(failure)
    assert not unexpected, show(unexpected, f"valid {target}", examined, 40)
    if corpus_folder() is not None:
        assert not [pattern for pattern in EXCEPTIONS[target] if pattern not in used], "no longer needed"


def test_exceptions_have_reasons() -> None:
    assert set(EXCEPTIONS) == set(TARGETS)
    assert all(len(reason) > 20 for patterns in EXCEPTIONS.values() for reason in patterns.values())
