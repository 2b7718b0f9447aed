"""Identity, edits, places, counts and silence, over the made protocols."""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings

from covering import examples
from engine import laws, shapes
from engine.test_differential import changed
from unified_llm.engine import Context, Places
from unified_llm.engine.compiler.signals import FAULTS

Node = dict[str, Any]
CASES = list(shapes.cases())
IDS = [f"{name}-{number}" for number, (name, _) in enumerate(CASES)]


@pytest.mark.parametrize(("name", "doc"), CASES, ids=IDS)
def test_identity(name: str, doc: Node) -> None:
    assert laws.identity(shapes.SHAPES[name], doc) == []


@settings(max_examples=examples(200), deadline=None)
@given(changed())
def test_identity_of_changed_documents(case: tuple[str, Any]) -> None:
    name, doc = case
    try:
        assert laws.identity(shapes.SHAPES[name], doc) == []
    except FAULTS:
        pass  # no document of this shape at all


@pytest.mark.parametrize(("name", "doc"), CASES, ids=IDS)
def test_an_edit_moves_its_leaf_alone(name: str, doc: Node) -> None:
    for path, moved, expected in laws.edits(shapes.SHAPES[name], doc, random.Random(1), 99):
        assert moved == expected, path


@pytest.mark.parametrize(("name", "doc"), CASES, ids=IDS)
def test_leftovers_are_what_was_not_understood(name: str, doc: Node) -> None:
    shape = shapes.SHAPES[name]
    node = shape.read_or_explain(doc, Context(laws.OWN, laws.OWN))
    assert laws.counts(node, doc, shape) == []


PAIRS = [
    (source, target)
    for source in shapes.SHAPES
    for target in shapes.SHAPES
    if source != target and source.split()[1] == target.split()[1]
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_nothing_is_lost_in_silence(source: str, target: str) -> None:
    faults: list[str] = []
    for doc in shapes.DOCUMENTS[source]:
        faults += laws.silent(shapes.SHAPES[source], shapes.SHAPES[target], deepcopy(doc), random.Random(2), 200)
    assert not faults, Counter(faults)


@settings(max_examples=examples(100), deadline=None)
@given(changed())
def test_nothing_is_lost_in_silence_from_changed_documents(case: tuple[str, Any]) -> None:
    name, doc = case
    for source, target in PAIRS:
        if source == name:
            try:
                faults = list(laws.silent(shapes.SHAPES[source], shapes.SHAPES[target], doc, random.Random(3), 6))
            except FAULTS:
                continue
            assert not faults, (target, faults)


@pytest.mark.parametrize(("name", "doc"), CASES, ids=IDS)
def test_altering_the_leaf_at_a_place_changes_that_key(name: str, doc: Node) -> None:
    """The place law: for every canonical leaf, `place` points at the wire leaf whose alteration changes it."""
    shape = shapes.SHAPES[name]
    node = shape.read_or_explain(doc, Context(laws.OWN, laws.OWN))
    for path, value in laws.leaves(node):
        if "extra" in path or path[-1] in laws.KEPT or value in (None, "", [], {}) or type(value) is not str:
            continue
        places = Places(shape, node, doc)
        place = places.path_of(*laws.holder_of(node, path, places))
        assert place, (path, "has no place")
        other = deepcopy(doc)
        if type(laws.at(other, place)) is not str:
            continue  # a value in another form: its place holds it
        laws.at(other, place[:-1])[place[-1]] += "§"
        changed = shape.read_or_explain(other, Context(laws.OWN, laws.OWN))
        assert path in laws.moved(node, changed), (path, place)
