"""Searches and pages read, from the metadata of a candidate: items of their own behind the message, and back.

https://ai.google.dev/api/generate-content#GroundingMetadata
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, are_objects, lookup, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.code_results import failed, said_by

from ..values.enums import MARKER, number_of, take_name

__all__ = ["FETCHED", "is_search", "read_pages", "read_searches", "write_search"]

Node = dict[str, Any]

# Metadata key to the item it is, and the key of that item.
_QUERIES = (
    ("webSearchQueries", "web_search_call"),
    ("imageSearchQueries", "web_search_call"),
    ("retrievalQueries", "file_search_call"),
)
_STATUS = "URL_RETRIEVAL_STATUS_"
FETCHED = "fetched"
"""Under which name the writer's context has the URLs of each call that fetches pages, by its id."""


def read_searches(meta: Node, doc: Node, r: Reader) -> list[Node]:
    """The searches in the grounding metadata, as items."""
    items: list[Node] = []
    for name, kind in _QUERIES:
        queries = meta.get(name)
        if type(queries) is not list or not queries or not all(type(each) is str for each in queries):
            continue
        item: Node = {"type": kind}
        if kind == "web_search_call":
            item["action"] = {"type": "search", "queries": meta.pop(name)}
            if name == "imageSearchQueries":
                item["search_type"] = "image"
                r.place(item, ("search_type",), (name,))
            r.place(item, ("action", "queries"), (name,))
        else:
            item["queries"] = meta.pop(name)
            r.place(item, ("queries",), (name,))
        r.form(item, "grounding", name)
        items.append(r.made(item, doc))
    entry = meta.get("searchEntryPoint")
    if type(entry) is dict and type(entry.get("renderedContent")) is str:
        item = {"type": "web_search_result", "suggestions": take(meta, "searchEntryPoint").pop("renderedContent")}
        r.form(item, "grounding", "searchEntryPoint")
        r.place(item, ("suggestions",), ("searchEntryPoint", "renderedContent"))
        items.append(r.made(item, doc))
    return items


def read_pages(own: Node, doc: Node, r: Reader) -> list[Node]:
    """The fetched pages in the URL metadata, as items; empty for metadata of another form."""
    wires = doc.get("urlMetadata")
    if not (wires and are_objects(wires)):
        return []
    pages = []
    for page, wire in zip(take_all(take(own, "urlContextMetadata"), "urlMetadata"), wires):
        read: Node = {}
        if type(page.get("retrievedUrl")) is str:
            read["url"] = page.pop("retrievedUrl")
            r.place(read, ("url",), ("retrievedUrl",))
        take_name(page, "urlRetrievalStatus", "UrlRetrievalStatus", read, r)
        status = page.get("urlRetrievalStatus")
        if type(status) is str and status.startswith(_STATUS) and status.isupper():
            read["status"] = page.pop("urlRetrievalStatus").removeprefix(_STATUS).lower()
            r.place(read, ("status",), ("urlRetrievalStatus",))
        if "url" in read and "status" not in read:
            r.form(read, "status", "absent")
        pages.append(r.made(read, wire))
    item: Node = {"type": "web_fetch_result", "results": pages}
    r.form(item, "grounding", "urlContextMetadata")
    return [r.made(item, doc)]


def is_search(item: Node, w: Writer) -> bool:
    """Whether an item belongs into the metadata of a candidate and not among its parts."""
    kind = item.get("type")
    if kind not in ("web_search_call", "web_search_result", "web_fetch_result", "file_search_call"):
        return False
    if w.form(item, "grounding"):
        return True
    return not w.form(item, "hosted") and kind != "file_search_call"


def write_search(c: Node, w: Writer, kind: str) -> Node:
    """The metadata a search or a page that was read makes, by its key."""
    name = w.form(c, "grounding")
    name = name if type(name) is str else ""
    if kind == "web_fetch_result":
        pages = _failed_pages(c, w) if not c.get("results") else []
        if pages:
            return {"urlContextMetadata": pages}
        if not are_objects(c.get("results")):
            return {}
        return {"urlContextMetadata": [w.piece(_write_page, page) for page in c.pop("results")]}
    if kind == "file_search_call":
        return {name: c.pop("queries")} if type(c.get("queries")) is list else {}
    if kind == "web_search_result":
        return (
            {"searchEntryPoint": {"renderedContent": c.pop("suggestions")}} if type(c.get("suggestions")) is str else {}
        )
    if type(c.get("action")) is not dict or c["action"].get("type") != "search":
        return {}
    action = take(c, "action")
    queries = action.pop("queries", None)
    if type(queries) is not list:
        queries = [action["query"]] if type(action.get("query")) is str else []
    if "query" in action and action["query"] in queries:
        del action["query"]
    if not queries:
        return {}
    del action["type"]
    if c.get("search_type") == "image":
        del c["search_type"]
        return {name or "imageSearchQueries": queries}
    return {name or "webSearchQueries": queries}


def _failed_pages(c: Node, w: Writer) -> list[Node]:
    """The pages of a fetch that failed as a whole: those that its call has, each with the status of an error."""
    error, urls = c.get("error"), lookup(w.context.get(FETCHED, {}), c.get("call_id"))
    if not (w.crosses and (failed(c) or error) and type(urls) is list):
        return []
    c.pop("results", None)
    said_by(c, "the status")
    if error:
        c["error"] = Fated("approximated", "represented by the status")
    pages = [{"retrievedUrl": url, "urlRetrievalStatus": f"{_STATUS}ERROR"} for url in urls]
    for page in pages:
        w.added(page, "retrievedUrl", "the URL of the call")
    return pages


def _write_page(c: Node, w: Writer) -> Node:
    wire: Node = {}
    if "url" in c:
        wire["retrievedUrl"] = c.pop("url")
    if type(c.get("status")) is str:
        word = _STATUS + c.pop("status").upper()
        wire["urlRetrievalStatus"] = number_of(word, "UrlRetrievalStatus", w.form(c, MARKER))
    elif "retrievedUrl" in wire and "status" not in c and not w.form(c, "status"):
        wire["urlRetrievalStatus"] = f"{_STATUS}SUCCESS"  # the AI SDK refuses a page without one
        w.added(wire, "urlRetrievalStatus", "the page was retrieved")
    return wire
