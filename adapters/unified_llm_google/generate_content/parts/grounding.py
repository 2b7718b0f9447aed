"""Sources: grounding and citation metadata of a candidate to annotations on its text, and to searches, and back.

A support ties a span of one part's text to chunks; each pair is one annotation. Spans count UTF-8 bytes here and
characters there. Which support and which chunk an annotation came from is a marker, so that shared chunks stay
shared. The searches in the metadata are items of their own behind the message; what has no home stays where it
was.

https://ai.google.dev/api/generate-content#GroundingMetadata
"""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from unified_llm.engine.pairs.mapping import Fated, are_objects, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.citation_spans import is_placeless
from unified_llm.foundation.json_codec import dump_text

from ...byte_offsets import Span, size
from . import transcription
from .chunks import Places, read_metadata, read_reviews, write_metadata, write_reviews
from .searches import read_pages, read_searches, write_search

__all__ = ["read_sources", "write_sources"]

Node = dict[str, Any]

_META = "groundingMetadata"
_CITATIONS = ("citationSources", "citations")
# Kind of chunk to the type of its annotation, and its keys.
_CHUNKS: dict[str, tuple[str, tuple[tuple[str, str, type], ...]]] = {
    "web": ("url_citation", (("uri", "url", str), ("title", "title", str))),
    "retrievedContext": (
        "file_citation",
        (
            ("uri", "file_uri", str),
            ("title", "filename", str),
            ("fileSearchStore", "source", str),
            ("pageNumber", "page_number", int),
            ("mediaId", "media_id", str),
        ),
    ),
    "maps": ("place_citation", (("uri", "url", str), ("title", "name", str), ("placeId", "place_id", str))),
    "image": ("url_citation", (("sourceUri", "url", str), ("title", "title", str))),
}
_KINDS = {"url_citation": "web", "file_citation": "retrievedContext", "place_citation": "maps"}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_sources(own: Node, doc: Node, texts: dict[int, Node], node: Node, r: Reader) -> list[Node]:
    """The items behind the message; annotations are put on `texts`, the text parts of the candidate by their place.

    `own` is the candidate being consumed, `doc` the same as the document has it, `node` has the markers.
    """
    items: list[Node] = []
    if type(own.get(_META)) is dict:
        meta = take(own, _META)
        if not meta:
            r.form(node, "grounding", "empty")
        if texts:
            _read_supports(meta, doc[_META], texts, node, r)
        items += read_searches(meta, doc[_META], r)
    if type(own.get("urlContextMetadata")) is dict:
        items += read_pages(own, doc["urlContextMetadata"], r)
    if type(own.get("citationMetadata")) is dict and texts:
        _read_citations(own, doc["citationMetadata"], texts[min(texts)], r)
    return items


def _objects(value: Any) -> bool:
    return bool(value) and are_objects(value)


def _read_supports(meta: Node, doc: Node, texts: dict[int, Node], node: Node, r: Reader) -> None:
    chunks = meta.get("groundingChunks")
    if chunks is None or not _objects(chunks):
        return
    supports = meta.get("groundingSupports")
    given: list[Node] = supports if _objects(supports) else []  # type: ignore[assignment]
    usable = [_is_support(each, len(chunks), texts) for each in given]
    if given and not any(usable):
        return
    if not all(usable):
        r.form(node, "supports", len(given))
    read = [_read_chunk(chunk, place) for place, chunk in enumerate(take_all(meta, "groundingChunks"))]
    if len(read) != 1:
        r.form(node, "chunks", len(read))
    used: set[int] = set()
    joined = _Joined(texts)
    spans = {place: Span(part["text"]) for place, part in texts.items()}
    for number, support in enumerate(take_all(meta, "groundingSupports") if given else ()):
        if not usable[number]:
            continue  # it names a chunk or a part that is not there, and stays where it is
        segment = take(support, "segment")
        marks: Node = {"support": number}
        if "partIndex" in segment:
            at, base = segment["partIndex"], 0
            del segment["partIndex"]
            marks["part"] = "explicit"
        else:
            at, base = joined.at(segment.get("startIndex", 0))
            if at:
                marks["part"] = "joined"
        part = texts[at]
        span = _read_span(segment, spans[at], marks, base)
        indices = support.get("groundingChunkIndices")
        if indices is not None:
            del support["groundingChunkIndices"]
            if not indices:
                marks["indices"] = "empty"
        for nth, chunk in enumerate(indices or (None,)):
            fields, places, kind = read[chunk] if chunk is not None else ({"type": "url_citation"}, {}, "")
            note = {**fields, **span}
            r.extra(note)["form"] = marks if chunk is None else {**marks, "chunk": chunk, **_kind_mark(kind)}
            _add(note, part, doc, places, r)
            if chunk is not None:
                r.place(note, ("type",), ("groundingSupports", number, "groundingChunkIndices", nth))
            for key, name in (("start_index", "startIndex"), ("end_index", "endIndex")):
                given_segment = doc["groundingSupports"][number]["segment"]
                if given_segment:  # a start of zero is left out
                    at_ = (name,) if name in given_segment else ()
                    r.place(note, (key,), ("groundingSupports", number, "segment", *at_))
            used.add(-1 if chunk is None else chunk)
    first = texts[min(texts)]
    for place, (fields, places, kind) in enumerate(read):
        if place not in used and len(fields) > 1:
            note = dict(fields)
            r.extra(note)["form"] = {"chunk": place, **_kind_mark(kind)}
            _add(note, first, doc, places, r)


class _Joined:
    """The texts of an answer as the service counts them where it names no part: as if they were one.

    https://ai.google.dev/gemini-api/docs/google-search has a client that relies on it.
    """

    def __init__(self, texts: dict[int, Node]) -> None:
        self._places = sorted(texts)
        sizes = (size(texts[place]["text"]) for place in self._places)
        self._starts = [0, *accumulate(sizes)][: len(self._places)]

    def at(self, start: Any) -> tuple[int, int]:
        """The place of the text that an offset is in, and the bytes before that text."""
        number = len(self._starts) if type(start) is not int else max(bisect_right(self._starts, start), 1)
        return self._places[number - 1], self._starts[number - 1]


def _kind_mark(kind: str) -> Node:
    """A marker for chunks that share their annotation's type with another kind."""
    return {"kind": kind} if kind == "image" else {}


def _add(note: Node, part: Node, doc: Node, places: Places, r: Reader) -> None:
    r.made(note, doc)
    for keys, place in places.items():
        r.place(note, keys, place)
    part.setdefault("annotations", []).append(note)


def _is_support(support: Node, count: int, texts: dict[int, Node]) -> bool:
    segment, indices = support.get("segment"), support.get("groundingChunkIndices")
    if (
        type(segment) is not dict
        or type(segment.get("partIndex", 0)) is not int
        or ("partIndex" in segment and segment["partIndex"] not in texts)
    ):
        return False
    if indices is None:
        return "groundingChunkIndices" not in support
    return type(indices) is list and all(type(each) is int and 0 <= each < count for each in indices)


def _read_chunk(chunk: Node, place: int) -> tuple[Node, Places, str]:
    """The fields of an annotation that a chunk gives, and where in the metadata each stands."""
    for kind, (type_, keys) in _CHUNKS.items():
        if type(chunk.get(kind)) is not dict:
            continue
        own = take(chunk, kind)
        fields: Node = {"type": type_}
        places: Places = {}
        for name, hub, json_type in keys:
            if type(own.get(name)) is json_type:
                fields[hub] = own.pop(name)
                places[hub,] = ("groundingChunks", place, kind, name)
        if kind == "maps":
            read_reviews(own, fields, places, ("groundingChunks", place, kind))
        elif kind == "retrievedContext":
            read_metadata(own, fields, places, ("groundingChunks", place, kind))
        return fields, places, kind
    return {"type": "url_citation"}, {}, ""


def _read_span(segment: Node, text: Span, marks: Node, base: int = 0) -> Node:
    """Start and end of a segment, in characters; offsets that hit no character stay.

    So does its text, which is that of the answer at this place and not, as in other citations, that of the source.
    """
    span: Node = {}
    start, end = segment.get("startIndex", 0), segment.get("endIndex", 0)
    first, last = (text.char(each - base) if type(each) is int else None for each in (start, end))
    if first is not None and last is not None:
        span = {"start_index": first, "end_index": last}
        for key, value in (("startIndex", start), ("endIndex", end)):
            if key in segment:
                del segment[key]
                if not value:
                    marks[key] = "explicit"
            elif key == "endIndex":
                marks[key] = "absent"
    else:
        marks["span"] = "bytes"
    return span


def _read_citations(own: Node, doc: Node, part: Node, r: Reader) -> None:
    key = next((key for key in _CITATIONS if _objects(doc.get(key))), None)
    if key is None:
        return
    text = Span(part["text"])
    for place, source in enumerate(take_all(take(own, "citationMetadata"), key)):
        marks: Node = {"citation": key}
        note: Node = {"type": "url_citation", **_read_span(source, text, marks)}
        for name, hub in (("uri", "url"), ("title", "title")):
            if type(source.get(name)) is str:
                note[hub] = source.pop(name)
                r.place(note, (hub,), (key, place, name))
        for hub, name in (("start_index", "startIndex"), ("end_index", "endIndex")):
            if name in doc[key][place]:
                r.place(note, (hub,), (key, place, name))
        r.extra(note)["form"] = marks
        part.setdefault("annotations", []).append(r.made(note, doc))


# ---- writing --------------------------------------------------------------------------------------------------------


def write_sources(found: list[tuple[int, Node]], searches: list[Node], candidate: Node, node: Node, w: Writer) -> None:
    """Put grounding, citations and searches on a candidate; `found` are its text parts with their places."""
    meta: Node = {}
    gathered = _Gathered([], {}, {}, {})
    cited: dict[str, list[Node]] = {}
    before = 0
    for place, part in found:
        text = Span(part.get("text") or "")
        base, before = before, before + text.size
        for note in part.get("annotations") or ():
            key = w.form(note, "citation")
            if key:
                pair = partial(_write_citation, text=text)
                cited.setdefault(key, []).append(w.piece(pair, note))
            elif note.get("type") in _KINDS:
                told = partial(_write_note, kind=_KINDS[note["type"]], place=place, base=base)
                w.piece(partial(told, text=text, gathered=gathered), note)
            elif note.get("type") != "word_info" or w.form(part, "text") != transcription.FORM:
                w.drop(note, "no form among the sources of an answer")
    chunks = gathered.chunks
    count = w.form(node, "chunks") or 0
    chunks += [None] * (count - len(chunks) if chunks else 0)
    if chunks:
        meta["groundingChunks"] = [chunk or {} for chunk in chunks]
    for place in range(w.form(node, "supports") or 0):
        gathered.supports.setdefault((0, place), {})  # of those that were not read
    if gathered.supports:
        meta["groundingSupports"] = [gathered.supports[key] for key in sorted(gathered.supports)]
    for item in searches:
        for name, value in w.piece(partial(write_search, kind=item["type"]), item).items():
            if name == "urlContextMetadata":
                candidate.setdefault(name, {"urlMetadata": []})["urlMetadata"] += value
            elif name == "searchEntryPoint":
                meta[name] = value
            else:
                meta.setdefault(name, []).extend(value)
    if meta or w.form(node, "grounding") == "empty":
        candidate[_META] = meta
    for key, sources in cited.items():
        candidate["citationMetadata"] = {key: sources}


class _Gathered(NamedTuple):
    """The metadata of a candidate in the making: chunks, the place of each, supports in order, and by unmarked span."""

    chunks: list[Node | None]
    places: dict[str, int]
    supports: dict[tuple[int, int], Node]
    spans: dict[tuple[Any, ...], tuple[int, int]]


def _write_note(c: Node, w: Writer, kind: str, place: int, base: int, text: Span, gathered: _Gathered) -> Node:
    if is_placeless({"type": "url_citation", **c}) and w.form(c, "chunk") is None and kind == "web":
        c["start_index"], c["end_index"] = 0, text.length
    index = _write_chunk(c, w.form(c, "kind") or kind, gathered, w)
    own = w.form(c, "support")
    start, end = c.get("start_index"), c.get("end_index")
    if own is not None:
        key = (0, own)
    elif type(start) is int and type(end) is int:
        key = gathered.spans.setdefault((place, start, end), (1, len(gathered.supports)))
    else:
        return {}
    support = gathered.supports.get(key)
    if support is None:
        # Through the texts that are shown, as the service and its clients count, unless a part was named (ADR 0023).
        named = w.form(c, "part") == "explicit"
        segment = _write_span(c, text, w, 0 if named else base)
        if named:
            segment["partIndex"] = place
        support = gathered.supports[key] = {"segment": segment}
        if index is not None or w.form(c, "indices"):
            support["groundingChunkIndices"] = []
    else:
        for name in ("start_index", "end_index"):
            c.pop(name, None)
    if index is not None:
        support.setdefault("groundingChunkIndices", []).append(index)
    return {}


def _write_chunk(c: Node, kind: str, gathered: _Gathered, w: Writer) -> int | None:
    """The place of the chunk an annotation points to, among the chunks, where it is put if it is not there yet."""
    chunks, place = gathered.chunks, w.form(c, "chunk")
    own = {name: c.pop(hub) for name, hub, types in _CHUNKS[kind][1] if type(c.get(hub)) is types}
    more = write_reviews(c) if kind == "maps" else write_metadata(c) if kind == "retrievedContext" else None
    if more is not None:
        own["placeAnswerSources" if kind == "maps" else "customMetadata"] = more
    if not own and place is None:
        return None
    chunk: Node = {kind: own} if own else {}
    printed = dump_text(chunk)
    if place is not None:
        chunks += [None] * (place + 1 - len(chunks))
        if chunks[place] is None or chunks[place] == chunk:
            chunks[place] = chunk
            gathered.places[printed] = min(place, gathered.places.get(printed, place))
            return int(place)
    elif (known := gathered.places.get(printed)) is not None:
        return known
    chunks.append(chunk)
    gathered.places.setdefault(printed, len(chunks) - 1)
    return len(chunks) - 1


def _write_span(c: Node, text: Span, w: Writer, base: int = 0) -> Node:
    segment: Node = {}
    if w.form(c, "span") != "bytes" and type(c.get("start_index")) is int and type(c.get("end_index")) is int:
        for name, hub in (("startIndex", "start_index"), ("endIndex", "end_index")):
            index = c.pop(hub)
            offset = text.byte(index)
            if offset is None:
                c[hub] = Fated("approximated", "past the end of the text")
                offset = 0 if index < 0 else text.size
            offset += base
            if (offset and not (w.form(c, name) == "absent" and not offset)) or w.form(c, name) == "explicit":
                segment[name] = offset
    return segment


def _write_citation(c: Node, w: Writer, text: Span) -> Node:
    source = _write_span(c, text, w)
    for name, hub in (("uri", "url"), ("title", "title")):
        if hub in c:
            source[name] = c.pop(hub)
    return source
