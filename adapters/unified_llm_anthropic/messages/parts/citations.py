"""Citations of a text block: which place of which source the model quotes.

Places in documents come in three units (characters, pages, blocks), distinguished by their keys. A source on the web is
proved by `encrypted_index`, which is opaque and has to go back; a citation without proof of ours is not sent, but to a
client, in an envelope in the same slot.

https://docs.claude.com/en/docs/build-with-claude/citations
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Context, Union, integer, opaque, string
from unified_llm.engine.bridge import declare
from unified_llm.engine.pairs.mapping import Mapping
from unified_llm.engine.pairs.origins import is_own
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.record import NOTE
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.citation_spans import cites_nothing
from unified_llm.provenance.opaque import is_envelope, open_sealed, seal

from ..blocks import ordered
from ..values.tables import PROTOCOL

__all__ = ["citations"]

Node = dict[str, Any]

citations = Mapping(f"{PROTOCOL} citations")
cases = Union(citations.name)
for _kind, _unit in (
    ("char_location", "char_index"),
    ("page_location", "page_number"),
    ("content_block_location", "block_index"),
):
    cases.case(
        {
            "type": _kind,
            "cited_text?": string("cited_text"),
            "document_index?": integer("document_index"),
            "document_title?": string("document_title").nullable(),
            "file_id?": string("file_id").nullable(),
            f"start_{_unit}": integer(f"start_{_unit}"),
            f"end_{_unit}?": integer(f"end_{_unit}"),
        },
        "document_citation",
        when=lambda c, key=f"start_{_unit}": key in c,  # type: ignore[misc]
    )
cases.case(
    {
        "type": "search_result_location",
        "cited_text?": string("cited_text"),
        "search_result_index?": integer("search_result_index"),
        "source?": string("source"),
        "title?": string("title").nullable(),
        "start_block_index?": integer("start_block_index"),
        "end_block_index?": integer("end_block_index"),
    },
    "search_result_citation",
)
cases.case(
    {
        "type": "web_search_result_location",
        "cited_text?": string("cited_text"),
        "url?": string("url"),
        "title?": string("title").nullable().required(None),
        "encrypted_index?": opaque("encrypted_index"),
    },
    "url_citation",
)


def _opened(node: Node, w: Node, r: Reader) -> Node:
    """A citation that traveled in an envelope; of one that anybody may have made only its opaque data."""
    if not is_envelope(w.get("encrypted_index"), r):
        return node
    found = open_sealed(w["encrypted_index"], f"url:{w.get('url')}", r)
    if found is None or found.get("type") not in ("url_citation", "place_citation"):
        return node
    if r.secret is not None:
        return {**found, **({"extra": node["extra"]} if "extra" in node else {})}
    return {**node, "opaque": found["opaque"]} if found.get("opaque") else node


_PLACE = ("start_index", "end_index")
_SEALED = ("opaque", *_PLACE, "place_id", "review_snippets")


def _page(c: Node, w: Writer, x: Context) -> Node | None:
    return None if w.crosses and cites_nothing(c) else _proved(c, dict(c), w, x)


def _place(c: Node, w: Writer, x: Context) -> Node | None:
    """A place on a map, as the page that the map has of it."""
    if type(c.get("url")) is not str or w.facing != "client":
        return None
    x.approximated(c, ("type",), "sent as a page")
    made = {("title" if key == "name" else key): value for key, value in c.items()}
    return _proved(c, {**made, "type": "url_citation"}, w, x)


def _proved(c: Node, made: Node, w: Writer, x: Context) -> Node | None:
    """The page that a citation is sent as, with its proof."""
    whole = tuple(c.get(key) for key in _PLACE) == (0, w.context.get("text length"))
    if whole:
        # A citation is about its block: its place was the whole of it.
        for key in _PLACE:
            del made[key]
            x.approximated(c, (key,), "represented by the block")
    pieces = c.get("opaque") or []
    foreign = [piece for piece in pieces if not is_own(piece, w)]
    kept = ((c.get("extra") or {}).get(w.protocol) or {}).get("rest") or {}
    if len(foreign) < len(pieces) or "encrypted_index" in kept:
        return x.replaced(c, made)
    if w.facing != "client" or (w.source == w.protocol and not foreign):
        return x.replaced(c, made) if w.facing == "client" else None
    node = {key: value for key, value in c.items() if key != "extra" and not (whole and key in _PLACE)}
    for key in _SEALED:
        if made.pop(key, None) is not None:
            w.report(c, (key,), "parked", NOTE)
    made = {"cited_text": "", "url": "", **{key: value for key, value in made.items() if value is not None}}
    if not made.get("title"):
        made["title"] = made["url"]  # the API has a title for each page, and clients' own schemas (AI SDK) refuse null
    proof = seal(ordered(node), f"url:{made['url']}", w.secret)
    made["opaque"] = [{"kind": "encrypted_index", "data": proof, "origin": {"protocol": w.protocol}}]
    return x.replaced(c, made)


declare(citations, cases, {"url_citation": _page, "place_citation": _place}, {"web_search_result_location": _opened})
citations.cannot(
    "file_citation container_file_citation file_path place_citation url_citation word_info speech_metadata",
    "citations name given documents, given search results and web searches only",
)
