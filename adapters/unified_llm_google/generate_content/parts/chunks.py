"""The fields of a chunk about its source beside URI and title: the metadata of a file, the reviews of a place.

Metadata are a list of typed pairs here and an object in the canonical model; of a review the canonical model has id,
title and URL. Other fields of a review stay with its chunk.

https://ai.google.dev/api/generate-content#GroundingChunk https://ai.google.dev/gemini-api/docs/file-search
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Owned, take, take_all

__all__ = ["Places", "read_metadata", "read_reviews", "write_metadata", "write_reviews"]

Node = dict[str, Any]
Places = dict[tuple[Any, ...], tuple[Any, ...]]

_REVIEW = (("reviewId", "review_id"), ("title", "title"), ("googleMapsUri", "url"))
_SOURCES, _SNIPPETS = "placeAnswerSources", "reviewSnippets"
_LIST = "stringListValue"


def read_metadata(chunk: Node, fields: Node, places: Places, at: tuple[Any, ...]) -> None:
    """`customMetadata` as an object; left unread where pairs have no one value or share a key."""
    given = chunk.get("customMetadata")
    if type(given) is not list:
        return
    found: Node = {}
    for pair in given:
        if type(pair) is not dict or len(pair) != 2 or type(pair.get("key")) is not str or pair["key"] in found:
            return
        kind = next(name for name in pair if name != "key")
        value = pair[kind]
        if kind == _LIST and type(value) is dict and value.keys() == {"values"} and _are_texts(value["values"]):
            found[pair["key"]] = value["values"]
        elif (kind == "stringValue" and type(value) is str) or (kind == "numericValue" and type(value) in (int, float)):
            found[pair["key"]] = value
        else:
            return
    fields["custom_metadata"] = found
    del chunk["customMetadata"]
    places["custom_metadata",] = (*at, "customMetadata")
    for index, pair in enumerate(given):
        where = (*at, "customMetadata", index)
        places["custom_metadata", pair["key"]] = where
        for number in range(len(pair[_LIST]["values"]) if _LIST in pair else 0):
            places["custom_metadata", pair["key"], number] = where


def write_metadata(c: Node) -> list[Node] | None:
    """The inverse, `c` being popped from; values that are no text, number or list of texts stay."""
    given = c.get("custom_metadata")
    if type(given) is not dict:
        return None
    out: list[Node] = []
    left = Owned()
    for key, value in given.items():
        if type(value) is str:
            out.append({"key": key, "stringValue": value})
        elif type(value) in (int, float):
            out.append({"key": key, "numericValue": value})
        elif type(value) is list and _are_texts(value):
            out.append({"key": key, _LIST: {"values": value}})
        else:
            left[key] = value
    c["custom_metadata"] = left
    if not left:
        del c["custom_metadata"]
    return out if out or not given else None


def _are_texts(value: Any) -> bool:
    return type(value) is list and all(type(each) is str for each in value)


def read_reviews(chunk: Node, fields: Node, places: Places, at: tuple[Any, ...]) -> None:
    """What is common to all of the reviews that an answer about a place drew on."""
    sources = chunk.get(_SOURCES)
    if type(sources) is not dict or type(sources.get(_SNIPPETS)) is not list or not sources[_SNIPPETS]:
        return
    if any(type(each) is not dict for each in sources[_SNIPPETS]):
        return
    at = (*at, _SOURCES, _SNIPPETS)
    places["review_snippets",] = at
    fields["review_snippets"] = []
    for index, review in enumerate(take_all(take(chunk, _SOURCES), _SNIPPETS)):
        found: Node = {}
        for name, hub in _REVIEW:
            if type(review.get(name)) is str:
                found[hub] = review.pop(name)
                places["review_snippets", index, hub] = (*at, index, name)
        places["review_snippets", index] = (*at, index)
        fields["review_snippets"].append(found)


def write_reviews(c: Node) -> Node | None:
    """The inverse, `c` being popped from."""
    given = c.get("review_snippets")
    if type(given) is not list or any(type(each) is not dict for each in given):
        return None
    out = []
    for review in take_all(c, "review_snippets"):
        out.append({name: review.pop(hub) for name, hub in _REVIEW if type(review.get(hub)) is str})
    return {_SNIPPETS: out}
