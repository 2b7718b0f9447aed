"""Content parts and annotations of Chat Completions, each read and written side by side.

A part's canonical type depends on the role: a `text` of the user is `input_text`, of the assistant `output_text`.
Chat nests what Responses keeps flat (`function`, `custom`, `image_url`, `file`), so most pairs only change the depth.

https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.citation_spans import add_bounds, as_page, cites_nothing
from unified_llm.engine.shared.text_fallbacks import (
    is_text_only,
    part_as_text,
    transcript_as_text,
    without_media,
)

from ...cache import read_cache, write_cache
from ...citations import name_page, set_apart
from ...media import clean_url, fit_detail, name_file, other_image, read_bare, write_bare
from ..values.tables import AUDIO_FORMATS
from .audio_pieces import format_of_data

__all__ = [
    "are_pictures",
    "assistant_parts",
    "citations",
    "has_pictures",
    "pictures",
    "takeable",
    "takes_names",
    "thinking_parts",
    "user_parts",
]

Node = dict[str, Any]

user_parts = Mapping("openai-chat user parts")
assistant_parts = Mapping("openai-chat assistant parts")
thinking_parts = Mapping("openai-chat thinking parts")
citations = Mapping("openai-chat annotations")


# ---- parts ----------------------------------------------------------------------------------------------------------

_NULLABLE = (str, type(None))


def _text_of(node: Node, key: str) -> str:
    """The text a node cannot do without."""
    text = node.pop(key)
    if type(text) is not str:
        raise IllTyped(key)
    return text


def _texts_of(node: Node, *keys: str) -> Node:
    """Those of the keys that hold text or null."""
    return {key: node.pop(key) for key in keys if key in node and type(node[key]) in _NULLABLE}


@user_parts.read("text")
def read_text(w: Node, r: Reader) -> Node:
    part = {"type": "input_text", "text": _text_of(w, "text")}
    return read_cache(w, part, r) if w else part


@user_parts.write("input_text", "output_text", "text")
@assistant_parts.write("output_text", "input_text", "text")
def write_text(c: Node, w: Writer) -> Node:
    wire = {"type": "text", "text": c.pop("text", "")}
    if type(c.get("annotations")) is list:
        set_apart(c.pop("annotations"), w)
    return write_cache(c, wire, w) if c else wire


@assistant_parts.read("text")
def read_output_text(w: Node, r: Reader) -> Node:
    part = {"type": "output_text", "text": _text_of(w, "text")}
    return read_cache(w, part, r) if w else part


assistant_parts.same("refusal", "refusal")


@user_parts.read("image_url")
def read_image(w: Node, r: Reader) -> Node:
    if type(w.get("image_url")) is str:
        # The URL alone, as some servers have it. https://docs.mistral.ai/capabilities/vision
        part = {"type": "input_image", "image_url": w.pop("image_url")}
        r.form(part, "url", "string")
        r.place(part, ("image_url",), ("image_url",))
        return read_cache(w, read_bare(part, r), r)
    image = take(w, "image_url")
    part = {"type": "input_image", "image_url": _text_of(image, "url"), **_texts_of(image, "detail")}
    return read_cache(w, read_bare(part, r), r)


@user_parts.write("input_image", "output_image")
def write_image(c: Node, w: Writer) -> Node | None:
    if type(c.get("image_url")) is not str:
        return None
    write_bare(c, w)
    image = {"url": c.pop("image_url")}
    clean_url(c, "image_url", image, "url", w)
    if c.get("media_type") and image["url"].startswith(f"data:{c['media_type']}"):
        del c["media_type"]
    if c.get("detail", 0) is not None or not w.crosses:
        image.update({key: c.pop(key) for key in ("detail",) if key in c})
        fit_detail(c, image, w)
    is_bare = "extra" in c and w.same and w.form(c, "url") == "string" and image.keys() == {"url"}
    return write_cache(c, {"type": "image_url", "image_url": image["url"] if is_bare else image}, w)


@user_parts.read("input_audio")
def read_audio(w: Node, r: Reader) -> Node:
    if type(w.get("input_audio")) is str and ":" not in w["input_audio"]:
        # The data alone. A URL stays as it is. https://docs.mistral.ai/capabilities/audio
        part = {"type": "input_audio", "data": w.pop("input_audio")}
        r.form(part, "audio", "string")
        r.place(part, ("data",), ("input_audio",))
        return read_cache(w, part, r)
    audio = take(w, "input_audio")
    return read_cache(w, {"type": "input_audio", "data": _text_of(audio, "data"), **_texts_of(audio, "format")}, r)


@user_parts.write("input_audio")
def write_audio(c: Node, w: Writer) -> Node | None:
    if type(c.get("data")) is not str:
        return None
    audio: Node = {key: c.pop(key) for key in ("data", "format") if key in c}
    if "format" not in audio and type(c.get("media_type")) is str:
        audio["format"] = format_of(c)
        if AUDIO_FORMATS.get(c["media_type"]) == audio["format"]:
            del c["media_type"]
        else:
            c["media_type"] = Fated("approximated", f"sent as the format {audio['format']!r}")
    elif "format" not in audio and w.crosses:
        audio["format"], how = format_of_data(audio["data"])
        w.added(audio, "format", how)
    is_bare = "extra" in c and w.same and w.form(c, "audio") == "string" and audio.keys() == {"data"}
    return write_cache(c, {"type": "input_audio", "input_audio": audio["data"] if is_bare else audio}, w)


def format_of(part: Node) -> Any:
    """The format of audio, which the API requires: the word there is for its media type, else the name of the type."""
    if "format" in part or type(part.get("media_type")) is not str:
        return part.get("format")
    bare = part["media_type"].partition(";")[0].strip().lower()
    return AUDIO_FORMATS.get(bare, bare.removeprefix("audio/").removeprefix("x-"))


pictures = Mapping("openai-chat images")


@pictures.read("image_url")
def read_picture(w: Node, r: Reader) -> Node:
    """An image that the model generated. https://openrouter.ai/docs/features/multimodal/image-generation"""
    image = take(w, "image_url")
    part = {"type": "output_image", "image_url": _text_of(image, "url"), **_texts_of(image, "detail")}
    r.form(part, "slot", True)
    return part


@pictures.write("output_image")
def write_picture(c: Node, w: Writer) -> Node | None:
    if type(c.get("image_url")) is not str:
        return None
    image = {"url": c.pop("image_url"), **({"detail": c.pop("detail")} if "detail" in c else {})}
    if c.get("media_type") and image["url"].startswith(f"data:{c['media_type']}"):
        del c["media_type"]
    return {"type": "image_url", "image_url": image}


pictures.cannot("output_image", "openai-chat has images by URL or data only")


def has_pictures(w: Writer) -> bool:
    """Whether messages of the server hold what the model drew: not OpenAI's, but those of some routers do."""
    return bool(w.dialect.get("pictures")) or not (w.crosses or (w.dialect and not w.same))


def are_pictures(value: Any) -> bool:
    """Whether the `images` of a message or delta can be read."""
    return (
        type(value) is list
        and bool(value)
        and all(
            type(each) is dict
            and each.get("type") == "image_url"
            and type(each.get("image_url")) is dict
            and type(each["image_url"].get("url")) is str
            for each in value
        )
    )


_FILE_KEYS = ("file_data", "file_id", "filename")
_BARE = frozenset(("type", "filename"))
_URL = ("https://", "http://")


@user_parts.read("file")
def read_file(w: Node, r: Reader) -> Node:
    file = take(w, "file")
    part: Node = {"type": "input_file", **_texts_of(file, *_FILE_KEYS)}
    data = part.get("file_data")
    if type(data) is str and data.startswith(_URL):
        part["file_url"] = part.pop("file_data")
        r.form(part, "file_url", "data")
        r.place(part, ("file_url",), ("file", "file_data"))
    if type(file.get("file_url")) is str:  # nothing of OpenAI's; gateways in front of Responses take it
        part["file_url"] = file.pop("file_url")
        r.form(part, "file_url", "own")
    if part.keys() <= _BARE:
        raise IllTyped("file")
    return read_cache(w, part, r)


@user_parts.read("document_url")
def read_document(w: Node, r: Reader) -> Node:
    """A file by its URL, as some servers have it. https://docs.mistral.ai/capabilities/document_ai/document_qna"""
    url = _text_of(w, "document_url")
    key = "file_data" if url.startswith("data:") else "file_url"
    part: Node = {"type": "input_file", key: url}
    if type(w.get("document_name")) is str:
        part["filename"] = w.pop("document_name")
        r.place(part, ("filename",), ("document_name",))
    r.form(part, "file_url", "document_url")
    r.place(part, (key,), ("document_url",))
    return read_cache(w, part, r)


def _write_document(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "document_url", "document_url": c.pop("file_data" if "file_data" in c else "file_url")}
    if type(c.get("filename")) is str:
        wire["document_name"] = c.pop("filename")
    return write_cache(c, wire, w)


@user_parts.write("search_result", "tool_reference")
def write_told(c: Node, w: Writer) -> Node | None:
    """What is text in itself."""
    text = part_as_text(c, w)
    return None if text is None else write_cache(c, {"type": "text", "text": text}, w)


@user_parts.write("input_file")
def write_file(c: Node, w: Writer) -> Node | None:
    told: Node | None = write_told(c, w)
    if told is not None:
        return told
    # How a file was spelled is how it is sent, but to a server that has a spelling of its own.
    form = w.form(c, "file_url") if w.same or not w.dialect else None
    wanted = form if w.same else form or w.dialect.get("file_part")
    by_url = wanted == "document_url" and type(c.get("file_url")) is str and not c.get("file_data")
    if by_url or (form == "document_url" and str(c.get("file_data")).startswith("data:") and "file_url" not in c):
        return _write_document(c, w)
    file = {key: c.pop(key) for key in _FILE_KEYS if key in c}
    data, media_type = file.get("file_data"), c.get("media_type")
    if type(data) is str and type(media_type) is str:
        del c["media_type"]
        if not data.startswith("data:"):
            file["file_data"] = f"data:{media_type};base64,{data}"
    if "file_url" in c and w.form(c, "file_url") == "own":
        file["file_url"] = c.pop("file_url")
    elif "file_data" not in file and type(c.get("file_url")) is str and (form == "data" or w.dialect.get("file_urls")):
        file["file_data"] = c.pop("file_url")
    if not file.keys() - {"filename"}:
        return None
    name_file(c, file, w)
    clean_url(c, "file_data", file, "file_data", w)
    return write_cache(c, {"type": "file", "file": file}, w)


@user_parts.read("video_url")
def read_video(w: Node, r: Reader) -> Node:
    video = take(w, "video_url")
    return read_cache(w, {"type": "input_video", "video_url": _text_of(video, "url")}, r)


@user_parts.write("input_video")
def write_video(c: Node, w: Writer) -> Node | None:
    if type(c.get("video_url")) is not str:
        return None
    video = {"url": c.pop("video_url")}
    clean_url(c, "video_url", video, "url", w)
    return write_cache(c, {"type": "video_url", "video_url": video}, w)


def takes_names(w: Writer) -> bool:
    """Whether the server of the dialect understands the names of messages."""
    return w.same or bool(w.dialect.get("names", True))


_WIRE_KINDS = {
    "input_image": "image_url",
    "output_image": "image_url",
    "input_file": "file",
    "input_audio": "input_audio",
    "input_video": "video_url",
}


def takeable(content: Any, w: Writer, role: str | None = None) -> Any:
    """The content without the parts that the server of the dialect does not take, which are reported."""
    if role in ("system", "developer"):
        content = without_media(content, w, "system messages hold text only")
    if w.same or not w.dialect or type(content) is not list:
        return content
    kinds, formats, out = w.dialect.get("parts"), w.dialect.get("audio_formats"), []
    for part in content:
        kind = "text" if is_text_only(part) else _WIRE_KINDS.get(part.get("type"), "text")
        reason = other_image(part, w) if kinds is None or kind in kinds else "the server takes no such parts"
        if kind == "input_audio" and formats is not None and format_of(part) not in (None, *formats):
            reason = f"the server takes audio as {', '.join(formats)}"
        if reason is None:
            out.append(part)
        else:
            w.drop(part, reason)
    return out if out or not content else ""


@assistant_parts.write("output_audio")
def write_transcript(c: Node, w: Writer) -> Node | None:
    """The transcript of audio that the server does not have."""
    text = transcript_as_text(c)
    return None if text is None else {"type": "text", "text": text}


assistant_parts.cannot("output_audio", "openai-chat takes audio of the model by the id it gave only")
user_parts.cannot("input_image output_image", "Chat takes images by URL or data only")
user_parts.cannot("input_file", "Chat takes files by data or id only")
user_parts.cannot("input_audio", "Chat takes audio as data only")
user_parts.cannot("input_video", "Chat takes video by URL only")
user_parts.cannot("refusal", "only an assistant refuses")
_PARTS = "search_result tool_reference encrypted_content computer_screenshot output_file output_video"
user_parts.cannot(_PARTS, "Chat has no such part")
assistant_parts.cannot(_PARTS, "Chat has no such part")
assistant_parts.cannot(
    "input_image output_image input_file input_audio input_video", "an assistant message of Chat holds no media"
)


# ---- thinking and annotations ---------------------------------------------------------------------------------------


@thinking_parts.read("text")
def read_thinking_text(w: Node, r: Reader) -> Node:
    return {"type": "reasoning_text", "text": _text_of(w, "text")}


@thinking_parts.write("reasoning_text", "summary_text", "output_text", "text")
def write_thinking_text(c: Node, w: Writer) -> Node:
    return {"type": "text", "text": c.pop("text", "")}


_CITATION_KEYS = ("url", "title", "start_index", "end_index")


@citations.read("url_citation")
def read_url_citation(w: Node, r: Reader) -> Node:
    citation = take(w, "url_citation")
    node = {"type": "url_citation", **{key: citation.pop(key) for key in _CITATION_KEYS if key in citation}}
    if not node.keys() & {"start_index", "end_index"}:
        r.form(node, "place", "absent")
    return node


@citations.write("url_citation")
def write_url_citation(c: Node, w: Writer) -> Node | None:
    """`start` is how much text of the message stands before the annotated part."""
    if w.crosses and cites_nothing(c):
        return None
    start = w.context.get("offset", 0)
    citation = {key: c.pop(key) for key in _CITATION_KEYS if key in c}
    if w.form(c, "place") is None:
        add_bounds(citation, w.context.get("text length", 0), w)
    if w.crosses:
        name_page(citation, w)
    if start:
        for key in ("start_index", "end_index"):
            if type(citation.get(key)) is int:
                citation[key] += start
    return {"type": "url_citation", "url_citation": citation}


citations.write("place_citation")(as_page(write_url_citation))

citations.cannot(
    """file_citation container_file_citation file_path document_citation search_result_citation place_citation
    speech_metadata word_info url_citation""",
    "Chat cites web pages only",
)
