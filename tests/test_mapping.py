"""The engine by itself, on a toy protocol: what is popped, what is kept, what is reported."""

from __future__ import annotations

from typing import Any

import pytest

from toys import toy_adapter
from unified_llm.engine.pairs.mapping import NATIVE, Bimap, IllTyped, Mapping, fill, remainder, take, unpack
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.table import Field, Table
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.errors import InvalidBody

Node = dict[str, Any]

toy = Mapping("toy parts")
items = Mapping("toy items", default="say")
items.same("note", "text level", parts=toy)
items.cannot("compaction", "a toy does not compact")


@toy.read("t")
def read_text(w: Node, r: Reader) -> Node:
    return {"type": "input_text", "text": w.pop("v")}


@toy.write("input_text")
def write_text(c: Node, w: Writer) -> Node:
    return {"type": "t", "v": c.pop("text")}


@items.read("say")
def read_say(w: Node, r: Reader) -> Node:
    who = take(w, "who")
    return {"type": "message", "role": who.pop("role"), "content": r.parts(toy, w.pop("parts"))}


@items.write("message")
def write_say(c: Node, w: Writer) -> Node:
    return {"type": "say", "who": {"role": c.pop("role")}, "parts": w.parts(toy, c.pop("content"))}


def round_trip(wire: Any) -> tuple[Any, Writer]:
    writer = Writer(toy_adapter())
    return writer.nodes(items, Reader(toy_adapter()).nodes(items, [wire]))[0], writer


@pytest.mark.parametrize(
    "wire",
    [
        {"type": "say", "who": {"role": "user"}, "parts": [{"type": "t", "v": "hi"}]},
        {"type": "say", "who": {"role": "user"}, "parts": "hi"},
        {"who": {"role": "user"}, "parts": "hi"},
        {"type": "say", "who": {"role": "user", "age": 3, "deep": {"x": None}}, "parts": "hi", "more": [1]},
        {"type": "say", "who": "a user", "parts": "hi"},
        {"type": "say"},
        {"type": "shout", "loud": True},
        {"type": "message", "role": "a canonical type that this protocol does not have"},
        {"type": 7},
        {"type": None, "parts": "hi"},
        "not even an object",
        {"type": "note", "text": "x", "level": 1, "extra": "a wire key of that name", "turn": 9},
        {"type": "note", "parts": [{"type": "t", "v": "x", "w": 1}, 5]},
    ],
)
def test_a_node_comes_back_as_it_was_and_nothing_is_reported(wire: Any) -> None:
    back, writer = round_trip(wire)
    assert back == wire
    assert writer.raw == []


def test_what_a_reader_leaves_is_kept_where_it_was() -> None:
    wire = {"type": "say", "who": {"role": "user", "age": 3}, "parts": "hi", "more": 1}
    node = Reader(toy_adapter()).nodes(items, [wire])[0]
    assert node == {
        "type": "message",
        "role": "user",
        "content": "hi",
        "extra": {"toy": {"rest": {"who": {"age": 3}, "more": 1}}},
    }
    assert wire == {"type": "say", "who": {"role": "user", "age": 3}, "parts": "hi", "more": 1}


def test_what_a_writer_leaves_is_reported_with_its_keys() -> None:
    writer = Writer(toy_adapter())
    node = {
        "type": "message",
        "role": "user",
        "content": "hi",
        "phase": "draft",
        "name": "",
        "turn": 3,
        "id": "x_ulm_ab",
    }
    writer.nodes(items, [node])
    assert [(keys, fate) for _, keys, fate, _, _ in writer.raw] == [(("phase",), "lost")]


def test_a_node_that_cannot_be_written_is_reported_whole_with_the_reason() -> None:
    writer = Writer(toy_adapter())
    assert writer.nodes(items, [{"type": "compaction", "id": "c"}]) == []
    assert [(keys, fate, detail) for _, keys, fate, detail, _ in writer.raw] == [((), "lost", "a toy does not compact")]


def test_another_protocols_extras_are_reported_and_not_written() -> None:
    writer = Writer(toy_adapter())
    node = {
        "type": "message",
        "role": "user",
        "content": "hi",
        "extra": {"other": {"rest": {"x": 1}, "form": {"y": True}}},
    }
    assert writer.nodes(items, [node]) == [{"type": "say", "who": {"role": "user"}, "parts": "hi"}]
    assert [keys for _, keys, *_ in writer.raw] == [("extra", "other", "rest")]


def test_the_canonical_value_wins_over_an_extra_and_that_is_said() -> None:
    writer = Writer(toy_adapter())
    node = {"type": "message", "role": "user", "content": "hi", "extra": {"toy": {"rest": {"parts": "older"}}}}
    assert writer.nodes(items, [node]) == [{"type": "say", "who": {"role": "user"}, "parts": "hi"}]
    assert [(keys[-1], detail) for _, keys, _, detail, _ in writer.raw] == [("parts", "the canonical value wins")]


def test_an_unread_node_keeps_its_type_only_if_no_canonical_type_has_that_name() -> None:
    reader = Reader(toy_adapter())
    unknown, taken = reader.nodes(items, [{"type": "shout", "a": 1}, {"type": "message", "a": 1}])
    assert unknown["type"] == "shout"
    assert taken["type"] == NATIVE
    assert taken["extra"]["toy"]["rest"] == {"type": "message", "a": 1}


def test_fill_fills_gaps_in_depth_and_never_overwrites() -> None:
    node = {"a": 1, "b": {"c": 2}}
    assert fill(node, {"a": 9, "b": {"c": 9, "d": 3}, "e": 4}) == {"a": 1, "b": {"c": 2, "d": 3}, "e": 4}
    assert node == {"a": 1, "b": {"c": 2}}


def test_take_and_unpack_leave_the_source_whole_and_the_remainder_collected() -> None:
    source = {"a": {"x": 1, "y": 2}, "b": {"x": 1}}
    node = source.copy()
    assert take(node, "a").pop("x") == 1
    assert unpack(node, "b", "x") == [1]
    assert remainder(node) == {"a": {"y": 2}}
    assert source == {"a": {"x": 1, "y": 2}, "b": {"x": 1}}
    with pytest.raises(IllTyped):
        take({"a": 1}, "a")
    with pytest.raises(KeyError):
        unpack({"a": {}}, "a", "x")


def test_a_bimap_derives_its_inverse_and_names_what_is_one_way() -> None:
    finish = Bimap({"stop": "stop", "max": "length"}, reading={"end": "stop"}, writing={"refusal": "stop"})
    assert [finish.read(x) for x in ("stop", "end", "max", "new")] == ["stop", "stop", "length", "new"]
    assert [finish.write(x) for x in ("stop", "length", "refusal", "new")] == ["stop", "max", "stop", "new"]
    assert finish.exact("length") and not finish.exact("refusal")
    with pytest.raises(ValueError, match="reading"):
        Bimap({"a": "x", "b": "x"})


def test_a_table_moves_settings_both_ways_and_leaves_what_is_ill_typed() -> None:
    table = Table(
        "request",
        Field("heat", "temperature"),
        Field("think", "reasoning.effort", values=Bimap({"lo": "low"}, writing={"minimal": "lo"})),
        Field("model"),
    )
    wire: Node = {"heat": 0.5, "think": "lo", "model": 5, "other": 1}
    node: Node = {}
    table.read(wire, node)
    assert node == {"temperature": 0.5, "reasoning": {"effort": "low"}}
    assert wire == {"model": 5, "other": 1}
    writer, out = Writer(toy_adapter()), {}
    original = {"temperature": 0.5, "reasoning": {"effort": "minimal"}, "seed": 1}
    rest = dict(original)
    table.write(rest, out, writer, original)
    assert out == {"heat": 0.5, "think": "lo"}
    assert remainder(rest) == {"seed": 1}
    assert [(keys, fate) for _, keys, fate, _, _ in writer.raw] == [(("reasoning", "effort"), "approximated")]


def test_a_body_that_is_not_a_document_is_an_invalid_body() -> None:
    with pytest.raises(InvalidBody):
        Reader(toy_adapter()).root(read_say, {"who": 1})
    with pytest.raises(InvalidBody):
        Reader(toy_adapter()).root(read_say, [])


def test_with_another_tag_a_pair_may_have_a_key_named_type() -> None:
    sorted_ = Mapping("sorted parts", tag="sort")
    sorted_.read("a")(lambda w, _: {"type": "input_text", "text": w.pop("text"), "media_type": w.pop("type")})
    sorted_.write("input_text")(lambda c, _: {"sort": "a", "type": c.pop("media_type"), "text": c.pop("text")})
    wire = {"sort": "a", "type": "big", "text": "hi", "more": 1}
    assert Writer(toy_adapter()).nodes(sorted_, Reader(toy_adapter()).nodes(sorted_, [wire])) == [wire]


def test_a_kind_is_declared_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        items.read("say")(read_say)
    with pytest.raises(ValueError, match="twice"):
        items.write("message")(write_say)
