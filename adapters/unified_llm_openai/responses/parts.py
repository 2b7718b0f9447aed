"""Content parts and annotations of the Responses API, each read and written side by side.

Four families write the same parts. `parts` is the wire as it is. The others serve what another protocol brought, where
the role decides: `user_parts` and `assistant_parts` for requests, whose assistant history may hold nothing but
`output_text` and `refusal`, and `answer_parts` for answers, which may hold no more.

https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, WritePair, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.citation_spans import add_bounds, as_page, cites_nothing
from unified_llm.engine.shared.text_fallbacks import part_as_text, transcript_as_text
from unified_llm.provenance.opaque import opaque_piece

from ..cache import write_cache
from ..citations import name_page
from ..logprobs import take_logprobs
from ..media import clean_url, fit_detail, name_file, other_image, read_bare, write_bare
from .values.tables import REFUSES

__all__ = [
    "PICTURE",
    "answer_parts",
    "assistant_parts",
    "citations",
    "foreign_citations",
    "is_picture",
    "parts",
    "pick",
    "user_parts",
]

Node = dict[str, Any]

citations = Mapping("openai-responses annotations")
parts = Mapping("openai-responses parts")
user_parts = Mapping("openai-responses parts")
assistant_parts = Mapping("openai-responses parts")
answer_parts = Mapping("openai-responses parts")
_FOREIGN = (user_parts, assistant_parts, answer_parts)

_NONE = type(None)
_TEXT = (str, _NONE)


def pick(w: Node, keys: Iterable[str]) -> Node:
    """The keys of a wire node that hold text or null, popped."""
    return {key: w.pop(key) for key in keys if key in w and type(w[key]) in _TEXT}


def take_text(w: Node, key: str) -> str:
    """The text a node cannot do without."""
    text = w.pop(key)
    if type(text) is not str:
        raise IllTyped(key)
    return text


def _writes(*families: Mapping, types: str) -> Callable[[WritePair], WritePair]:
    """Declare one writing pair in several families."""

    def declare(pair: WritePair) -> WritePair:
        for family in families:
            family.write(*types.split())(pair)
        return pair

    return declare


# ---- annotations ----------------------------------------------------------------------------------------------------

foreign_citations = Mapping("openai-responses annotations")
citations.same("url_citation", "url title start_index end_index")
citations.same("file_citation", "file_id filename index")
citations.same("container_file_citation", "container_id file_id filename start_index end_index")
citations.same("file_path", "file_id index")
foreign_citations.same("container_file_citation", "container_id file_id filename start_index end_index")
foreign_citations.same("file_path", "file_id index")
for _family in (citations, foreign_citations):
    _family.cannot("document_citation search_result_citation", "the API cites no documents of the request")
    _family.cannot("place_citation word_info speech_metadata", "the API has no such annotation")


@foreign_citations.write("url_citation")
def write_url_citation(c: Node, w: Writer) -> Node | None:
    """A page, with the place in the text that the API's clients rely on."""
    if cites_nothing(c):
        return None
    wire: Node = {"type": "url_citation", **{key: c.pop(key) for key in ("url", "title") if key in c}}
    for key in ("start_index", "end_index"):
        if c.get(key) is not None:
            wire[key] = c.pop(key)
    add_bounds(wire, w.context.get("text length", 0), w)
    name_page(wire, w)
    return wire


foreign_citations.write("place_citation")(as_page(write_url_citation))
foreign_citations.cannot("url_citation", "the API has no such annotation")


@foreign_citations.write("file_citation")
def write_file_citation(c: Node, w: Writer) -> Node:
    """A file, with its id, its name and where it is cited: the end of the text it backs."""
    wire: Node = {"type": "file_citation", **{key: c.pop(key) for key in ("file_id", "filename", "index") if key in c}}
    if type(wire.get("file_id")) is not str:
        wire["file_id"] = c["file_uri"] if type(c.get("file_uri")) is str else ""
        if wire["file_id"]:
            c["file_uri"] = Fated("approximated", "sent as the id of the file")
        else:
            w.added(wire, "file_id", "no value in the source")
    if type(wire.get("filename")) is not str:
        wire["filename"] = ""
        w.added(wire, "filename", "no value in the source")
    if type(wire.get("index")) is not int:
        said = type(c.get("end_index")) is int
        wire["index"] = c["end_index"] if said else w.context.get("text length", 0)
        if said:
            if c.get("start_index") == 0:
                c["start_index"] = Fated("approximated", "sent as where the file is cited")
            c["end_index"] = Fated("approximated", "sent as where the file is cited")
        else:
            w.added(wire, "index", "without a place it applies to the whole text")
    return wire


# ---- text -----------------------------------------------------------------------------------------------------------

parts.same("output_text", "text logprobs", annotations=citations)
for _family in (parts, *_FOREIGN):
    _family.same("refusal", "refusal")
for _kind in ("reasoning_text", "summary_text", "text"):
    parts.same(_kind, "text")


def _read_cache(w: Node, part: Node) -> Node:
    if "prompt_cache_breakpoint" in w and type(w["prompt_cache_breakpoint"]) in (dict, _NONE):
        part["cache"] = w.pop("prompt_cache_breakpoint")
    return part


@parts.read("input_text")
def read_text(w: Node, r: Reader) -> Node:
    part: Node = {"type": "input_text", "text": take_text(w, "text")}
    return _read_cache(w, part) if w else part


@_writes(parts, types="input_text")
@_writes(user_parts, types="input_text output_text text")
def write_text(c: Node, w: Writer) -> Node:
    wire = {"type": "input_text", "text": c.pop("text")}
    if type(c.get("annotations")) is list:
        for annotation in c.pop("annotations"):
            w.drop(annotation, "only an answer cites")
    return write_cache(c, wire, w) if "cache" in c else wire


@_writes(assistant_parts, answer_parts, types="output_text input_text text")
def write_output_text(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "output_text", "text": c.pop("text")}
    found = c.pop("annotations", None) or []
    if found:
        w.context["text length"] = len(wire["text"] or "")
    wire["annotations"] = w.nodes(foreign_citations, found)
    if c.get("logprobs"):
        wire["logprobs"] = take_logprobs(c, w)
    return wire


# ---- media ----------------------------------------------------------------------------------------------------------

_IMAGE = ("image_url", "file_id", "detail")
_FILE = ("file_data", "file_id", "file_url", "filename", "detail")


@parts.read("input_image")
def read_image(w: Node, r: Reader) -> Node:
    return _read_cache(w, read_bare({"type": "input_image", **pick(w, _IMAGE)}, r))


@_writes(parts, types="input_image")
def write_image(c: Node, w: Writer) -> Node | None:
    if other_image(c, w):
        return None
    write_bare(c, w)
    return write_cache(c, {"type": "input_image", **{key: c.pop(key) for key in _IMAGE if key in c}}, w)


@_writes(answer_parts, types="output_image")
def write_picture(c: Node, w: Writer) -> Node | None:
    """An image in an answer: an item of its own here (`turns/items.py`), if its data are there."""
    found = _PICTURE.match(c["image_url"]) if type(c.get("image_url")) is str else None
    if found is None:
        return None
    c["type"] = Fated("approximated", "an item of its own")
    data = c.pop("image_url")[found.end() :]
    return {"type": PICTURE, "result": data, "output_format": found[1], "status": "completed"}


def is_picture(part: Any) -> bool:
    """Whether a part of an answer is an image whose data are there."""
    url = part.get("image_url") if type(part) is dict and part.get("type") == "output_image" else None
    return type(url) is str and _PICTURE.match(url) is not None


_PICTURE = re.compile(r"data:image/([a-z+.-]+);base64,")
PICTURE = "image_generation_call"


@_writes(user_parts, types="input_image output_image")
def write_any_image(c: Node, w: Writer) -> Node | None:
    if not (c.get("image_url") or c.get("file_id")):
        return None
    wire: Node | None = write_image(c, w)
    if wire is None:
        return None
    clean_url(c, "image_url", wire, "image_url", w)
    fit_detail(c, wire, w)
    if wire.get("detail") is None:
        wire["detail"] = "auto"
        w.added(wire, "detail", "required; the target's default was written")
    return wire


@parts.read("input_file")
def read_file(w: Node, r: Reader) -> Node:
    return _read_cache(w, {"type": "input_file", **pick(w, _FILE)})


@_writes(parts, types="input_file")
def write_file(c: Node, w: Writer) -> Node | None:
    if not w.same and "input_file" in w.dialect.get("refused_parts", ()):
        return None
    return write_cache(c, {"type": "input_file", **{key: c.pop(key) for key in _FILE if key in c}}, w)


@_writes(user_parts, types="search_result tool_reference")
def write_told(c: Node, w: Writer) -> Node | None:
    """What is text in itself."""
    text = part_as_text(c, w)
    return None if text is None else write_cache(c, {"type": "input_text", "text": text}, w)


@_writes(user_parts, types="input_file output_file")
def write_any_file(c: Node, w: Writer) -> Node | None:
    told: Node | None = write_told(c, w)
    if told is not None:
        return told
    data = c.get("file_data")
    if data is not None and type(data) is not str:
        return None
    if not (data or c.get("file_id") or c.get("file_url")):
        return None
    if data and not data.startswith("data:") and c.get("media_type"):
        # The API takes data URLs; bare base64 has no media type.
        c["file_data"] = f"data:{c.pop('media_type')};base64,{data}"
    wire: Node | None = write_file(c, w)
    if wire is None:
        return None
    name_file(c, wire, w)
    clean_url(c, "file_data", wire, "file_data", w)
    return wire


@parts.read("input_audio")
def read_audio(w: Node, r: Reader) -> Node:
    return {"type": "input_audio", **pick(take(w, "input_audio"), ("data", "format"))}


@_writes(parts, types="input_audio")
def write_audio(c: Node, w: Writer) -> Node:
    return {"type": "input_audio", "input_audio": {key: c.pop(key) for key in ("data", "format") if key in c}}


parts.same("input_video", "video_url")
parts.same("computer_screenshot", "image_url file_id detail")
parts.same("output_audio", "data transcript")


@_writes(user_parts, types="input_video")
def write_any_video(c: Node, w: Writer) -> Node | None:
    if "input_video" not in w.dialect.get("media", ()) or not c.get("video_url"):
        return None
    return {"type": "input_video", "video_url": c.pop("video_url")}


@_writes(assistant_parts, answer_parts, types="output_audio")
def write_transcript(c: Node, w: Writer) -> Node | None:
    """The transcript of generated audio, which the API has none of."""
    text = transcript_as_text(c)
    return None if text is None else {"type": "output_text", "text": text, "annotations": []}


# ---- what only agents read ------------------------------------------------------------------------------------------


@parts.read("encrypted_content")
def read_encrypted(w: Node, r: Reader) -> Node:
    data = take_text(w, "encrypted_content")
    return {"type": "encrypted_content", "opaque": [opaque_piece("encrypted_content", data, r)]}


@_writes(parts, types="encrypted_content")
def write_encrypted(c: Node, w: Writer) -> Node | None:
    piece = (c.get("opaque") or [{}])[0]
    if (piece.get("origin") or {}).get("protocol") != w.protocol or piece.get("kind") != "encrypted_content":
        return None
    del c["opaque"]
    return {"type": "encrypted_content", "encrypted_content": piece.get("data")}


for _family in (parts, *_FOREIGN):
    for _type in "output_image output_audio output_video output_file search_result tool_reference".split():
        _family.cannot(_type, REFUSES[_type])
for _family in _FOREIGN:
    _family.cannot("input_audio", "the API takes no audio in messages")
    _family.cannot("input_video", "the API takes no video in messages")
user_parts.cannot("input_image", "the API takes images by URL, id, or data of types that its server has")
for _family in (assistant_parts, answer_parts):
    _family.cannot("input_image input_file", REFUSES["output_image"])
