"""Compiled functions and the interpreter have one meaning; and the compiled function is the one that is taken."""

from __future__ import annotations

import json as stdjson
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covering import examples
from engine import interpret, shapes
from unified_llm.engine import Context, Mismatch, Shape
from unified_llm.engine.compiler.signals import FAULTS

Node = dict[str, Any]


def told(x: Context) -> list[str]:
    return sorted(stdjson.dumps(raw, sort_keys=True) for raw in x.raw)


def read_both(shape: Shape, doc: Any, x: Context) -> Any:
    """What both ways of reading make of a document, and whether the compiled function did."""
    y = Context(x.source, x.target)
    why = None
    try:
        slow = interpret.read(shape, deepcopy(doc), y)
    except FAULTS as error:
        slow, why = None, error
    try:
        quick = shape.read(doc, x) if type(doc) is dict else None
    except FAULTS:
        quick = None
    assert quick == slow
    if quick is None:
        with pytest.raises(Mismatch) as caught:
            shape.read_or_explain(doc, Context(x.source, x.target))
        assert str(caught.value) == str(why)
    assert told(x) == told(y)
    if quick is not None:
        assert x.flags == y.flags
    return quick


def write_both(shape: Shape, node: Node, x: Context) -> Any:
    y = Context(x.source, x.target)
    why = None
    try:
        slow = interpret.write(shape, deepcopy(node), y)
    except FAULTS as error:
        slow, why = None, error
    try:
        quick = shape.write(node, x)
    except FAULTS:
        assert not x.raw, "something was recorded before the function said that it is not its own"
        quick = None
        with pytest.raises(Mismatch) as caught:
            shape.write_or_explain(node, Context(x.source, x.target))
        assert str(caught.value) == str(why)
    assert quick == slow
    assert told(x) == told(y)
    return quick


@pytest.mark.parametrize(("name", "doc"), list(shapes.cases()))
@pytest.mark.parametrize("target", ["p", "q"])
def test_compiled_is_interpreted(name: str, doc: Node, target: str) -> None:
    shape = shapes.SHAPES[name]
    node = read_both(shape, doc, Context("p", target))
    assert node is not None, "the compiled function takes every document that is one"
    for each in [shape, *(other for key, other in shapes.SHAPES.items() if key.split()[1] == name.split()[1])]:
        write_both(each, node, Context("p", target))


def nodes(doc: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    out = [path]
    for key, value in doc.items() if type(doc) is dict else enumerate(doc) if type(doc) is list else ():
        out += nodes(value, (*path, key))
    return out


def at(doc: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        doc = doc[key]
    return doc


JSON = st.sampled_from(
    [None, True, False, 0, 1, 2.5, "", "x", "ephemeral", "auto", [], [1], {}, {"zz": 1}, {"type": "text", "text": "t"}]
)
CASES = list(shapes.cases())


@st.composite
def changed(draw: Any) -> tuple[str, Any]:
    """A document with keys removed, added, retyped and reordered."""
    name, doc = draw(st.sampled_from(CASES))
    doc = deepcopy(doc)
    for _ in range(draw(st.integers(1, 4))):
        places = [path for path in nodes(doc) if path]
        if not places:
            break
        *above, key = draw(st.sampled_from(places))
        holder = at(doc, tuple(above))
        action = draw(st.sampled_from(["remove", "retype", "add", "reverse"]))
        if action == "remove":
            del holder[key]
        elif action == "retype":
            holder[key] = deepcopy(draw(JSON))
        elif action == "add" and type(holder) is dict:
            holder[draw(st.sampled_from(["zz", "extra", "type", "turn", "text", "index", "content", "opaque"]))] = (
                deepcopy(draw(JSON))
            )
        elif type(holder) is dict:
            items = list(holder.items())[::-1]
            holder.clear()
            holder.update(items)
    return name, doc


@settings(max_examples=examples(150), deadline=None)
@given(changed(), st.sampled_from(["p", "q"]))
def test_changed_documents(case: tuple[str, Any], target: str) -> None:
    name, doc = case
    shape = shapes.SHAPES[name]
    before = deepcopy(doc)
    node = read_both(shape, doc, Context("p", target))
    assert doc == before, "reading changes nothing"
    if node is None:
        return
    kept = deepcopy(node)
    for key, other in shapes.SHAPES.items():
        if key.split()[1] == name.split()[1]:
            write_both(other, node, Context("p", target))
    assert node == kept, "writing changes nothing"


@settings(max_examples=examples(150), deadline=None)
@given(changed(), st.data())
def test_changed_canonical_nodes(case: tuple[str, Any], data: Any) -> None:
    """Canonical documents of any origin: keys removed, added and retyped there too."""
    name, doc = case
    try:
        node = shapes.SHAPES[name].read_or_explain(doc, Context("p", "p"))
    except FAULTS:
        return
    places = [
        path
        for path in nodes(node)
        if path and type(path[-1]) is str and path[-1] not in ("type", "turn", "extra") and "extra" not in path
    ]
    for _ in range(data.draw(st.integers(1, 3))):
        *above, key = data.draw(st.sampled_from(places)) if places else ((), None)
        try:
            holder = at(node, tuple(above))
            if type(holder) is not dict:
                continue
            if data.draw(st.booleans()):
                holder.pop(key, None)
            elif data.draw(st.booleans()):
                holder[key] = deepcopy(data.draw(JSON))
            else:
                holder[data.draw(st.sampled_from(["zz", "seed", "summary", "cache"]))] = deepcopy(data.draw(JSON))
        except (KeyError, IndexError, TypeError):
            continue
    for key, other in shapes.SHAPES.items():
        if key.split()[1] == name.split()[1]:
            for target in ("p", "q"):
                write_both(other, node, Context("p", target))
