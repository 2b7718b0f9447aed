"""Facts are complete, codecs are held to their inverse, and nothing leaves a pass unweighed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings

from covering import examples
from engine import laws, shapes
from engine.test_differential import changed
from toys import toy_adapter
from unified_llm.engine import (
    CALLS,
    MEDIA,
    NATIVE,
    NATIVES,
    OPAQUE,
    REST,
    TOOLS,
    Context,
    Shape,
    Union,
    codec,
    enum,
    flatten,
    integer,
    located,
    string,
)
from unified_llm.engine.bridge import write_part
from unified_llm.engine.compiler.signals import FAULTS
from unified_llm.engine.pairs.writing import Writer

Node = dict[str, Any]


def below(value: Any) -> list[Node]:
    found = [value] if type(value) is dict else []
    if type(value) is dict:
        value = [inner for key, inner in value.items() if key != "extra"]
    for inner in value if type(value) is list else ():
        found += below(inner)
    return found


def facts(node: Node) -> int:
    """The bits that a canonical document requires, found by looking everywhere."""
    found = 0
    for each in below(node):
        type_, kept = each.get("type"), each.get("extra", {}).get("p", {})
        found |= CALLS if type_ in ("function_call",) else 0
        found |= MEDIA if type_ in ("input_image", "input_audio") and "data" not in each.get("extra", {}) else 0
        found |= OPAQUE if "opaque" in each else 0
        found |= REST if "rest" in kept or "turn" in kept else 0
        found |= NATIVES if type_ == NATIVE else 0
    return found | (TOOLS if node.get("tools") else 0)


@settings(max_examples=examples(200), deadline=None)
@given(changed())
def test_a_reader_sets_every_bit_that_a_document_asks_for(case: tuple[str, Any]) -> None:
    name, doc = case
    x = Context("p", "p")
    try:
        node = shapes.SHAPES[name].read_or_explain(doc, x)
    except FAULTS:
        return
    asked = facts(node)
    if name.startswith(("slots", "oneof")):
        asked &= ~(TOOLS | MEDIA)  # these declare none
    assert asked & ~x.flags == 0


# ---- codecs ----------------------------------------------------------------------------------------------------------

POINT = codec("at", dict, read=lambda v, x: [v["x"], v["y"]], write=lambda v, x: {"x": v[0], "y": v[1]})


@pytest.mark.parametrize("value", [{"x": 1}, {"x": 1, "y": 2, "z": 3}, {"y": 2}, {}])
def test_a_codec_reads_only_what_its_inverse_gives_back(value: Node) -> None:
    shape = Shape({"point": POINT}, name="demo")
    with pytest.raises(FAULTS):
        shape.read({"point": value}, Context("p", "p"))
    shape = Shape({"point?": POINT}, name="demo")
    assert shape.read({"point": value}, Context("p", "p")) == {"extra": {"p": {"rest": {"point": value}}}}


def test_a_codec_that_writes_in_part_is_approximate() -> None:
    shape, x = Shape({"point?": POINT}, name="demo"), Context("q", "p")
    assert shape.write({"at": [1, 2, 3]}, x) == {"point": {"x": 1, "y": 2}}
    assert [(raw.keys, raw.fate) for raw in x.raw] == [(("at",), "approximated")]


def test_true_is_not_one() -> None:
    shape = Shape({"a?": codec("b", dict, read=lambda v, x: v["n"] * 1, write=lambda v, x: {"n": v})}, name="demo")
    assert shape.read({"a": {"n": True}}, Context("p", "p")) == {"extra": {"p": {"rest": {"a": {"n": True}}}}}


@pytest.mark.parametrize("word", ["end", "stop", "pause", "new", "", "done"])
@pytest.mark.parametrize("closed", [False, True])
def test_every_word_comes_back(word: str, closed: bool) -> None:
    words = enum("k", {"end": "stop"}, {"pause": "end"}, same={"done": "end"}, closed=closed)
    shape = Shape({"w?": words}, name="demo")
    assert laws.identity(shape, {"w": word}) == []


@pytest.mark.parametrize(
    "said", [[], ["a"], ["a", "b"], ["b2", "a", "b2"], ["b", "b2"], ["new"], ["y"], [1], [[]], [None]]
)
def test_every_list_of_words_comes_back(said: list[Any]) -> None:
    shape = Shape({"w?": enum("k", {"a": "x", "b": "y"}, same={"b2": "b"}, many=True)}, name="demo")
    assert laws.identity(shape, {"w": said}) == []


def test_a_list_of_words_is_read_where_each_meaning_has_one_word() -> None:
    shape, x = (
        Shape({"w?": enum("k", {"a": "x", "b": "y"}, same={"b2": "b"}, many=True)}, name="demo"),
        Context("p", "p"),
    )
    assert shape.read({"w": ["a", "b2"]}, x) == {"k": ["x", "y"], "extra": {"p": {"form": {"w": "word:b2"}}}}
    assert shape.write({"k": ["y", "y"], "extra": {"p": {"form": {"w": "word:b2"}}}}, x) == {"w": ["b2", "b2"]}
    assert shape.read({"w": ["b", "b2"]}, x)["extra"]["p"]["rest"] == {"w": ["b", "b2"]}


@pytest.mark.parametrize("word", ["new", "stop", "pause"])
def test_an_unknown_word_is_reported_across(word: str) -> None:
    source = Shape({"w?": enum("k", {"end": "stop"})}, name="source")
    target = Shape({"w?": enum("k", {"fin": "stop"}, {"pause": "fin"})}, name="target")
    _, told, _ = laws.cross(source, target, {"w": word})
    assert told == {"/w"}


def test_a_wrong_constant_is_a_mismatch_or_is_kept() -> None:
    with pytest.raises(FAULTS):
        Shape({"type": "a"}, name="demo").read({"type": "b"}, Context("p", "p"))
    shape = Shape({"type?": "a"}, name="demo")
    for value in ("b", None, 1, "a", {}):
        assert laws.identity(shape, {"type": value}) == []
    assert laws.identity(shape, {}) == []
    assert laws.cross(shape, Shape({}, name="other"), {"type": "b"})[1] == {"/type"}


# ---- passes ----------------------------------------------------------------------------------------------------------


def remove_settings(c: Node, x: Context) -> None:
    for key in [key for key in c if key not in ("input", "model")]:
        del c[key]


def remove_items(c: Node, x: Context) -> None:
    c["input"] = c["input"][::2]


def bare_items(c: Node, x: Context) -> None:
    c["input"] = [
        x.replaced(item, {key: item[key] for key in ("type", "role", "content", "turn") if key in item})
        for item in c["input"]
    ]


def hoist(c: Node, x: Context) -> None:
    """A pass as adapters have them: the leading system text moves."""
    if c["input"] and c["input"][0].get("role") == "system":
        first, *others = c["input"]
        if type(first["content"]) is list:
            c["instructions"] = first["content"]
            c["input"] = others


def nothing(c: Node, x: Context) -> None:
    pass


PASSES = [remove_settings, remove_items, bare_items, hoist, nothing]


@pytest.mark.parametrize("run", PASSES, ids=lambda run: run.__name__)
@pytest.mark.parametrize("name", ["blocks request", "slots request"])
def test_nothing_leaves_a_pass_unweighed(name: str, run: Callable[[Node, Context], None]) -> None:
    """Injection before the pass, into every object: the key is in the value, or in the report."""
    source = shapes.SHAPES[name]
    for doc in shapes.DOCUMENTS[name]:
        for place in laws.objects(doc):
            changed = deepcopy(doc)
            laws.at(changed, place)["zz_new"] = "marker-1"
            x = Context(laws.OWN, laws.OTHER)
            try:
                node = source.read_or_explain(changed, x)
            except FAULTS:
                continue
            x.weigh(node, run)
            value = source.write_or_explain(node, x)
            told = {loss.path for loss in located(x, source, node, changed, value)}
            assert "marker-1" in repr(value) or laws.names((*place, "zz_new"), told), (place, sorted(told))


def test_a_value_that_was_carried_is_not_lost() -> None:
    x, c = Context("a", "b"), {"user": "u", "input": []}

    def rename(c: Node, x: Context) -> None:
        c["safety_identifier"] = c.pop("user")
        x.carried(c, "user")

    x.weigh(c, rename)
    assert c == {"safety_identifier": "u", "input": []} and x.raw == []


# ---- certificate -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "doc"), list(shapes.cases()))
def test_a_traced_conversion_is_the_same_and_says_what_was_written_for_each_node(name: str, doc: Node) -> None:
    shape = shapes.SHAPES[name]
    x, y = Context("p", "p"), Context("p", "p")
    node = shape.read_or_explain(doc, x)
    y.trace = []
    wire = shape.write_or_explain(node, y)
    assert wire == shape.write_or_explain(node, x)
    written = {id(c) for c, _ in y.trace}
    assert id(node) in written
    values = below(wire)
    for c, out in y.trace:
        whole = type(out) is not dict or any(out == each for each in values)
        assert (
            whole
            or any(item["type"] != "message" and item is c for item in node.get("output", []))
            or "role" not in out
        )
    for c in node.get("input", []):
        parts = c["content"] if type(c.get("content")) is list else []
        for part in parts:
            assert id(part) in written or part["type"] == NATIVE


def test_a_dialect_is_a_shape_with_rows_replaced_and_added() -> None:
    dialect = shapes.one_choice.extend({"why?": string("finish.reason")}, name="choice:dialect")
    assert dialect.place("finish.reason") == "/why"
    doc = {"index": 0, "message": {"role": "assistant", "content": "a"}, "why": "calls"}
    assert dialect.read(doc, Context("p", "p"))["finish"] == {"reason": "calls"}
    assert shapes.one_choice.read(doc, Context("p", "p"))["finish"] == {"reason": "tool_calls"}


def test_what_a_pass_supplies_is_reported_where_it_is_written() -> None:
    choices = Union("choice", "kind")
    choices.case({"kind": "any"}, tool_choice="required")
    shape = Shape(
        {
            "limit?": integer("max_output_tokens"),
            "think?": {"how?": string("reasoning.control")},
            "pick?": flatten(choices),
        },
        name="demo",
        node="request",
    )

    def settle(c: Node, w: Writer, x: Context) -> None:
        x.supply(c, ("max_output_tokens",), 5, "required")
        x.supply(c, ("reasoning", "control"), "on")
        x.supply(c, ("tool_choice",), "required", "beside it")
        x.supply(c, ("seed",), 1)  # has no place here

    w = Writer(toy_adapter("demo"), source="other")
    w.doc = {"reasoning": {}}
    wire = write_part(shape, w.doc, w, whole=False, settle=settle)
    assert wire == {"limit": 5, "think": {"how": "on"}, "pick": {"kind": "any"}}
    added = [(node, keys, detail) for node, keys, fate, detail, _ in w.raw if fate == "added"]
    assert added == [
        (wire, ("limit",), "required"),
        (wire["think"], ("how",), ""),
        (wire["pick"], ("kind",), "beside it"),
    ]
    assert added[1][0] is wire["think"]
