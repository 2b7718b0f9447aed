"""Content parts of Messages: text, images, documents, search results, each read and written side by side.

Text of the user is `input_text`, text of the assistant `output_text`; everything else means the same wherever it
stands. A source in base64 becomes a data URL and the other way round, byte for byte. A file id is a handle of the
provider that gave it, so one that came through another protocol is never sent.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.cache_ttl import fit_lifetime
from unified_llm.provenance.opaque import split_opaque

from .citations import citations
from .plaintext import plain_text
from .tables import LIFETIMES, PROTOCOL, read_cache, write_cache

__all__ = ["answer_parts", "move_cache_in", "move_cache_out", "own_born", "parts", "provider_bound", "said", "withhold"]

Node = dict[str, Any]

parts = Mapping("anthropic-messages parts")
answer_parts = Mapping("anthropic-messages assistant parts")

# The first base64 characters of what the API accepts and checks.
_MAGIC = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi": "application/pdf",
}


def own_born(w: Writer) -> bool:
    """Whether the document being written was read from this protocol: then it is left as it is."""
    own = w.context.get("own")
    if own is None:
        extra = w.doc.get("extra") if type(w.doc) is dict else None
        own = w.context["own"] = w.source == w.protocol or PROTOCOL in (extra or {})
    return bool(own)


def provider_bound(w: Writer) -> bool:
    """Whether a handle that came from elsewhere must not be sent."""
    return w.facing == "provider" and not own_born(w)


def move_cache_in(w: Node, node: Node, r: Reader) -> Node:
    """Read a cache breakpoint, if there is one that reads as such."""
    if "cache_control" in w:
        if w["cache_control"] is None:
            node["cache"] = w.pop("cache_control")
            return node
        try:
            node["cache"] = read_cache(w["cache_control"])
        except IllTyped:
            return node
        del w["cache_control"]
        r.place(node, ("cache",), ("cache_control",))
    return node


def move_cache_out(c: Node, wire: Node, w: Writer) -> Node:
    if "cache" in c:
        if c["cache"] is None:
            wire["cache_control"] = c.pop("cache")
            return wire
        try:
            wire["cache_control"] = cache = write_cache(c["cache"])
        except IllTyped:
            return wire
        if cache.get("ttl") is None or cache["ttl"] in LIFETIMES or own_born(w):
            del c["cache"]
        else:
            fit_lifetime(c, cache, LIFETIMES)
    return wire


def withhold(c: Node, w: Writer) -> None:
    """Foreign proof on a call is not sent; whether the vault keeps it was seen to before."""
    if "opaque" in c:
        _, foreign = split_opaque(c, w)
        if foreign:
            # Facing a client it travels in a block of its own (see messages.py).
            fate = "parked" if w.vault is not None or w.facing == "client" else "lost"
            c["opaque"] = Fated(fate, "kept in an envelope" if w.facing == "client" else "foreign")


# ---- text -----------------------------------------------------------------------------------------------------------


def _read_citations(w: Node, part: Node, r: Reader) -> None:
    if "citations" in w:
        found = w["citations"]
        if found is None:
            part["annotations"] = w.pop("citations")
        elif type(found) is list:
            part["annotations"] = r.nodes(citations, w.pop("citations"))
            r.place(part, ("annotations",), ("citations",))


@parts.read("text")
def read_text(w: Node, r: Reader) -> Node:
    part: Node = {"type": "input_text", "text": _string(w, "text")}
    if w:
        _read_citations(w, part, r)
        move_cache_in(w, part, r)
    return part


@answer_parts.read("text")
def read_output_text(w: Node, r: Reader) -> Node:
    part: Node = {"type": "output_text", "text": _string(w, "text")}
    if w:
        _read_citations(w, part, r)
        move_cache_in(w, part, r)
    return part


@parts.write("input_text", "output_text", "text", "summary_text", "reasoning_text")
@answer_parts.write("output_text", "input_text", "text")
def write_text(c: Node, w: Writer) -> Node | None:
    text = c.get("text")
    if type(text) is not str:
        return None
    if not text and not own_born(w):
        # The API refuses empty text, in the answers that clients send back too; there is nothing in it to lose.
        return None
    wire: Node = {"type": "text", "text": c.pop("text")}
    if c:
        if "annotations" in c:
            _write_citations(c, wire, w)
        withhold(c, w)
        move_cache_out(c, wire, w)
    return wire


def said(content: list[Node], w: Writer) -> list[Node]:
    """Parts without those that are empty text and nothing else: the API refuses them, and nothing is lost with them."""
    if own_born(w):
        return content
    return [part for part in content if part.get("text") != "" or not _SILENT.issuperset(part)]


_SILENT = frozenset(("type", "text", "annotations", "logprobs"))


def _write_citations(c: Node, wire: Node, w: Writer) -> None:
    found = c.pop("annotations")
    if not found:
        if found is None or own_born(w):
            wire["citations"] = found
        return
    w.context["text length"] = len(wire["text"])
    written = w.nodes(citations, found)
    if written:
        wire["citations"] = written


@answer_parts.write("refusal")
def write_refusal(c: Node, w: Writer) -> Node | None:
    """Refusals are ordinary text here; that it was one is said by the stop reason of an answer."""
    if type(c.get("refusal")) is not str or not c["refusal"]:
        return None
    wire = {"type": "text", "text": c["refusal"]}
    c["type"] = c["refusal"] = Fated("approximated", "sent as text")
    return wire


def _string(w: Node, key: str) -> str:
    value = w[key]
    if type(value) is not str:
        raise IllTyped(key)
    del w[key]
    return value


# ---- images and documents -------------------------------------------------------------------------------------------


def _data_url(source: Node) -> str:
    media_type, data = source["media_type"], source["data"]
    if type(media_type) is not str or type(data) is not str or ";base64," in media_type:
        raise IllTyped("source")
    del source["media_type"], source["data"]
    return f"data:{media_type};base64,{data}"


def split_data_url(url: str) -> tuple[str, str] | None:
    """Media type and base64 data of a data URL (RFC 2397), None for anything else.

    >>> split_data_url("data:image/png;base64,iVBO")
    ('image/png', 'iVBO')
    """
    if url[:5].lower() != "data:":
        return None
    head, comma, data = url[5:].partition(",")
    if not comma or not head.lower().endswith(";base64"):
        return None
    return head[: -len(";base64")], data


def _base64_source(c: Node, key: str, w: Writer, media_type: str | None = None) -> Node | None:
    """The base64 source of the data URL under `key`; one of another protocol is brought to the form the API takes."""
    found = split_data_url(c[key])
    if found is None:
        return None
    declared, data = found
    del c[key]
    if not own_born(w):
        clean, plain = "".join(data.split()), declared.partition(";")[0].strip().lower() or media_type or "text/plain"
        for magic, real in _MAGIC.items():
            if clean.startswith(magic):
                plain = real
        if (clean, plain) != (data, declared):
            c[key] = Fated("approximated", f"sent as {plain}")
        declared, data = plain, clean
    return {"type": "base64", "media_type": declared, "data": data}


@parts.read("image")
@answer_parts.read("image")
def read_image(w: Node, r: Reader) -> Node:
    source = take(w, "source")
    kind = source.pop("type")
    part: Node = {"type": "input_image"}
    if kind == "base64":
        part["image_url"] = _data_url(source)
    elif kind == "url":
        part["image_url"] = _string(source, "url")
        if split_data_url(part["image_url"]) is not None:
            r.form(part, "source", "url")
    elif kind == "file":
        part["file_id"] = _string(source, "file_id")
    else:
        raise IllTyped("source")
    return move_cache_in(w, part, r)


@parts.write("input_image", "output_image", "computer_screenshot")
@answer_parts.write("input_image")
def write_image(c: Node, w: Writer) -> Node | None:
    url = c.get("image_url")
    if type(url) is str:
        source = None if w.form(c, "source") else _base64_source(c, "image_url", w)
        if source is None:
            if url[:5].lower() == "data:" and not own_born(w):
                return None
            source = {"type": "url", "url": c.pop("image_url")}
        wire: Node = {"type": "image", "source": source}
    elif type(c.get("file_id")) is str and not provider_bound(w):
        wire = {"type": "image", "source": {"type": "file", "file_id": c.pop("file_id")}}
    else:
        return None
    return move_cache_out(c, wire, w)


_DOCUMENT_KEYS = ("title", "context")


@parts.read("document")
@answer_parts.read("document")
def read_document(w: Node, r: Reader) -> Node:
    source = take(w, "source")
    kind = source.pop("type")
    part: Node = {"type": "input_file"}
    if kind == "base64":
        part["file_data"] = _data_url(source)
    elif kind == "text":
        part["text"] = _string(source, "data")
        if "media_type" in source:
            part["media_type"] = source.pop("media_type")
    elif kind == "content":
        part["content"] = r.parts(parts, source.pop("content"))
    elif kind == "url":
        part["file_url"] = _string(source, "url")
    elif kind == "file":
        part["file_id"] = _string(source, "file_id")
    else:
        raise IllTyped("source")
    for key in _DOCUMENT_KEYS:
        if key in w:
            part[key] = w.pop(key)
    _read_enabled(w, part)
    return move_cache_in(w, part, r)


@parts.write("input_file", "output_file")
@answer_parts.write("input_file")
def write_document(c: Node, w: Writer) -> Node | None:
    if type(c.get("file_data")) is str:
        declared = c.get("media_type") if type(c.get("media_type")) is str else None
        source = _base64_source(c, "file_data", w, declared)
        if source is None and declared and c["file_data"][:5].lower() != "data:":
            source = {"type": "base64", "media_type": c.pop("media_type"), "data": c.pop("file_data")}
        if source is None:
            return None
        if source["media_type"] != "application/pdf" and not own_born(w):
            fitted = plain_text(source)
            if fitted is None:
                c["file_data"] = Fated("lost", f"documents are PDF or text, not {source['media_type']}")
                return None
            if source["media_type"] != "text/plain":
                c["file_data"] = Fated("approximated", "sent as plain text")
            source = fitted
    elif type(c.get("text")) is str:
        source = {"type": "text"}
        if "media_type" in c:
            source["media_type"] = c.pop("media_type")
        elif not own_born(w):
            source["media_type"] = "text/plain"
        source["data"] = c.pop("text")
    elif "content" in c and c["content"] is not None:
        source = {"type": "content", "content": w.parts(parts, c.pop("content"))}
    elif type(c.get("file_url")) is str:
        source = {"type": "url", "url": c.pop("file_url")}
    elif type(c.get("file_id")) is str and not provider_bound(w):
        source = {"type": "file", "file_id": c.pop("file_id")}
    else:
        return None
    wire: Node = {"type": "document", "source": source}
    for key in _DOCUMENT_KEYS:
        if key in c:
            wire[key] = c.pop(key)
    if "title" not in wire and type(c.get("filename")) is str:
        wire["title"] = c["filename"]
        c["filename"] = Fated("approximated", "as the title")
    _write_enabled(c, wire)
    return move_cache_out(c, wire, w)


def _read_enabled(w: Node, part: Node) -> None:
    """`citations` of a document or search result: {enabled}."""
    value = w.get("citations")
    if "citations" in w and (value is None or (type(value) is dict and value.keys() <= {"enabled"})):
        part["citations"] = w.pop("citations")


def _write_enabled(c: Node, wire: Node) -> None:
    value = c.get("citations")
    if "citations" in c and (value is None or (type(value) is dict and value.keys() <= {"enabled"})):
        wire["citations"] = c.pop("citations")


# ---- what else a tool result may hold -------------------------------------------------------------------------------


@parts.read("search_result")
@answer_parts.read("search_result")
def read_search_result(w: Node, r: Reader) -> Node:
    part: Node = {"type": "search_result", "source": _string(w, "source"), "title": w.pop("title")}
    part["content"] = r.parts(parts, w.pop("content"))
    _read_enabled(w, part)
    return move_cache_in(w, part, r)


@parts.write("search_result")
@answer_parts.write("search_result")
def write_search_result(c: Node, w: Writer) -> Node | None:
    if type(c.get("source")) is not str:
        return None
    wire: Node = {"type": "search_result", "source": c.pop("source"), "title": c.pop("title", "")}
    content = c.pop("content", None)
    if type(content) is str:
        wire["content"] = [{"type": "text", "text": content}] if not own_born(w) else content
    else:
        wire["content"] = w.nodes(parts, content or [])
    _write_enabled(c, wire)
    return move_cache_out(c, wire, w)


@parts.read("tool_reference")
def read_tool_reference(w: Node, r: Reader) -> Node:
    return move_cache_in(w, {"type": "tool_reference", "name": _string(w, "tool_name")}, r)


@parts.write("tool_reference")
def write_tool_reference(c: Node, w: Writer) -> Node | None:
    if type(c.get("name")) is not str:
        return None
    return move_cache_out(c, {"type": "tool_reference", "tool_name": c.pop("name")}, w)


parts.cannot("input_audio output_audio", "anthropic-messages has no audio input")
parts.cannot("encrypted_content", "only its own provider can read it")
parts.cannot("input_video output_video", "anthropic-messages has no video input")
answer_parts.cannot("output_image output_audio output_video output_file", "an assistant message holds text alone")
