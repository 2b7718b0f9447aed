"""Media parts: `inlineData` (base64) and `fileData` (a URI), to images, audio, video and documents by media type.

Base64 is carried as the string it is, inside a data URL where the canonical part requires a URL. A public URI
is a URL; one only this provider can read (its file store, its cloud storage) is a handle and stays `file_uri`.

https://ai.google.dev/gemini-api/docs/file-input-methods https://ai.google.dev/api/caching#Part
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, Fated, IllTyped, lookup, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.file_types import TYPES, USUAL_TYPES, image_type, is_other_image, type_of_file

from ...audio_samples import type_of_samples
from ..values.spelling import actual

__all__ = ["MEDIA", "SOUNDS", "is_base64", "read_media", "read_modifiers", "write_media", "write_modifiers"]

Node = dict[str, Any]

_HANDLES = ("gs://", "https://generativelanguage.googleapis.com/", "files/")
_FILMS = ("https://www.youtube.com/", "https://youtu.be/", "https://youtube.com/")
# The formats of audio that go by a word, by the media type this provider documents for them.
_FORMATS = {
    "audio/wav": "wav",
    "audio/mp3": "mp3",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/aac": "aac",
    "audio/aiff": "aiff",
}
_TYPES = {word: media_type for media_type, word in _FORMATS.items()}
_TYPES |= {"pcm16": "audio/pcm", "opus": "audio/ogg", "g711_alaw": "audio/alaw", "g711_ulaw": "audio/mulaw"}
_ALIASES = {"audio/mpeg": "audio/mp3", "audio/x-wav": "audio/wav"}
# How audio begins, in base64: RIFF, an ID3 tag, fLaC, OggS; the sync words of MPEG and ADTS frames.
_STARTS = {"UklGR": "audio/wav", "SUQz": "audio/mp3", "ZkxhQ": "audio/flac", "T2dnU": "audio/ogg"}
_STARTS |= dict.fromkeys([f"//{char}" for char in "IJKLMNOPopqrstuv"], "audio/mp3")
_STARTS |= dict.fromkeys([f"//{char}" for char in "EFGHklmn"], "audio/aac")
# How other media begin; the format of a RIFF follows its length.
_BEGINNINGS = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "JVBERi": "application/pdf"}
_RIFFS = {"RUJQ": "image/webp", "QVZF": "audio/wav"}
# The type by file name, where nothing else determines it.
_SUFFIXES = {
    **TYPES,
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "heic": "image/heic",
    "wav": "audio/wav",
    "mp3": "audio/mp3",
    "mp4": "video/mp4",
    "mov": "video/mov",
    "webm": "video/webm",
}
MEDIA = frozenset(
    """input_image input_file input_audio input_video output_image output_file output_audio output_video
    computer_screenshot""".split()
)
SOUNDS = frozenset(("input_audio", "output_audio"))
# What the API takes as an image: a request with another type is refused.
# https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats
_IMAGES = frozenset(("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"))
_RESOLUTIONS = Bimap(
    {
        "MEDIA_RESOLUTION_LOW": "low",
        "MEDIA_RESOLUTION_MEDIUM": "medium",
        "MEDIA_RESOLUTION_HIGH": "high",
        "MEDIA_RESOLUTION_ULTRA_HIGH": "ultra_high",
    },
    writing={"original": "MEDIA_RESOLUTION_ULTRA_HIGH"},
)
_MODES = Bimap({"STATIC": "static", "AGENTIC": "agentic"})
_LAYERS = Bimap(
    {word.upper(): word for word in "frames audio transcript page_image page_text visual data formulas".split()}
)
_Names = tuple[tuple[str, str, tuple[type, ...]], ...]
_OFFSETS: _Names = (
    ("startOffset", "start_offset", (str,)),
    ("endOffset", "end_offset", (str,)),
    ("fps", "fps", (int, float)),
    ("contentLayers", "content_layers", (list,)),
)
_OPTIONS: tuple[tuple[str, str, _Names], ...] = (
    (
        "documentMetadata",
        "page_options",
        (
            ("startPage", "start_page", (int,)),
            ("endPage", "end_page", (int,)),
            ("contentLayers", "content_layers", (list,)),
        ),
    ),
    (
        "spreadsheetMetadata",
        "spreadsheet_options",
        (
            ("sheetIndex", "sheet_index", (int,)),
            ("visibleCells", "visible_cells", (str,)),
            ("contentLayers", "content_layers", (list,)),
        ),
    ),
)


# ---- reading --------------------------------------------------------------------------------------------------------


def read_media(w: Node, r: Reader, output: bool) -> Node:
    """A part with `inlineData` or `fileData`, popped from `w`."""
    inline = "inlineData" in w
    data = take(w, "inlineData" if inline else "fileData")
    value = data.pop("data" if inline else "fileUri")
    media_type = data.pop("mimeType", None)
    if type(value) is not str or not (media_type is None or (type(media_type) is str and media_type)):
        raise IllTyped("media")
    family = media_type.partition("/")[0] if media_type else ""
    if not inline and not media_type:
        named = "video" if value.startswith(_FILMS) else _SUFFIXES.get(_suffix(value), "").partition("/")[0]
        family = named or _kind_of_options(w)
    part: Node = {"type": f"{'output' if output else 'input'}_{family if family in _PLACES else 'file'}"}
    if inline:
        _read_inline(part, family, media_type, value, r)
    else:
        if value.startswith(_HANDLES):
            part["file_uri"] = value
        else:
            part[_PLACES.get(family, "file_url") if family != "audio" else "audio_url"] = value
        if media_type:
            part["media_type"] = media_type
    if type(data.get("displayName")) is str:
        part["filename"] = data.pop("displayName")
    return part


_PLACES = {"image": "image_url", "audio": "data", "video": "video_url"}


def _kind_of_options(w: Node) -> str:
    """The kind of a file without a type, from options that only one kind has; "" where there are none."""
    if type(w.get("audioMetadata")) is dict:
        return "audio"
    return "video" if type(w.get("videoMetadata")) is dict or w.get("mediaProcessing") == "AGENTIC" else ""


_STANDARD, _FOR_URLS = str.maketrans("-_", "+/"), str.maketrans("+/", "-_")


def _standard(data: str, part: Node, r: Reader) -> str:
    """Base64 as everybody reads it: the vendor's own SDK sends the alphabet for URLs, and it may lack its padding."""
    if ("-" in data or "_" in data) and not ("+" in data or "/" in data):
        data = data.translate(_STANDARD)
        r.form(part, "alphabet", "urls")
    missing = -len(data) % 4
    if missing in (1, 2) and data.isascii() and not data[-1:].isspace():
        data += "=" * missing
        r.form(part, "padding", missing)
    return data


def _respelled(data: str, c: Node, w: Writer) -> str:
    """The inverse of `_standard`."""
    padding = w.form(c, "padding")
    if padding:
        data = data.removesuffix("=" * padding)
    return data.translate(_FOR_URLS) if w.form(c, "alphabet") else data


def _read_inline(part: Node, family: str, media_type: str | None, data: str, r: Reader) -> None:
    data = _standard(data, part, r)
    if family == "audio":
        known = _ALIASES.get(media_type or "", media_type)
        part["data"] = data
        if known in _FORMATS:
            part["format"] = _FORMATS[known]
            r.place(part, ("format",), ("inlineData", "mimeType"))
            if known != media_type:
                r.form(part, "media_type", media_type)
        else:
            part["media_type"] = media_type
    elif media_type is None:
        part["file_data"] = data
    else:
        part[_PLACES.get(family, "file_data")] = f"data:{media_type};base64,{data}"


def read_modifiers(w: Node, part: Node, r: Reader) -> None:
    """The resolution of a medium."""
    if type(w.get("mediaResolution")) is dict and lookup(_RESOLUTIONS.reads, w["mediaResolution"].get("level")):
        part["detail"] = _RESOLUTIONS.read(take(w, "mediaResolution").pop("level"))
        _place(part, ("detail",), ("mediaResolution", "level"), r)
    processing: Node = {}
    sound = part["type"].endswith("_audio")
    name = "audioMetadata" if sound and "audioMetadata" in w else "videoMetadata"
    if type(w.get(name)) is dict:
        names = _OFFSETS[:2] if name == "audioMetadata" else _OFFSETS
        processing = _read_options(take(w, name), names, part, ("processing",), (name,), r)
        if sound and name == "videoMetadata":
            r.form(part, "range", "video")
    if w.get("mediaProcessing") in ("STATIC", "AGENTIC"):
        processing["mode"] = _MODES.read(w.pop("mediaProcessing"))
        _place(part, ("processing", "mode"), ("mediaProcessing",), r)
    for name, hub, names in _OPTIONS:
        if type(w.get(name)) is dict:
            processing[hub] = _read_options(take(w, name), names, part, ("processing", hub), (name,), r)
            _place(part, ("processing", hub), (name,), r)
    if processing:
        part["processing"] = processing


def _place(part: Node, at: tuple[str, ...], where: tuple[str, ...], r: Reader) -> None:
    """Note where a setting came from, in the spelling of the document."""
    spelled = r.context.get("spelled")
    r.place(part, at, actual(where, spelled) if spelled else where)


def _read_options(own: Node, names: _Names, part: Node, at: tuple[str, ...], where: tuple[str, ...], r: Reader) -> Node:
    """Options under their canonical names, popped from `own`; layers spelled in another way stay as they are."""
    found: Node = {}
    for name, hub, types in names:
        value: Any = own.get(name)
        if type(value) in types and not (hub == "content_layers" and any(_LAYERS.write(_layer(x)) != x for x in value)):
            value = own.pop(name)
            found[hub] = [_layer(each) for each in value] if hub == "content_layers" else value
            _place(part, (*at, hub), (*where, name), r)
    return found


def _layer(word: Any) -> Any:
    return _LAYERS.read(word)


# ---- writing --------------------------------------------------------------------------------------------------------


def write_media(c: Node, w: Writer) -> Node | None:
    """The `inlineData` or `fileData` of a medium; None (nothing popped) where it has no form here."""
    for key in ("image_url", "video_url", "audio_url", "file_url", "file_data", "data", "file_uri", "file_id"):
        value = c.get(key)
        if type(value) is not str or not value:
            continue
        if key in ("data", "file_data") and value[:5].lower() != "data:" and w.crosses and not is_base64(value):
            return None
        if key == "data":
            return _sound(c, value, w)
        if key == "file_id" and not value.startswith(_HANDLES):
            continue
        if value[:5].lower() == "data:":
            head, comma, payload = value.partition(",")
            if not comma or ";base64" not in head.lower() or (w.crosses and not is_base64(payload)):
                return None
            media_type = head[5:]
            at = media_type.lower().find(";base64")
            kind = media_type[:at] or None
            if kind is not None and key == "image_url" and w.crosses and w.facing == "provider":
                kind = image_type(kind)
                if is_other_image(kind, _IMAGES):
                    return None
            return _inline(c, key, payload.strip() if payload[:1].isspace() else payload, kind, w)
        if key == "file_data":
            named = _guess(c)
            seen = type_of_file(None, value) if w.crosses and not c.get("media_type") else None
            inline = _inline(c, key, value, seen or named, w)
            if seen or named:
                how = "read off the name" if seen in (None, named) else "read off the first bytes"
                w.added(inline["inlineData"], "mimeType", how)
            return inline
        return _file(c, key, value, w)
    return None


_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_ \t\r\n"


def is_base64(data: str) -> bool:
    """Whether a text is base64 in one of its alphabets: this provider, and its SDK, refuse a document with any other.

    https://datatracker.ietf.org/doc/html/rfc4648#section-4
    """
    return data.isascii() and not data.encode().rstrip(b"= \t\r\n").translate(None, _ALPHABET)


def _sound(c: Node, data: str, w: Writer) -> Node:
    """Audio always has a type here: if not given, its first bytes determine it; without a header it is bare samples."""
    wire = _inline(c, "data", data, _audio_type(c, w), w)
    inline = wire["inlineData"]
    if "mimeType" not in inline and not c.get("media_type"):
        inline["mimeType"] = next((kind for start, kind in _STARTS.items() if data.startswith(start)), "audio/pcm")
        w.added(inline, "mimeType", "read off the first bytes")
    return wire


def _audio_type(c: Node, w: Writer) -> str | None:
    alias = w.form(c, "media_type")
    format_ = c.get("format")
    if type(format_) is str and lookup(_FORMATS, lookup(_ALIASES, alias)) == format_:
        c.pop("format")
        return str(alias)
    if c.get("media_type"):
        return None
    if type(format_) is str:
        c.pop("format")
        samples = type_of_samples(c) if format_ == "pcm16" and w.crosses else None
        if samples is not None:
            c.pop("sample_rate")
            c.pop("channels", None)
        return samples or _TYPES.get(format_, f"audio/{format_}")
    return None


def _guess(c: Node) -> str | None:
    suffix = str(c.get("filename") or "").rpartition(".")[2].lower()
    return None if c.get("media_type") else _SUFFIXES.get(suffix)


def _suffix(uri: str) -> str:
    return uri.partition("?")[0].rpartition(".")[2].lower()


def _inline(c: Node, key: str, data: str, media_type: str | None, w: Writer) -> Node:
    c.pop(key)
    inline: Node = {}
    if media_type is None and type(c.get("media_type")) is str:
        media_type = c.pop("media_type")
    elif media_type is not None and c.get("media_type") == media_type:
        del c["media_type"]
    if media_type is not None:
        inline["mimeType"] = media_type
    elif w.source not in (None, w.protocol):
        seen = _RIFFS.get(data[12:16]) if data.startswith("UklG") else None
        seen = seen or next((kind for start, kind in _BEGINNINGS.items() if data.startswith(start)), None)
        if seen is not None:
            inline["mimeType"] = seen
            w.added(inline, "mimeType", "read off the first bytes")
        elif key in USUAL_TYPES and not (key == "file_data" and _guess(c)):
            inline["mimeType"] = USUAL_TYPES[key]
            w.added(inline, "mimeType", "the usual one")
    inline["data"] = _respelled(data, c, w)
    if type(c.get("filename")) is str:
        inline["displayName"] = c.pop("filename")
    return {"inlineData": inline}


def _file(c: Node, key: str, uri: str, w: Writer) -> Node:
    c.pop(key)
    file: Node = {"fileUri": uri}
    if type(c.get("media_type")) is str:
        file["mimeType"] = c.pop("media_type")
    elif (c.get("extra") or {}).get(w.protocol) is None and not uri.startswith(_FILMS):
        suffix = _suffix(uri)
        if suffix in _SUFFIXES and w.source not in (None, w.protocol):
            file["mimeType"] = _SUFFIXES[suffix]
            w.added(file, "mimeType", "read off the name")
    if type(c.get("filename")) is str:
        file["displayName"] = c.pop("filename")
    return {"fileData": file}


def write_modifiers(c: Node, wire: Node, w: Writer, sound: bool) -> None:
    """Write the resolution and the other modifiers of a medium into its part; `sound` is True for audio."""
    detail = c.get("detail")
    if type(detail) is str:
        if detail in _RESOLUTIONS.writes:
            wire["mediaResolution"] = {"level": _RESOLUTIONS.write(c.pop("detail"))}
            if not _RESOLUTIONS.exact(detail):
                c["detail"] = Fated("approximated", f"sent as {_RESOLUTIONS.write(detail)!r}")
        elif detail == "auto":
            c["detail"] = Fated("approximated", "the default of the target")
    if type(c.get("processing")) is not dict:
        return
    processing = take(c, "processing")
    video = _write_options(processing, _OFFSETS[:2] if sound and w.form(c, "range") is None else _OFFSETS)
    if video:
        wire["audioMetadata" if sound and w.form(c, "range") is None else "videoMetadata"] = video
    if lookup(_MODES.writes, processing.get("mode")):
        wire["mediaProcessing"] = _MODES.write(processing.pop("mode"))
    for name, hub, names in _OPTIONS:
        if type(processing.get(hub)) is dict:
            own = take(processing, hub)
            options = _write_options(own, names)
            if options or not own:
                wire[name] = options


def _write_options(own: Node, names: _Names) -> Node:
    """The inverse of `_read_options`, `own` being popped from."""
    found: Node = {}
    for name, hub, types in names:
        if type(own.get(hub)) in types:
            value = own.pop(hub)
            found[name] = [_LAYERS.write(each) for each in value] if hub == "content_layers" else value
    return found
