"""Nothing shared is reachable from a result, nothing grows with documents, and threads do not disturb each other."""

from __future__ import annotations

import sys
import threading
import traceback
from copy import deepcopy
from typing import Any

import orjson
import pytest

from engine import laws, shapes
from unified_llm.engine import Context, Shape, Union, codec, located, string
from unified_llm.engine.compiler import compile as compiler
from unified_llm.engine.shapes import report

Node = dict[str, Any]
CASES = list(shapes.cases())
PAIRS = [(name, target, doc) for name, doc in CASES for target in shapes.SHAPES if name.split()[1] == target.split()[1]]


def converted(source: str, target: str, doc: Node) -> tuple[Any, Any, Any]:
    own = source == target
    x = Context("a", "a" if own else "b")
    node = shapes.SHAPES[source].read_or_explain(doc, x)
    value = shapes.SHAPES[target].write_or_explain(node, x)
    return value, node, [[*loss] for loss in located(x, shapes.SHAPES[source], node, doc, value)]


def spoil(value: Any, seen: set[int]) -> None:
    """Change every dict and list there is below a value."""
    if id(value) in seen or type(value) not in (dict, list):
        return
    seen.add(id(value))
    for inner in list(value.values()) if type(value) is dict else list(value):
        spoil(inner, seen)
    if type(value) is dict:
        value.clear()
        value["spoiled"] = True
    else:
        value[:] = ["spoiled"]


@pytest.mark.parametrize(("source", "target", "doc"), PAIRS)
def test_a_result_can_be_changed_without_harm(source: str, target: str, doc: Node) -> None:
    raw = orjson.dumps(doc)
    first = [orjson.dumps(value) for value in converted(source, target, orjson.loads(raw))]
    for _ in range(2):
        seen: set[int] = set()
        for value in converted(source, target, orjson.loads(raw)):
            spoil(value, seen)
    assert [orjson.dumps(value) for value in converted(source, target, orjson.loads(raw))] == first


def test_reports_do_not_depend_on_what_was_reported_before() -> None:
    cold = []
    for source, target, doc in PAIRS:
        report._known.clear()
        cold.append(converted(source, target, deepcopy(doc))[2])
    assert [converted(source, target, deepcopy(doc))[2] for source, target, doc in PAIRS] == cold


def test_the_memo_is_bounded_and_holds_no_value_of_a_document() -> None:
    report._known.clear()
    shape, other = shapes.SHAPES["slots request"], shapes.SHAPES["blocks request"]
    for number in range(3 * report._KEPT):
        doc = {"messages": [], f"key{number}": "a secret", "seed": number}
        laws.cross(shape, other, doc)
    assert len(report._known) <= report._KEPT
    assert "a secret" not in repr(report._known) and "/key" not in repr(report._known)


def test_documents_compile_nothing() -> None:
    for source, target, doc in PAIRS:
        converted(source, target, deepcopy(doc))
    before = next(compiler._FILES)
    for number in range(50):
        for source, target, doc in PAIRS:
            converted(source, target, {**deepcopy(doc), f"key{number}": {"a": number}})
    assert next(compiler._FILES) == before + 1


def test_threads_compile_once_and_agree() -> None:
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            threads_meet()
    finally:
        sys.setswitchinterval(switch)


def threads_meet() -> None:
    union = Union("threads")
    for number in range(12):
        union.case({"type": f"t{number}", "a": string("text"), "b?": string(f"k{number}")}, f"n{number}")
    wires = [{"type": f"t{number}", "a": "x", "b": "y"} for number in range(12)] * 20
    alone = Shape({f"a{number}?": string(f"k{number}") for number in range(40)}, name="alone")
    results: list[Any] = []
    gate = threading.Barrier(8)
    before = next(compiler._FILES)

    def work() -> None:
        gate.wait()
        x = Context("p", "p")
        assert alone.read({"a1": "x"}, x) == {"k1": "x"}
        nodes = union.read(wires, x)
        results.append((nodes, union.write(nodes, x)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(results) == 8
    assert all(result[1] == wires for result in results)
    assert next(compiler._FILES) - before - 1 == 25, "each function is compiled once"


def test_a_traceback_shows_the_generated_line() -> None:
    def explode(value: Any, x: Any) -> Any:
        raise RuntimeError("a bug of an adapter")

    shape = Shape({"a?": codec("b", str, read=explode, write=explode)}, name="demo shape")
    with pytest.raises(RuntimeError) as caught:
        shape.read({"a": "x"}, Context("p", "p"))
    text = "".join(traceback.format_tb(caught.tb))
    assert "<shape demo shape read_whole_demo_shape #" in text
    assert "try: node['b'] = codec_0(v1, x)" in text
