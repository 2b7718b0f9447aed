"""Rows that a real protocol needs: dated types, demands inside optional objects, spellings of cases, origins."""

from __future__ import annotations

from typing import Any

import pytest

from engine import shapes
from unified_llm.engine import (
    Context,
    Shape,
    Union,
    constant,
    enum,
    flatten,
    integer,
    keep_spelling,
    located,
    opaque,
    string,
    union,
)

Node = dict[str, Any]

TOOLS = Union("tools")
TOOLS.case({"type": constant("search_2026", "search_2025", "search_2024"), "most?": integer("max_uses")}, "web_search")
TOOLED = Shape({"tools": union("tools", TOOLS)}, name="tooled", node="request")


def read(shape: Shape, doc: Any) -> Node:
    x = Context("p", "p")
    node: Node = shape.read_or_explain(doc, x)
    keep_spelling(shape, node, doc, x)
    return node


@pytest.mark.parametrize("year", ["2024", "2025", "2026"])
def test_every_version_of_a_dated_type_is_read_and_comes_back(year: str) -> None:
    doc = {"tools": [{"type": f"search_{year}", "most": 2}]}
    node = read(TOOLED, doc)
    (tool,) = node["tools"]
    assert (tool["type"], tool["max_uses"]) == ("web_search", 2)
    assert ("extra" in tool) == (year != "2026")
    assert TOOLED.write(node, Context("p", "p")) == doc
    # No other code has the dates: the version that is written is the first.
    assert TOOLED.write({"tools": [{"type": "web_search"}]}, Context("q", "p")) == {"tools": [{"type": "search_2026"}]}


def test_a_date_that_is_undeclared_is_kept_whole() -> None:
    doc = {"tools": [{"type": "search_2099", "most": 2}]}
    node = read(TOOLED, doc)
    assert node["tools"][0]["type"] == "search_2099" and "max_uses" not in node["tools"][0]
    assert TOOLED.write(node, Context("p", "p")) == doc


def test_an_edit_of_the_type_is_not_undone_by_its_spelling() -> None:
    node = read(TOOLED, {"tools": [{"type": "search_2025"}]})
    node["tools"][0] = {"type": "web_search"}
    assert TOOLED.write(node, Context("p", "p")) == {"tools": [{"type": "search_2026"}]}


@pytest.mark.parametrize("word", ["large", "big", "small"])
def test_a_required_word_may_have_a_second_spelling(word: str) -> None:
    shape = Shape({"fit": enum("detail", {"big": "high", "small": "low"}, same={"large": "big"})}, name="clip")
    node = read(shape, {"fit": word})
    assert node["detail"] == ("low" if word == "small" else "high")
    assert shape.write(node, Context("p", "p")) == {"fit": word}
    node["detail"] = "low"
    assert shape.write(node, Context("p", "p")) == {"fit": "small"}, "the spelling never wins over the value"


# ---- demands inside objects that may be absent -----------------------------------------------------------------------

META = Shape(
    {"meta?": {"user?": string("user"), "plan?": string("plan").required("free", "who names a user names a plan")}},
    name="meta",
    node="request",
)


@pytest.mark.parametrize(
    ("node", "wire", "added"),
    [
        ({}, {}, []),
        ({"user": "u"}, {"meta": {"user": "u", "plan": "free"}}, ["/meta/plan"]),
        ({"user": "u", "plan": "gold"}, {"meta": {"user": "u", "plan": "gold"}}, []),
        ({"plan": "gold"}, {"meta": {"plan": "gold"}}, []),
    ],
)
def test_an_inner_demand_is_made_only_where_its_object_is(node: Node, wire: Node, added: list[str]) -> None:
    for write in (META.write, META.write_or_explain):
        x = Context("q", "p")
        found = write(node, x)
        assert found == wire
        told = located(x, Shape({}, name="source"), node, {}, found)
        assert [loss.path for loss in told if loss.fate == "added"] == added
    assert META.write({"user": "u"}, Context("p", "p")) == {"meta": {"user": "u"}}


# ---- spellings of a case that is part of a node ----------------------------------------------------------------------

SOURCE = Union("source")
SOURCE.case({"type": "text", "media_type?": "text/plain", "data": string("text")})
SOURCE.case({"type": constant("url", "link"), "url": string("file_url")})
FILE = Shape({"source": flatten(SOURCE)}, name="file")


@pytest.mark.parametrize(
    ("source", "canonical"),
    [
        ({"type": "text", "data": "a"}, {"text": "a"}),
        ({"type": "text", "media_type": "text/plain", "data": "a"}, {"text": "a"}),
        ({"type": "text", "media_type": "text/html", "data": "a"}, {"text": "a"}),
        ({"type": "link", "url": "u"}, {"file_url": "u"}),
        ({"type": "url", "url": "u"}, {"file_url": "u"}),
    ],
)
def test_a_case_inside_a_node_keeps_its_spelling_there(source: Node, canonical: Node) -> None:
    node = read(FILE, {"source": source})
    assert {key: value for key, value in node.items() if key != "extra"} == canonical
    assert FILE.write(node, Context("p", "p")) == {"source": source}


# ---- origins of opaque data ------------------------------------------------------------------------------------------

SIGNED = Shape({"signature?": opaque("signature")}, name="signed")


def test_an_origin_says_what_is_known_of_the_maker() -> None:
    x = Context("p", "p", origin={"provider": "acme", "model": "m"})
    node = SIGNED.read({"signature": "c2ln"}, x)
    assert node["opaque"][0]["origin"] == {"protocol": "p", "provider": "acme", "model": "m"}
    node["opaque"][0]["origin"]["model"] = "changed"
    assert SIGNED.read({"signature": "c2ln"}, x)["opaque"][0]["origin"]["model"] == "m", "each piece has its own"


@pytest.mark.parametrize(
    ("here", "match", "goes"),
    [
        ({}, (), True),
        ({"provider": "acme"}, ("provider",), True),
        ({"provider": "other"}, ("provider",), False),
        ({"provider": "other"}, (), True),
        ({}, ("provider", "scope"), True),
    ],
)
def test_what_is_known_of_both_sides_has_to_match(here: Node, match: tuple[str, ...], goes: bool) -> None:
    node = SIGNED.read({"signature": "c2ln"}, Context("p", "q", origin={"provider": "acme"}))
    x = Context("q", "p", here=here, match=match)
    assert SIGNED.write(node, x) == ({"signature": "c2ln"} if goes else {})
    assert [(raw.keys, raw.detail) for raw in x.raw] == ([] if goes else [(("opaque", 0), "foreign")])


def test_the_made_protocols_have_all_of_these() -> None:
    """So that the laws run over them: the cases are read, and not kept whole."""
    doc = shapes.DOCUMENTS["blocks request"][2]
    node = shapes.blocks_request.read(doc, Context("p", "p"))
    assert [tool["type"] for tool in node["tools"]].count("web_search") == 2
    parts = [part["type"] for item in node["input"] if type(item.get("content")) is list for part in item["content"]]
    assert parts.count("input_video") == 3 and parts.count("input_file") == 5
    assert [item["caller"]["type"] for item in node["input"] if "caller" in item] == [
        "direct",
        "program",
        "program",
        "robot",
    ]
