"""What a tool gives back, as the output of a call: text, JSON, images, files, or an error.

Text stays text, canonical parts stay parts, bytes and files become the part that their media type asks for, and
everything else is JSON as pydantic writes it. Nothing is read from the network.
"""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path
from typing import Any

from ...errors import UnifiedLLMError
from ...model.base import Model

__all__ = ["ToolError", "failed", "file", "image", "output_of"]

Node = dict[str, Any]
_SIGNATURES = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
)
_PARTS = frozenset(("input_text", "input_image", "input_file", "input_audio", "input_video", "search_result"))


class ToolError(UnifiedLLMError):
    """Raise it inside a tool to tell the model, in your own words, that the call failed and what to do instead.

    >>> import unified_llm as ul
    >>> def open_door() -> str:
    ...     raise ul.ToolError("It is locked; ask for the key.")
    >>> ul.Client().responses.run(model="local/echo", input="[[call open_door]]", tools=[open_door]).output_text
    'open_door: It is locked; ask for the key.'
    """


def image(data: bytes | str | Path, media_type: str | None = None, *, detail: str | None = None) -> Node:
    """An image as a tool's result, or as a part of a message: bytes, a path, or a URL (which the provider fetches).

    `media_type` is guessed from the bytes or the name. `detail` is low, high or auto.

    >>> image(b"\\x89PNG")
    {'type': 'input_image', 'image_url': 'data:image/png;base64,iVBORw=='}
    """
    part: Node = {"type": "input_image"}
    if (isinstance(data, str) and "://" in data[:12]) or (isinstance(data, str) and data.startswith("data:")):
        part["image_url"] = data
    else:
        raw, kind, _ = _loaded(data, media_type)
        part["image_url"] = _data_url(raw, kind)
    if detail is not None:
        part["detail"] = detail
    return part


def file(data: bytes | str | Path, media_type: str | None = None, *, filename: str | None = None) -> Node:
    """A file as a tool's result, or as a part of a message: bytes, a path, or a URL (which the provider fetches).

    `media_type` is guessed from the name or the bytes where it is not given.

    >>> file(b"%PDF-", filename="a.pdf")["file_data"]
    'data:application/pdf;base64,JVBERi0='
    """
    if isinstance(data, str) and "://" in data[:12]:
        return {"type": "input_file", "file_url": data, **({"filename": filename} if filename else {})}
    raw, kind, name = _loaded(data, media_type, filename)
    return {"type": "input_file", "filename": name or "file", "file_data": _data_url(raw, kind)}


def output_of(value: Any) -> str | list[Node]:
    """The `output` of a call for what its function returned."""
    if isinstance(value, str):
        return value
    part = _part(value)
    if part is not None:
        return [part]
    if isinstance(value, (list, tuple)) and value:
        parts = [_part(each) for each in value]
        # Text beside images and files is a part as well; a list of anything else is JSON.
        if any(each is not None for each in parts):
            return [_text(each) if part is None else part for each, part in zip(value, parts)]
    return _json(value)


def failed(error: BaseException | str) -> str:
    """The text by which a model is told that a call failed."""
    if isinstance(error, ToolError) or isinstance(error, str):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _part(value: Any) -> Node | None:
    if isinstance(value, Model) and getattr(value, "type", None) in _PARTS:
        return value.dump()
    if isinstance(value, dict) and value.get("type") in _PARTS:
        return value
    if isinstance(value, (bytes, bytearray)):
        raw = bytes(value)
        return image(raw) if _guess(raw).startswith("image/") else file(raw)
    if isinstance(value, Path):
        kind = mimetypes.guess_type(value.name)[0] or ""
        return image(value) if kind.startswith("image/") else file(value)
    # Pictures of imaging and plotting libraries say how they look as PNG, the way notebooks ask them.
    drawn = getattr(value, "_repr_png_", None)
    if callable(drawn) and not isinstance(value, type):
        png = drawn()
        if isinstance(png, bytes):
            return image(png, "image/png")
    return None


def _text(value: Any) -> Node:
    return {"type": "input_text", "text": value if isinstance(value, str) else _json(value)}


def _json(value: Any) -> str:
    from pydantic_core import to_json

    return to_json(value, fallback=str, inf_nan_mode="constants").decode()


def _loaded(data: bytes | str | Path, media_type: str | None, filename: str | None = None) -> tuple[bytes, str, str]:
    if isinstance(data, (str, Path)):
        path = Path(data)
        raw, name = path.read_bytes(), filename or path.name
    else:
        raw, name = bytes(data), filename or ""
    guessed = mimetypes.guess_type(name)[0] if name else None
    return raw, media_type or guessed or _guess(raw), name


def _guess(raw: bytes) -> str:
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _SIGNATURES if raw.startswith(mark)), "application/octet-stream")


def _data_url(raw: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(raw).decode()}"
