"""Citations of an answer: places on the web, in documents and in search results.

The key of its location is the kind of a citation. Its text stands in a block of its own, so that a span within
a text has no place here.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.citation_spans import as_page

from ..values import PROTOCOL, move

__all__ = ["citations"]

Node = dict[str, Any]

citations = Mapping(f"{PROTOCOL} citations", tag="")
citations.cannot(
    "container_file_citation file_citation file_path place_citation speech_metadata word_info",
    "amazon-converse has no such citation",
)

# The key of a location -> the canonical type, the canonical key of the title, and those of the location's own keys.
_PLACES: dict[str, tuple[str, str, dict[str, str]]] = {
    "web": ("url_citation", "title", {"url": "url"}),
    "documentChar": (
        "document_citation",
        "document_title",
        {"documentIndex": "document_index", "start": "start_char_index", "end": "end_char_index"},
    ),
    "documentPage": (
        "document_citation",
        "document_title",
        {"documentIndex": "document_index", "start": "start_page_number", "end": "end_page_number"},
    ),
    "documentChunk": (
        "document_citation",
        "document_title",
        {"documentIndex": "document_index", "start": "start_block_index", "end": "end_block_index"},
    ),
    "searchResultLocation": (
        "search_result_citation",
        "title",
        {"searchResultIndex": "search_result_index", "start": "start_block_index", "end": "end_block_index"},
    ),
}


@citations.read("location")
def _read_citation(w: Node, r: Reader) -> Node:
    location = take(w, "location")
    key = next((key for key in location if key in _PLACES), None)
    if key is None:
        raise IllTyped("location")
    type_, title, names = _PLACES[key]
    node: Node = {"type": type_}
    place = take(location, key)
    for wire, name in names.items():
        move(place, wire, node, name, r, ("location", key), str if name == "url" else int)
    move(w, "title", node, title, r, (), str)
    if type_ == "search_result_citation":
        move(w, "source", node, "source", r, (), str)
    texts = w.get("sourceContent")
    if type(texts) is list and len(texts) == 1 and type(texts[0]) is dict and texts[0].keys() == {"text"}:
        if type(texts[0]["text"]) is str:
            node["cited_text"] = texts[0]["text"]
            r.place(node, ("cited_text",), ("sourceContent", 0, "text"))
            del w["sourceContent"]
    if _place_of(node, type_) != key:
        r.form(node, "location", key)
    return node


def _place_of(node: Node, type_: str) -> str:
    """The first of the places of a type of citations that has a key of this one."""
    places = [key for key, (each, _, _) in _PLACES.items() if each == type_]
    return next((key for key in places if _fits(node, key)), places[0])


def _writes(type_: str) -> None:
    """Declare how citations of a type are written."""

    def pair(c: Node, w: Writer) -> Node:
        said = w.form(c, "location")
        key = said if said in _PLACES and _PLACES[said][0] == type_ else _place_of(c, type_)
        _, title, names = _PLACES[key]
        wire: Node = {}
        if type(c.get(title)) is str:
            wire["title"] = c.pop(title)
        if key == "searchResultLocation" and type(c.get("source")) is str:
            wire["source"] = c.pop("source")
        if type(c.get("cited_text")) is str:
            wire["sourceContent"] = [{"text": c.pop("cited_text")}]
        for name in ("start_index", "end_index"):
            if c.get(name) is not None:
                c[name] = Fated("approximated", "the block is cited as a whole")
        place = {wire_key: c.pop(name) for wire_key, name in names.items() if c.get(name) is not None}
        return {**wire, "location": {key: place}}

    citations.write(type_)(pair)
    if type_ == "url_citation":
        citations.write("place_citation")(as_page(pair))


def _fits(c: Node, key: str) -> bool:
    return any(c.get(name) is not None for name in _PLACES[key][2].values() if name.startswith(("start_", "url")))


for _type in ("url_citation", "document_citation", "search_result_citation"):
    _writes(_type)
