"""An estimate of a request's tokens, where they are not counted: never exact, always marked as what it is.

Text is counted at four bytes of UTF-8 a token, which is what tokenizers come to on average for prose in English and is
on the high side for none of the common ones; every item, tool and medium costs something more.
"""

from __future__ import annotations

from typing import Any

__all__ = ["estimate"]

Node = dict[str, Any]
_BYTES = 4
_ITEM = 4
_TOOL = 8
_IMAGE = 800
_PAGE = 3_000  # base64 characters of a document that come to about a page
_MEDIA = frozenset(("image_url", "file_data", "data", "file_id", "file_url", "video_url", "audio_url", "image"))
_SILENT = frozenset(("type", "id", "status", "turn", "extra", "opaque", "cache", "call_id", "role", "detail"))


def estimate(request: Node) -> int:
    """About how many tokens a canonical request takes.

    >>> estimate({"input": "four tokens of text"})
    9
    """
    given = request.get("input")
    items = [{"content": given}] if isinstance(given, str) else list(given or ())
    total = sum(_ITEM + _tokens(item) for item in items)
    total += sum(_TOOL + _tokens(tool) for tool in request.get("tools") or ())
    return total + _tokens(request.get("instructions")) + _tokens((request.get("text") or {}).get("format"))


def _tokens(value: Any, key: str = "") -> int:
    if isinstance(value, str):
        if key in _MEDIA:
            return _IMAGE if key in ("image_url", "image") else max(_IMAGE, len(value) // _PAGE * 500)
        return -(-len(value.encode("utf-8", "surrogatepass")) // _BYTES)
    if isinstance(value, dict):
        return sum(_tokens(each, name) for name, each in value.items() if name not in _SILENT)
    if isinstance(value, (list, tuple)):
        return sum(_tokens(each, key) for each in value)
    return 1 if value is not None else 0
