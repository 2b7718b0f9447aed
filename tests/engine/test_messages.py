"""The laws of the engine over recorded requests and responses of the Messages protocol."""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy
from typing import Any

import pytest

import corpus
from engine import laws, messages, shapes
from engine.test_differential import read_both, write_both
from unified_llm.engine import Context, Shape

PROTOCOL = "anthropic-messages"
KINDS = {"request": messages.request, "response": messages.response}
TARGETS = {"request": shapes.slots_request, "response": shapes.slots_response}


def bodies(kind: str) -> list[Any]:
    return [record["body"] for record in corpus.records(PROTOCOL, kind) if type(record["body"]) is dict]


@pytest.mark.parametrize("kind", KINDS)
def test_identity(kind: str) -> None:
    found = bodies(kind)
    faults = [(number, fault) for number, body in enumerate(found) for fault in laws.identity(KINDS[kind], body)]
    assert len(found) > 20 and not faults, corpus.show(faults, "identity", len(found))


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_moves_its_leaf_alone(kind: str) -> None:
    faults, count = [], 0
    for number, body in enumerate(bodies(kind)):
        for path, moved, expected in laws.edits(KINDS[kind], body, random.Random(number), 6):
            count += 1
            if moved != expected:
                faults.append((number, path, moved, expected))
    assert count > 100 and not faults, corpus.show(faults, "edit", count)


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_is_interpreted(kind: str) -> None:
    shape: Shape = KINDS[kind]
    for body in bodies(kind):
        for target in ("p", "q"):
            node = read_both(shape, body, Context("p", target))
            assert node is not None
            write_both(shape, node, Context("p", target))
            write_both(TARGETS[kind], node, Context("p", target))
        assert laws.counts(node, body, shape) == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_in_silence(kind: str) -> None:
    faults: Counter[str] = Counter()
    for number, body in enumerate(bodies(kind)):
        if len(repr(body)) < 15_000:
            faults.update(laws.silent(KINDS[kind], TARGETS[kind], deepcopy(body), random.Random(number), 6))
    assert not faults, faults.most_common(10)
