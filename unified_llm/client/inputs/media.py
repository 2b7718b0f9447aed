"""Images, documents, audio and video as canonical parts: from bytes, from files, from objects that draw themselves.

The media type is the caller's, else that of the file's name, else that of the first bytes; text of any other name (a
log, a source file) is plain text. Nothing is read from the network: a URL goes to the provider as it is.
"""

from __future__ import annotations

import base64
import io
import mimetypes
import os
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from ...foundation.usage_errors import InvalidArgument

__all__ = ["Drawn", "file", "image", "part_of", "recognized"]

Node = dict[str, Any]

# First bytes of formats, and for containers where the name of what is in them stands.
_SIGNATURES = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    b"M4A ": "audio/mp4",
    b"avif": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
}
# The subtypes of audio that go by another name as formats.
_FORMATS = {"mp4": "m4a", "mpeg": "mp3", "vnd.wave": "wav", "wave": "wav", "x-flac": "flac", "x-wav": "wav"}


_MEDIA = (bytes, bytearray, memoryview, str, os.PathLike)
Media: TypeAlias = "bytes | bytearray | memoryview | str | os.PathLike[str]"


class Drawn(Protocol):
    """An image or a plot of a library that draws for notebooks, such as Pillow's."""

    def _repr_png_(self) -> bytes | None: ...


def image(data: Media | Drawn, media_type: str | None = None, *, detail: str | None = None) -> Node:
    """An image as a tool's result, or as a part of a message: bytes, a path, a URL (which the provider fetches), or an
    image of a library such as Pillow.

    `media_type` is guessed from the bytes or the name. `detail` is low, high or auto. Raises `InvalidArgument` for
    anything else, another medium included, and `OSError` for a file that cannot be read.

    >>> image(b"\\x89PNG")
    {'type': 'input_image', 'image_url': 'data:image/png;base64,iVBORw=='}
    """
    part: Node = {"type": "input_image"}
    if (isinstance(data, str) and "://" in data[:12]) or (isinstance(data, str) and data.startswith("data:")):
        part["image_url"] = data
    else:
        png = None if isinstance(data, _MEDIA) else _drawn(data)
        raw, kind, _ = _loaded(data, media_type) if png is None else (png, "image/png", "")
        if kind.partition("/")[0] in ("audio", "video", "text") or kind == "application/pdf":
            raise InvalidArgument(f"{kind} is not an image; pass it as it is, or with unified_llm.file(...)")
        part["image_url"] = _data_url(raw, kind)
    if detail is not None:
        part["detail"] = detail
    return part


def file(data: Media, media_type: str | None = None, *, filename: str | None = None) -> Node:
    """A file as a tool's result, or as a part of a message: bytes, a path, or a URL (which the provider fetches).

    `media_type` is guessed from the name or the bytes where it is not given. Raises as `image` does.

    >>> file(b"%PDF-", filename="a.pdf")["file_data"]
    'data:application/pdf;base64,JVBERi0='
    """
    if isinstance(data, str) and "://" in data[:12]:
        return {"type": "input_file", "file_url": data, **({"filename": filename} if filename else {})}
    raw, kind, name = _loaded(data, media_type, filename)
    return {"type": "input_file", "filename": name or "file", "file_data": _data_url(raw, kind)}


def part_of(value: Any) -> Node | None:
    """The part for bytes, a path, or an image of an imaging or plotting library; None for anything else.

    >>> part_of(b"RIFF....WAVE")["format"], part_of(b"%PDF-")["type"], part_of("text")
    ('wav', 'input_file', None)
    """
    if isinstance(value, (bytes, bytearray, memoryview, os.PathLike)):
        raw, kind, name = _loaded(Path(value) if isinstance(value, os.PathLike) else bytes(value), None)
        family, _, format_ = kind.partition("/")
        if family == "image":
            return image(raw, kind)
        if family == "audio":
            return {"type": "input_audio", "data": _base64(raw), "format": _FORMATS.get(format_, format_)}
        if family == "video":
            return {"type": "input_video", "video_url": _data_url(raw, kind)}
        return file(raw, kind, filename=name or None)
    png = None if isinstance(value, type) else _drawn(value)
    return None if png is None else image(png, "image/png")


def recognized(raw: bytes) -> str | None:
    """The media type that the first bytes of a file show."""
    if raw[:4] == b"RIFF":
        return _RIFF.get(raw[8:12])
    if raw[4:8] == b"ftyp":
        return _BRANDS.get(raw[8:12], "video/mp4")
    return next((kind for mark, kind in _SIGNATURES if raw.startswith(mark)), None)


def _drawn(value: Any) -> bytes | None:
    """An image as PNG: by the method of notebooks, else saved in a mode that PNG has."""
    draw = getattr(value, "_repr_png_", None)
    png = draw() if callable(draw) else None
    if isinstance(png, bytes):
        return png
    if callable(getattr(value, "save", None)) and callable(getattr(value, "getbands", None)):
        buffer = io.BytesIO()
        value.convert("RGB").save(buffer, format="PNG")
        return buffer.getvalue()
    return None


def _loaded(data: Any, media_type: str | None, filename: str | None = None) -> tuple[bytes, str, str]:
    if isinstance(data, (str, os.PathLike)):
        path = Path(data)
        raw, name = path.read_bytes(), filename or path.name
    elif isinstance(data, (bytes, bytearray, memoryview)):
        raw, name = bytes(data), filename or ""
    else:
        raise InvalidArgument(f"an image or a file should be bytes, a path or a URL, not {type(data).__name__}")
    return raw, media_type or _guessed(raw, name) or "application/octet-stream", name


def _guessed(raw: bytes, name: str) -> str | None:
    guessed = mimetypes.guess_type(name)[0] if name else None
    # The tables of some systems have a suffix of source code as that of a video (`.ts`).
    if guessed is not None and not (guessed.startswith(("video/", "audio/", "model/")) and _is_text(raw)):
        return guessed
    return recognized(raw) or ("text/plain" if name and _is_text(raw) else None)


def _is_text(raw: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    try:
        return "\0" not in raw.decode()
    except UnicodeDecodeError:
        return False


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _data_url(raw: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{_base64(raw)}"
