"""What families of nodes need of the engine: cases that rival, objects without a type, lone elements, empty lists."""

from __future__ import annotations

from typing import Any

import pytest

from toys import toy_adapter
from unified_llm.engine import (
    Context,
    DeclarationError,
    Shape,
    Union,
    codec,
    flatten,
    integer,
    json,
    nested,
    opaque,
    string,
)
from unified_llm.engine.bridge import read_part
from unified_llm.engine.compiler.signals import Mismatch, Node
from unified_llm.engine.pairs.reading import Reader

OWN, CROSS = Context("p", "p"), Context("q", "p")


def _source() -> Union:
    found = Union("source")
    read, write = lambda v, x: "data:" + v["data"], lambda v, x: {"type": "inline", "data": _inline(v)}
    found.whole("inline", codec("image_url", dict, read=read, write=write, canonical=(str,), exact=True))
    found.case({"type": "url", "url": string("image_url")})
    found.case({"type": "file", "id": string("file_id")})
    return found


def _inline(url: str) -> str:
    if not url.startswith("data:"):
        raise Mismatch
    return url.removeprefix("data:")


def _images() -> Union:
    images = Union("images")
    images.case({"type": "image", "source": flatten(_source())}, "input_image")
    return images


@pytest.mark.parametrize(
    "source",
    [
        {"type": "inline", "data": "QQ=="},
        {"type": "inline", "data": "QQ==", "zz": 1},
        {"type": "url", "url": "https://a.b"},
        {"type": "url", "url": "data:QQ=="},
        {"type": "url", "url": "data:QQ==", "zz": {"y": None}},
        {"type": "file", "id": "f"},
    ],
)
def test_a_value_that_two_cases_write_comes_back_as_the_one_it_was(source: Node) -> None:
    images = _images()
    wire = [{"type": "image", "source": source}]
    nodes = images.read(wire, OWN)
    assert nodes[0]["type"] == "input_image"
    assert images.write(nodes, OWN) == wire


def test_the_case_of_a_value_is_a_closed_marker_and_never_a_value() -> None:
    images = _images()
    (node,) = images.read([{"type": "image", "source": {"type": "url", "url": "data:QQ=="}}], OWN)
    assert node["extra"] == {"p": {"form": {"source": "case:url"}}}
    node["image_url"] = "data:Qg=="
    assert images.write([node], OWN) == [{"type": "image", "source": {"type": "url", "url": "data:Qg=="}}]
    for odd in ("case:zz", "case:", "zz", 5, None, ["case:url"]):
        node["extra"]["p"]["form"]["source"] = odd
        assert images.write([node], OWN) == [{"type": "image", "source": {"type": "inline", "data": "Qg=="}}]


def test_a_union_with_rivals_is_at_one_path() -> None:
    source = _source()
    Shape({"a": flatten(source)}, name="first")
    with pytest.raises(DeclarationError, match="can be at one path alone"):
        Shape({"b": flatten(source)}, name="second")


@pytest.mark.parametrize(
    "source", [{"type": "other", "url": "u"}, {"url": "u"}, {"type": "url"}, {"type": "inline"}, {}]
)
def test_an_object_that_has_to_be_there_and_is_of_no_case_makes_its_node_another(source: Node) -> None:
    images, wire = _images(), [{"type": "image", "source": source}]
    (node,) = images.read(wire, OWN)
    assert node["extra"]["p"]["form"] == {"native": "images"} and images.write([node], OWN) == wire
    shape = Shape({"source": flatten(_source())}, name="one")
    with pytest.raises(Mismatch, match="/source: is of no known case"):
        shape.read_or_explain({"source": source}, OWN)


def test_objects_may_have_no_type_in_the_canonical_form() -> None:
    hits = Union("hits")
    hits.case({"type": "hit", "url?": string("url"), "proof?": opaque("proof")})
    wires: list[Any] = [
        {"type": "hit", "url": "u", "proof": "x", "zz": 1},
        {"type": "hit"},
        {"type": "miss", "url": "v"},
        5,
    ]
    nodes = hits.read(wires, OWN)
    assert [node.get("type") for node in nodes] == [None, None, "miss", "unified_llm:native"]
    assert hits.write(nodes, OWN) == wires


@pytest.mark.parametrize("node", [[], [{"url": "u"}, {"url": "v"}], {"url": "u"}, "u", None, [5]])
def test_a_list_of_another_length_than_one_is_lost_as_a_whole(node: Any) -> None:
    page = Shape({"url?": string("url")}, name="page")
    shape, x = Shape({"page?": nested("results", page, listed=True)}, name="result"), Context("q", "p")
    assert shape.read({"page": {"url": "u", "zz": 1}}, OWN)["results"][0]["url"] == "u"
    assert shape.write({"results": [{"url": "u"}]}, CROSS) == {"page": {"url": "u"}}
    assert shape.write({"results": node}, x) == {}
    assert [raw.keys for raw in x.raw] == ([("results",)] if node else [])


def test_what_has_to_be_there_is_written_in_its_own_protocol_too() -> None:
    shape = Shape({"id": string("id").required(None), "n?": integer("n").required(3)}, name="call")
    assert shape.write({}, OWN) == {"id": None}
    assert shape.write({}, CROSS) == {"id": None, "n": 3}
    assert shape.write(shape.read({"id": "1"}, OWN), OWN) == {"id": "1"}


@pytest.mark.parametrize(("value", "own", "cross"), [([], {"a": []}, {}), ([1], {"a": [1]}, {"a": [1]})])
def test_an_empty_list_is_written_where_it_came_from(value: Any, own: Node, cross: Node) -> None:
    shape, x = Shape({"a?": json("a", list).filled()}, name="s"), Context("q", "p")
    assert (shape.write({"a": value}, OWN), shape.write({"a": value}, x), x.raw) == (own, cross, [])


def test_a_case_is_compiled_when_a_document_has_one_and_never_for_unknown_words() -> None:
    images = _images()
    images.freeze()
    assert not images.readers and not images.writers and "read" not in images.cases[0].__dict__
    for word in ("zz", "yy", None, 5, ["image"]):
        images.read([{"type": word}], OWN)
        images.write([{"type": word}], OWN)
    assert not images.readers and not images.writers
    images.read([{"type": "image", "source": {"type": "file", "id": "f"}}], OWN)
    assert list(images.readers) == ["image"]


def test_data_of_another_origin_makes_no_piece() -> None:
    class Opening(Context):
        def piece(self, kind: str, data: str) -> Node | None:
            return None if data.startswith("sealed:") else super().piece(kind, data)

    shape, x = Shape({"proof?": opaque("proof")}, name="s"), Opening("p", "p")
    assert shape.read({"proof": "sealed:x"}, x) == {} and not x.flags
    assert shape.read({"proof": "x"}, x)["opaque"][0]["data"] == "x" and x.flags


def test_an_unknown_key_of_an_object_inside_a_document_of_families_is_found() -> None:
    """The object is a node of the reader's, so that what is left over in it has a place in the report."""
    inner = Shape({"in?": integer("input_tokens")}, name="demo usage", node="usage")
    shape = Shape({"tokens?": nested("usage", inner)}, name="demo response", node="response")
    r = Reader(toy_adapter("demo"))
    r.doc = {"tokens": {"in": 3, "zz": 1}}
    node = read_part(shape, r.doc, r, whole=False)
    assert node == {"usage": {"input_tokens": 3, "extra": {"demo": {"rest": {"zz": 1}}}}}
    assert [(found, wire) for found, wire in r.traced() if found is node["usage"]] == [(node["usage"], r.doc["tokens"])]
    assert r.places[(id(node["usage"]), "input_tokens")] == ("in",)
