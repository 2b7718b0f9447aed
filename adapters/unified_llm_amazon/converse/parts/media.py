"""Blocks of media and documents, guarded images among them.

A medium holds its bytes in base64, or an S3 URI that is valid at this provider only; its format is one word.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.file_types import type_of_file

from ..values import format_of, is_own, media_type_of, move
from .text import answers, parts, written

__all__: list[str] = []

Node = dict[str, Any]

_DATA_URL = re.compile(r"data:([^,]*?);base64,(.*)", re.DOTALL | re.IGNORECASE)
_S3 = "s3://"
_NEEDS_BYTES = "amazon-converse takes media of its own formats, as bytes or an S3 URI"
_UNNAMED = "document"

# The key of a block -> the canonical type of what the model is given, and of what it makes.
_KINDS = {
    "image": ("input_image", "output_image"),
    "video": ("input_video", "output_video"),
    "audio": ("input_audio", "output_audio"),
    "document": ("input_file", "input_file"),
}
for _family in (parts, answers):
    _family.cannot(
        "output_file " + " ".join(sorted({name for names in _KINDS.values() for name in names})), _NEEDS_BYTES
    )


_URLS = {"image": "image_url", "video": "video_url", "document": "file_data"}


def _read_medium(kind: str, type_: str, w: Node, r: Reader, above: tuple[Any, ...]) -> Node:
    own = take(w, kind)
    at = (*above, kind)
    node: Node = {"type": type_}
    word = own.get("format")
    media_type = media_type_of(kind, word)
    if media_type is None and ("format" in own or kind != "document"):
        raise IllTyped("format")
    source = own.get("source")
    if type(source) is dict and source:
        source = take(own, "source")
        _read_source(kind, media_type, source, node, r, at)
    else:
        raise IllTyped("source")
    own.pop("format", None)
    for name in ("format", "media_type"):
        if name in node:
            r.place(node, (name,), (*at, "format"))
    if kind == "audio":
        node["format"] = word
        r.place(node, ("format",), (*at, "format"))
    if kind == "document":
        move(own, "name", node, "title", r, at, str)
        move(own, "context", node, "context", r, at, str)
        if type(own.get("citations")) is dict and type(own["citations"].get("enabled")) is bool:
            inner = take(own, "citations")
            node["citations"] = {"enabled": inner.pop("enabled")}
            r.place(node, ("citations", "enabled"), (*at, "citations", "enabled"))
    return node


def _read_source(kind: str, media_type: str | None, source: Node, node: Node, r: Reader, at: tuple[Any, ...]) -> None:
    at = (*at, "source")
    if type(source.get("bytes")) is str:
        data = source.pop("bytes")
        key = "data" if kind == "audio" else _URLS[kind]
        node[key] = f"data:{media_type};base64,{data}" if kind != "audio" and media_type is not None else data
        r.place(node, (key,), (*at, "bytes"))
    elif type(source.get("s3Location")) is dict and type(source["s3Location"].get("uri")) is str:
        move(take(source, "s3Location"), "uri", node, "file_uri", r, (*at, "s3Location"), str)
        if media_type is not None and kind != "audio":
            node["media_type"] = media_type
    elif kind == "document" and type(source.get("text")) is str:
        move(source, "text", node, "text", r, at, str)
        if media_type is not None:
            node["media_type"] = media_type
    elif kind == "document" and type(source.get("content")) is list:
        node["content"] = r.nodes(parts, source.pop("content"))
        if media_type is not None:
            node["media_type"] = media_type
    else:
        raise IllTyped("source")


for _kind, _types in _KINDS.items():
    for _family, _type in zip((parts, answers), _types):
        _family.read(_kind)(partial(_read_medium, _kind, _type, above=()))

_FIELDS = {
    "image": ("image_url",),
    "video": ("video_url",),
    "audio": ("data", "audio_url"),
    "document": ("file_data", "file_url"),
}


def _write_source(kind: str, c: Node, w: Writer) -> tuple[str | None, Node | None]:
    """The format and the source of a medium, which it consumes; no source where the API takes none of what it has."""
    media_type = c.get("media_type") if type(c.get("media_type")) is str else None
    for key in (*_FIELDS[kind], "file_uri"):
        value = c.get(key)
        if type(value) is not str:
            continue
        found = _DATA_URL.fullmatch(value) if key != "file_uri" else None
        if found is not None:
            word = format_of(kind, found[1]) if found[1] else None
            if found[1] and word is None:
                continue
            del c[key]
            return word or format_of(kind, media_type), {"bytes": found[2]}
        if key in ("data", "file_data") and value[:5].lower() != "data:":
            return format_of(kind, media_type), {"bytes": c.pop(key)}
        if value.startswith(_S3):
            return format_of(kind, media_type), {"s3Location": {"uri": c.pop(key)}}
    return None, None


def _write_media(kind: str, c: Node, w: Writer) -> Node | None:
    word, source = _write_source(kind, c, w)
    if source is None:
        return None
    wire: Node = {}
    if word is not None:
        wire["format"] = word
        c.pop("media_type", None)
    else:
        wire["format"] = _DEFAULTS[kind]
        w.added(wire, "format", "required by amazon-converse; not in the source")
    wire["source"] = source
    return {"guardContent": {kind: wire}} if w.form(c, "guard") == "image" else {kind: wire}


for _kind in ("image", "video"):
    for _family in (parts, answers):
        written(_family, *_KINDS[_kind])(partial(_write_media, _kind))

_DEFAULTS = {"image": "png", "video": "mp4"}


_SOUNDS = {"pcm16": "pcm", "x-wav": "wav"}


@written(answers, "output_audio", "input_audio")
@written(parts, "input_audio", "output_audio")
def _write_audio(c: Node, w: Writer) -> Node | None:
    said = c.get("format")
    word = said if media_type_of("audio", said) else _SOUNDS.get(str(said))
    if said is not None and word is None:
        return None
    found, source = _write_source("audio", c, w)
    if source is None:
        return None
    wire: Node = {"format": word or found or "wav"}
    if word is not None:
        c.pop("format") if word == said else c.update(format=Fated("approximated", f"sent as {word!r}"))
    elif found is None:
        w.added(wire, "format", "required by amazon-converse; not in the source")
    elif ";" in str(c.get("media_type")):
        c["media_type"] = Fated("approximated", f"sent as {found!r}, which has no rate")
    else:
        c.pop("media_type", None)
    wire["source"] = source
    return {"audio": wire}


@written(answers, "output_file", "input_file")
@written(parts, "input_file", "output_file")
def _write_document(c: Node, w: Writer) -> Node | None:
    guessed = not is_own(w) and _give_type(c)
    text = _as_text(c)
    word, source = _write_source("document", c, w)
    if text and source is not None:
        c["file_data"] = Fated("approximated", "sent as plain text")
    if source is None and type(c.get("text")) is str:
        word, source = format_of("document", c.get("media_type")), {"text": c.pop("text")}
    elif source is None and type(c.get("content")) in (str, list):
        content = c["content"]
        if w.crosses and type(content) is list:
            content = _texts_alone(content, w)
            if not content:
                return None
        del c["content"]
        word = format_of("document", c.get("media_type"))
        source = {"content": [{"text": content}] if type(content) is str else w.nodes(parts, content)}
    if source is None:
        return None
    wire: Node = {}
    if word is not None:
        wire["format"] = word
        c.pop("media_type", None)
        if guessed:
            w.added(wire, "format", "read off the name or the first bytes")
    elif not is_own(w):
        wire["format"] = "pdf" if "bytes" in source or "s3Location" in source else "txt"
        w.added(wire, "format", "not in the source")
    _write_name(c, wire, w)
    wire["source"] = source
    if type(c.get("context")) is str:
        wire["context"] = c.pop("context")
    if type(c.get("citations")) is dict and "enabled" in c["citations"]:
        wire["citations"] = {"enabled": take(c, "citations").pop("enabled")}
    return {"document": wire}


def _texts_alone(content: list[Node], w: Writer) -> list[Node]:
    """The content of a document, which is text alone here; images in it are reported, if any text is left."""
    texts = [part for part in content if type(part) is dict and type(part.get("text")) is str]
    for part in content if texts else ():
        if not any(part is each for each in texts):
            w.drop(part, "only the text of it is sent")
    return texts


def _give_type(c: Node) -> bool:
    """Give bare base64 in the copy `c` the type of its name or first bytes."""
    data = c.get("file_data")
    if type(data) is not str or data[:5].lower() == "data:" or c.get("media_type") is not None:
        return False
    kind = type_of_file(c.get("filename"), data)
    if kind is not None:
        c["file_data"] = f"data:{kind};base64,{data}"
    return kind is not None


# Text without a format of its own here, beside all that is called text/..., ...+json and ...+xml.
_TEXTS = frozenset(
    f"application/{name}" for name in ("json", "xml", "yaml", "x-yaml", "javascript", "x-javascript", "sql", "toml")
)


def _as_text(c: Node) -> bool:
    """Make plain text of a document in the copy `c` that is text in a format without a word here."""
    data = c.get("file_data")
    found = _DATA_URL.fullmatch(data) if type(data) is str else None
    kind = found[1].partition(";")[0].strip().lower() if found is not None else ""
    if found is None or format_of("document", kind) is not None:
        return False
    if kind not in _TEXTS and not kind.startswith("text/") and not kind.endswith(("+json", "+xml")):
        return False
    c["file_data"] = f"data:text/plain;base64,{found[2]}"
    return True


_NAME = re.compile(r"[^0-9A-Za-z\s\-()\[\]]+")
_BLANK = re.compile(r"\s+")
_LONGEST = 200


def _write_name(c: Node, wire: Node, w: Writer) -> None:
    """The name of a document, which the model sees: plain characters, each name once in a request.

    It has no dot, and the format stands beside it: the ending of a file's name is left out.
    """
    key = next((key for key in ("title", "filename") if type(c.get(key)) is str and c[key]), None)
    if is_own(w):
        if type(c.get("title")) is str:
            wire["name"] = c.pop("title")
        return
    seen: Node = w.context.setdefault("names", {})
    given = c[key] if key is not None else _UNNAMED
    ending = f".{wire.get('format')}"
    stem = given[: -len(ending)] if given.lower().endswith(ending) else given
    name = _BLANK.sub(" ", _NAME.sub("-", stem)).strip()[:_LONGEST] or _UNNAMED
    count = seen[name] = seen.get(name, 0) + 1
    if count > 1:
        name = f"{name[: _LONGEST - 8]} ({count})"
    wire["name"] = name
    if key is None:
        w.added(wire, "name", "required by amazon-converse")
    elif name == given:
        del c[key]
    else:
        c[key] = Fated("approximated", f"sent as {name!r}")


@answers.read("guardContent")
@parts.read("guardContent")
def _read_guarded(w: Node, r: Reader) -> Node:
    own = take(w, "guardContent")
    if type(own.get("text")) is dict and type(own["text"].get("text")) is str:
        node: Node = {"type": "input_text"}
        move(take(own, "text"), "text", node, "text", r, ("guardContent", "text"), str)
        r.form(node, "guard", "text")
        return node
    node = _read_medium("image", "input_image", own, r, ("guardContent",))
    r.form(node, "guard", "image")
    return node
