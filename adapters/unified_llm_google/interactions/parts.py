"""Contents of steps and the annotations of their texts, each read and written side by side.

A content's canonical type depends on the role: a `text` of the user is `input_text`, of the model `output_text`.
Inline media become data URLs, URIs become URLs or, where only the provider can open them, handles. The wire counts
annotations in UTF-8 bytes, the canonical model in characters; an offset that falls between two is kept, unread.

https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, are_objects, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.citation_spans import is_placeless
from unified_llm.engine.shared.file_types import image_type, is_other_image, type_of_file
from unified_llm.engine.shared.text_fallbacks import part_as_text

from ..audio_samples import details_of_samples
from ..byte_offsets import Span
from .values.tables import AUDIO, HANDLES

__all__ = ["citations", "model_parts", "summaries", "user_parts"]

Node = dict[str, Any]

user_parts = Mapping("google-interactions contents of the user")
model_parts = Mapping("google-interactions contents of the model")
summaries = Mapping("google-interactions summaries of thoughts")
citations = Mapping("google-interactions annotations")


# ---- annotations ---------------------------------------------------------------------------------------------------


_CITATIONS = {
    "url_citation": ("url", "title"),
    "file_citation": ("file_uri", "filename", "source", "page_number", "media_id", "custom_metadata"),
    "place_citation": ("place_id", "name", "url", "review_snippets"),
    "word_info": ("text", "start_offset", "end_offset", "speaker"),
    "speech_metadata": ("speaker", "style"),
}
_SPELLING = {"file_uri": "document_uri", "filename": "file_name"}
_INDICES = ("start_index", "end_index")


def _moved(given: Node, made: Node, names: list[tuple[str, str]], place: Callable[[int], int | None]) -> Node:
    """The fields of an annotation under the names of the other side; places outside the text stay behind."""
    for old, new in names:
        if old in given:
            made[new] = given.pop(old)
    for key in _INDICES:
        if type(given.get(key)) is int:
            found = place(given[key])
            if found is not None:
                made[key] = found
                del given[key]
    return made


def _declare_annotation(kind: str, keys: tuple[str, ...]) -> None:
    names = [(_SPELLING.get(key, key), key) for key in keys]

    @citations.read(kind)
    def read(w: Node, r: Reader) -> Node:
        return _moved(w, {"type": kind}, names, lambda offset: r.context["span"].char(offset))

    @citations.write(kind)
    def write(c: Node, w: Writer) -> Node:
        back = [(key, wire_key) for wire_key, key in names]
        if w.source not in (None, w.protocol) and is_placeless({**c, "type": kind}):
            c["start_index"], c["end_index"] = 0, w.context["span"].length
        return _moved(c, {"type": kind}, back, lambda index: w.context["span"].byte(index))


for _kind, _keys in _CITATIONS.items():
    _declare_annotation(_kind, _keys)
citations.cannot("container_file_citation file_path", "Interactions cites no files of a container")
citations.cannot("document_citation search_result_citation", "Interactions cites no places in given documents")


# ---- text -----------------------------------------------------------------------------------------------------------


def _text_reader(mapping: Mapping, type_: str) -> None:
    @mapping.read("text")
    def read_text(w: Node, r: Reader) -> Node:
        text = w.pop("text")
        if type(text) is not str:
            raise IllTyped("text")
        part: Node = {"type": type_, "text": text}
        if "annotations" in w:
            r.context["span"] = Span(text)
            part["annotations"] = w.pop("annotations")
            if part["annotations"] is not None:
                part["annotations"] = r.nodes(citations, part["annotations"])
        return part


_text_reader(user_parts, "input_text")
_text_reader(model_parts, "output_text")
_text_reader(summaries, "summary_text")


@user_parts.write("input_text", "output_text", "text")
@model_parts.write("output_text", "input_text", "text")
@summaries.write("summary_text")
def write_text(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "text", "text": c.pop("text")}
    if c:
        _carried(c, w)
        if "annotations" in c:
            annotations = c["annotations"]
            if are_objects(annotations):
                del c["annotations"]
                w.context["span"] = Span(wire["text"])
                wire["annotations"] = w.nodes(citations, annotations)
            elif annotations is None and w.same:
                # The API takes no null from anybody; what once came as one goes back as one.
                wire["annotations"] = c.pop("annotations")
    return wire


@summaries.write("reasoning_text")
def write_reasoning_text(c: Node, w: Writer) -> Node:
    return _as_text(c, "text", "sent as a summary")


@user_parts.write("refusal")
@model_parts.write("refusal")
def write_refusal(c: Node, w: Writer) -> Node | None:
    _carried(c, w)
    if type(c.get("refusal")) is not str:
        return None
    return _as_text(c, "refusal", "sent as text")


def _as_text(c: Node, key: str, how: str) -> Node:
    """The text under `key`, as a content."""
    wire = {"type": "text", "text": c[key] or ""}
    c[key] = c["type"] = Fated("approximated", how)
    return wire


def _carried(c: Node, w: Writer) -> None:
    """A part's own opaque pieces go in an envelope beside its step (turns/steps.py), for its origin only."""
    if c.get("opaque"):
        c["opaque"] = Fated("parked", "kept in an envelope") if w.facing == "client" else _withheld(w)


def _withheld(w: Writer) -> Fated:
    return Fated("parked" if w.vault is not None else "lost", "foreign")


@user_parts.write("search_result", "tool_reference")
@model_parts.write("search_result", "tool_reference")
def write_told(c: Node, w: Writer) -> Node | None:
    """What is text in itself."""
    text = part_as_text(c, w)
    return None if text is None else {"type": "text", "text": text}


# ---- media ----------------------------------------------------------------------------------------------------------


def _read_media(w: Node, part: Node, inline: str, linked: str) -> Node:
    """Data become a data URL under `inline`, a URI goes under `linked` or is a handle."""
    data, uri = w.get("data"), w.get("uri")
    if type(data) is str:
        mime = w.pop("mime_type") if type(w.get("mime_type")) is str else ""
        part[inline] = f"data:{mime};base64,{w.pop('data')}"
    elif type(uri) is str:
        part["file_uri" if uri.startswith(HANDLES) else linked] = w.pop("uri")
    if "mime_type" in w and (w["mime_type"] is None or type(w["mime_type"]) is str):
        part["media_type"] = w.pop("mime_type")
    return part


def _write_media(c: Node, wire: Node, inline: str, linked: str, w: Writer) -> Node | None:
    """The inverse; None for what only another provider can open."""
    url = c.get(inline)
    if type(url) is not str:
        url = c.get(linked)
        inline = linked
    if type(url) is str:
        if url[:5].lower() == "data:":
            mime, comma, data = url[5:].partition(";base64,")
            if not comma:
                return None
            if inline == "image_url" and w.crosses and w.facing == "provider":
                mime = image_type(mime)
                if is_other_image(mime, _IMAGES):
                    return None
            wire["data"] = data if w.source in (None, w.protocol) else data.strip()
            if mime:
                wire["mime_type"] = mime
        else:
            wire["uri"] = url
        del c[inline]
    elif type(c.get("file_uri")) is str:
        wire["uri"] = c.pop("file_uri")
    elif type(c.get("file_id")) is str or (w.crosses and c.get("content")):
        return None
    if "media_type" in c and (c["media_type"] == wire.get("mime_type") or "mime_type" not in wire):
        wire["mime_type"] = c.pop("media_type")
    return wire


# What the API takes as an image. https://ai.google.dev/api/interactions-api
_IMAGES = frozenset(f"image/{kind}" for kind in ("png", "jpeg", "webp", "heic", "heif", "gif", "bmp", "tiff"))

# How closely media are read; the words that mean "as the server likes" have no form here.
_UNSAID = ("auto",)
# An image as it is, which is the most here.
_WHOLE = "original"
# A way of processing that has no options and is a word.
_AGENTIC = "agentic"


def _read_detail(w: Node, part: Node, r: Reader) -> Node:
    if "resolution" in w and w["resolution"] not in _UNSAID:
        part["detail"] = w.pop("resolution")
    processing = w.get("processing")
    if type(processing) is str:
        part["processing"] = {"mode": w.pop("processing")}
        r.form(part, "processing", "string")
    elif type(processing) is dict:
        part["processing"] = {("mode" if key == "type" else key): value for key, value in processing.items()}
        del w["processing"]
    return part


def _write_detail(c: Node, wire: Node, w: Writer) -> Node:
    _carried(c, w)
    if "detail" in c:
        if c["detail"] in _UNSAID:
            c["detail"] = Fated("approximated", "as the server likes")
        elif c["detail"] == _WHOLE and w.crosses:
            wire["resolution"] = "ultra_high"
            c["detail"] = Fated("approximated", "sent as 'ultra_high'")
        else:
            wire["resolution"] = c.pop("detail")
    processing = c.get("processing")
    if type(processing) is dict:
        if w.form(c, "processing") == "string" and processing.keys() == {"mode"}:
            wire["processing"] = processing["mode"]
        elif w.crosses and processing.get("mode") == _AGENTIC:
            wire["processing"] = take(c, "processing").pop("mode")
            return wire
        else:
            made = wire["processing"] = {("type" if key == "mode" else key): value for key, value in processing.items()}
            if "type" not in made and w.crosses:
                made["type"] = "static"
                w.added(made, "type", "ranges and layers are options of static processing")
        del c["processing"]
    return wire


_MEDIA = (
    # wire type, canonical types of the user's and of the model's, key of a data URL, key of a URL
    ("image", "input_image", "output_image", "image_url", "image_url"),
    ("video", "input_video", "output_video", "video_url", "video_url"),
    ("document", "input_file", "output_file", "file_data", "file_url"),
)


def _declare_media(kind: str, given: str, made: str, inline: str, linked: str) -> None:
    for mapping, type_ in ((user_parts, given), (model_parts, made), (summaries, made)):
        if mapping is summaries and kind != "image":
            continue

        @mapping.read(kind)
        def read(w: Node, r: Reader, type_: str = type_) -> Node:
            part = _read_detail(w, _read_media(w, {"type": type_}, inline, linked), r)
            if kind == "video" and "name" in w:
                part["filename"] = w.pop("name")
            return part

        @mapping.write(given, made)
        def write(c: Node, w: Writer) -> Node | None:
            if kind == "document":
                told: Node | None = write_told(c, w)
                if told is not None:
                    return told
            guessed = kind == "document" and _give_type(c)
            wire = _write_media(c, {"type": kind}, inline, linked, w)
            if wire is None:
                return None
            if guessed:
                w.added(wire, "mime_type", "read off the first bytes")
            if kind == "video" and "filename" in c:
                wire["name"] = c.pop("filename")
            return _write_detail(c, wire, w)


def _give_type(c: Node) -> bool:
    """Bare base64 becomes a data URL with its declared type, or that of its name or first bytes; whether of these."""
    data = c.get("file_data")
    if type(data) is not str or data[:5].lower() == "data:":
        return False
    given, name = c.pop("media_type", None), c.get("filename")
    mime = given or type_of_file(name, data)
    c["file_data"] = f"data:{mime or ''};base64,{data}"
    if given or not mime:
        return False
    if mime == type_of_file(name):
        c["filename"] = Fated("approximated", "only its type was drawn from it")
        return False
    return True


for _row in _MEDIA:
    _declare_media(*_row)


@user_parts.write("computer_screenshot")
@model_parts.write("computer_screenshot")
def write_screenshot(c: Node, w: Writer) -> Node | None:
    wire = _write_media(c, {"type": "image"}, "image_url", "image_url", w)
    return _write_detail(c, wire, w) if wire is not None else None


_AUDIO_KEYS = ("channels", "sample_rate")
_SAMPLES = "audio/l16"


def _declare_audio(mapping: Mapping, type_: str) -> None:
    @mapping.read("audio")
    def read_audio(w: Node, r: Reader) -> Node:
        part: Node = {"type": type_}
        mime = w.get("mime_type")
        if type(mime) is str:
            key = "format" if mime in AUDIO.reads and type(w.get("data")) is str else "media_type"
            part[key] = AUDIO.read(w.pop("mime_type")) if key == "format" else w.pop("mime_type")
            r.place(part, (key,), ("mime_type",))
        if type(w.get("data")) is str:
            part["data"] = w.pop("data")
        elif type(w.get("uri")) is str:
            uri = w.pop("uri")
            part["file_uri" if uri.startswith(HANDLES) else "audio_url"] = uri
        for key in _AUDIO_KEYS:
            if key in w:
                part[key] = w.pop(key)
        return _read_detail(w, part, r)

    @mapping.write("input_audio", "output_audio")
    def write_audio(c: Node, w: Writer) -> Node | None:
        wire: Node = {"type": "audio"}
        if type(c.get("data")) is str:
            wire["data"] = c.pop("data")
        elif type(c.get("audio_url")) is str or type(c.get("file_uri")) is str:
            wire = _write_media(c, wire, "audio_url", "audio_url", w) or wire
        elif type(c.get("transcript")) is str:
            return _as_text(c, "transcript", "sent as text")
        elif c.get("file_id") or c.get("id"):
            return None
        if type(c.get("format")) is str and "mime_type" not in wire:
            format_ = c.pop("format")
            wire["mime_type"] = AUDIO.writes.get(format_) or f"audio/{format_}"
        elif type(c.get("media_type")) is str and "mime_type" not in wire:
            wire["mime_type"] = c.pop("media_type")
            samples = details_of_samples(wire["mime_type"]) if w.crosses and "data" in wire else None
            if samples is not None:
                wire.update(samples, mime_type=_SAMPLES)
        for key in _AUDIO_KEYS:
            if key in c:
                wire[key] = c.pop(key)
        return _write_detail(c, wire, w)


_declare_audio(user_parts, "input_audio")
_declare_audio(model_parts, "output_audio")

for _mapping in (user_parts, model_parts):
    _mapping.cannot("tool_reference", "Interactions names no deferred tools in contents")
    _mapping.cannot("encrypted_content", "only its own provider can read it")
    _mapping.cannot("input_video input_file input_audio output_audio", "only another provider can open it")
    _mapping.cannot("input_image computer_screenshot", "only another provider can open it, or it has another format")
