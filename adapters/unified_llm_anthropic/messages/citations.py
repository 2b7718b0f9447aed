"""Citations of a text block: which place of which source the model quotes.

Places in documents come in three units (characters, pages, blocks), told apart by their keys. A source on the web is
proved by `encrypted_index`, which is opaque and has to go back; a citation without proof of ours is not sent.

https://docs.claude.com/en/docs/build-with-claude/citations
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.provenance.opaque import is_envelope, opaque_piece, open_sealed, seal, split_opaque

from .blocks import ordered

__all__ = ["citations"]

Node = dict[str, Any]

citations = Mapping("anthropic-messages citations")

_DOCUMENT = ("cited_text", "document_index", "document_title", "file_id")
_UNITS = {
    "char_location": ("start_char_index", "end_char_index"),
    "page_location": ("start_page_number", "end_page_number"),
    "content_block_location": ("start_block_index", "end_block_index"),
}


def _read_document(kind: str) -> None:
    @citations.read(kind)
    def read(w: Node, r: Reader) -> Node:
        node: Node = {"type": "document_citation"}
        for key in (*_DOCUMENT, *_UNITS[kind]):
            if key in w:
                node[key] = w.pop(key)
        if _UNITS[kind][0] not in node:
            raise IllTyped(kind)
        return node


for _kind in _UNITS:
    _read_document(_kind)


_PLACE = ("start_index", "end_index")


def _take_place(c: Node, w: Writer) -> bool:
    """A citation is about its block: whether its place was the whole of it, which is told by that."""
    if tuple(c.get(key) for key in _PLACE) != (0, w.context.get("text length")):
        return False
    for key in _PLACE:
        del c[key]
    return True


@citations.write("document_citation")
def write_document_citation(c: Node, w: Writer) -> Node | None:
    kind = next((kind for kind, keys in _UNITS.items() if keys[0] in c), None)
    if kind is None:
        return None
    return {"type": kind, **{key: c.pop(key) for key in (*_DOCUMENT, *_UNITS[kind]) if key in c}}


_SEARCH = ("cited_text", "search_result_index", "source", "title", "start_block_index", "end_block_index")


@citations.read("search_result_location")
def read_search_result_citation(w: Node, r: Reader) -> Node:
    return {"type": "search_result_citation", **{key: w.pop(key) for key in _SEARCH if key in w}}


@citations.write("search_result_citation")
def write_search_result_citation(c: Node, w: Writer) -> Node:
    return {"type": "search_result_location", **{key: c.pop(key) for key in _SEARCH if key in c}}


_WEB = ("cited_text", "url", "title")


@citations.read("web_search_result_location")
def read_url_citation(w: Node, r: Reader) -> Node:
    proof = w.get("encrypted_index")
    opened = None
    if type(proof) is str and is_envelope(proof, r):
        del w["encrypted_index"]
        opened = open_sealed(proof, f"url:{w.get('url')}", r)
        if opened is not None and opened.get("type") != "url_citation":
            opened = None
        if opened is not None and r.secret is not None:
            for key in _WEB:
                w.pop(key, None)
            return opened
    node: Node = {"type": "url_citation", **{key: w.pop(key) for key in _WEB if key in w}}
    if opened is not None and opened.get("opaque"):
        node["opaque"] = opened["opaque"]
    if type(proof) is str and proof and "encrypted_index" in w:
        node["opaque"] = [opaque_piece("encrypted_index", w.pop("encrypted_index"), r)]
        r.place(node, ("opaque",), ("encrypted_index",))
    return node


@citations.write("url_citation")
def write_url_citation(c: Node, w: Writer) -> Node | None:
    whole = _take_place(c, w)
    wire = _write_page(c, w)
    if whole:
        c.update(dict.fromkeys(_PLACE, Fated("approximated", "told by the block")))
    return wire


def _write_page(c: Node, w: Writer) -> Node | None:
    own, foreign = split_opaque(c, w)
    kept = ((c.get("extra") or {}).get(w.protocol) or {}).get("rest") or {}
    as_it_was = w.facing == "client" and w.source == w.protocol and not foreign
    if not (own or as_it_was or "encrypted_index" in kept):
        return _for_client(c, foreign, w) if w.facing == "client" else None
    wire: Node = {"type": "web_search_result_location", **{key: c.pop(key) for key in _WEB if key in c}}
    kinds = {piece.get("kind"): piece["data"] for piece in own}
    if kinds.keys() == {"encrypted_index"}:
        wire["encrypted_index"] = kinds["encrypted_index"]
    elif own:
        c["opaque"] = own
    return wire


def _for_client(c: Node, foreign: list[Node], w: Writer) -> Node:
    """A citation of another provider, whole inside the slot that clients must echo."""
    node: Node = {"type": "url_citation", **{key: value for key, value in c.items() if key != "extra"}}
    if foreign:
        node["opaque"] = foreign
    wire: Node = {"type": "web_search_result_location", "cited_text": c.pop("cited_text", ""), "url": c.pop("url", "")}
    wire["title"] = c.pop("title", None)
    wire["encrypted_index"] = seal(ordered(node), f"url:{wire['url']}", w.secret)
    for key in _PLACE:
        if key in c:
            c[key] = Fated("parked", "kept in an envelope")
    return wire


citations.cannot(
    "file_citation container_file_citation file_path place_citation word_info speech_metadata",
    "citations name given documents, given search results and web searches only",
)
